import { newId } from '../../../lib/ids.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { LogReader } from '../../events/reader.ts';
import { ensureEra, findLogHead } from '../../events/store.ts';
import { type EventRow, isVisibleIn, type LogPosition, matchesType, oldestEra } from '../../events/types.ts';
import { type Cursor, maxTries } from '../types.ts';
import { findCursorBehind, insertDeliveries, insertLanes, lockCursor, moveCursor } from './fan-out-store.ts';

const defaultBatchSize = 500;

/**
 * One step: finds an endpoint that is behind the log, reads its next events, and in one transaction writes their
 * deliveries and moves its cursor, unless another process has moved it meanwhile. Returns false when no endpoint is
 * behind.
 */
export async function fanOutOnce(
  db: Database,
  { batchSize = defaultBatchSize }: { batchSize?: number } = {},
): Promise<boolean> {
  const behind = await db.readAcross(async (tx) => {
    const head = await findLogHead(tx);
    return { head, cursor: head?.isCurrent ? await findCursorBehind(tx, head) : null };
  });
  const { head, cursor } = behind;
  if (!head?.isCurrent) {
    await db.kernel(ensureEra);
    return true;
  }
  if (!cursor) return false;
  const { tenantId, webhookId } = cursor;
  const reader = LogReader.forKernel(db);
  const start = cursor.position ?? (await positionOfOlderProgram(reader, cursor));
  const { events, ...place } = await reader.read({ tenantId, limit: batchSize }, start);
  const wanted = events.filter((event) => isWanted(event, cursor) && !isOlder(event, { ...cursor, ...head }));
  const lanes = [...new Set(wanted.map(({ subject }) => subject))];
  const deliveries = wanted.map(({ subject, xid, eventId, type }) => ({
    ...{ xid, eventId, type },
    deliveryId: newId(),
    lane: subject,
  }));
  await db.kernel(async (tx) => {
    if (!(await lockCursor(tx, cursor))) return;
    if (wanted.length > 0) {
      await insertLanes(tx, { tenantId, webhookId, lanes });
      await insertDeliveries(tx, cursor, { deliveries, maxTries });
    }
    await moveCursor(tx, cursor, place);
  });
  return true;
}

/** A cursor of a program of the version before stands in the order of that version. */
async function positionOfOlderProgram(reader: LogReader, { xid, eventId }: Cursor): Promise<LogPosition> {
  const beginning = await reader.beginning();
  return beginning.era === oldestEra ? { ...beginning, xid, at: eventId } : beginning;
}

/** A test goes only to the tested endpoint. An endpoint gets no events about itself: that would never end. */
function isWanted({ type, subject }: EventRow, { webhookId, eventTypes }: Cursor): boolean {
  if (type === 'webhook.test') return false;
  if (type.startsWith('webhook.') && subject === webhookId) return false;
  return eventTypes === null || eventTypes.some((pattern) => matchesType(type, pattern));
}

/** Whether it happened before the endpoint was made. Programs of the version before kept a snapshot of that moment. */
function isOlder({ era, xid }: EventRow, { since, firstEra }: { since: string; firstEra: number }): boolean {
  return era <= firstEra && isVisibleIn(xid, since);
}
