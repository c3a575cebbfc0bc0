import { newId } from '../../../lib/ids.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { matchesType } from '../../events/types.ts';
import { type Cursor, type LoggedEvent, maxTries } from '../types.ts';
import {
  insertDeliveries,
  insertLanes,
  listEventsBehind,
  lockCursorBehind,
  moveCursor,
} from './fan-out-store.ts';

const defaultBatchSize = 500;

/**
 * One step: takes an endpoint that is behind the log, writes its next deliveries and moves its cursor, in one
 * transaction. Returns false when no endpoint is behind.
 */
export function fanOutOnce(
  db: Database,
  { batchSize = defaultBatchSize }: { batchSize?: number } = {},
): Promise<boolean> {
  return db.kernel(async (tx) => {
    const cursor = await lockCursorBehind(tx);
    if (!cursor) return false;
    const events = await listEventsBehind(tx, { cursor, limit: batchSize });
    const last = events.at(-1);
    if (!last) return false;
    const wanted = events.filter((event) => isWanted(event, cursor));
    if (wanted.length > 0) {
      const { tenantId, webhookId } = cursor;
      const lanes = [...new Set(wanted.map(({ subject }) => subject))];
      const deliveries = wanted.map(({ subject, ...event }) => ({
        ...event,
        deliveryId: newId(),
        lane: subject,
      }));
      await insertLanes(tx, { tenantId, webhookId, lanes });
      await insertDeliveries(tx, cursor, { deliveries, maxTries });
    }
    await moveCursor(tx, { ...cursor, xid: last.xid, eventId: last.eventId });
    return true;
  });
}

/** A test goes only to the tested endpoint. An endpoint gets no events about itself: that would never end. */
function isWanted({ type, subject, isOlder }: LoggedEvent, { webhookId, eventTypes }: Cursor): boolean {
  if (isOlder || type === 'webhook.test') return false;
  if (type.startsWith('webhook.') && subject === webhookId) return false;
  return eventTypes === null || eventTypes.some((pattern) => matchesType(type, pattern));
}
