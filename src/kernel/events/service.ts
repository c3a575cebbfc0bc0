import type { Database, Tx } from '../../lib/postgres/db.ts';
import { type Cursors, cursorErrors } from '../http/cursor.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import { eventErrors } from './errors.ts';
import { appendEvent, type EventQuery, eventsStatement } from './store.ts';
import { type EventPosition, type EventRow, type NewEvent, parsePosition } from './types.ts';

/** Cursors of the event log are bound to this name. */
export const eventList = 'events';

/** Writes an event in the transaction that it describes, and wakes the readers after the commit. */
export async function recordEvent(
  { wake }: { wake: WakeUp },
  tx: Tx,
  event: NewEvent,
): Promise<EventPosition> {
  const position = await appendEvent(tx, event);
  tx.afterCommit(() => wake.announce('events'));
  return position;
}

export function listEvents(db: Database, query: EventQuery): Promise<EventRow[]> {
  return db.statement<EventRow>({ role: 'sluice_tenant', tenantId: query.tenantId }, eventsStatement(query));
}

/** A position that a client sends back: the id of an event, or a cursor of the list. */
export function positionFrom(text: string, cursors: Cursors): EventPosition {
  if (text.includes('.')) return positionFromCursor(text, cursors);
  const position = parsePosition(text);
  if (position) return position;
  throw eventErrors.raise.invalid_event_position(
    `${JSON.stringify(text.slice(0, 100))} is neither the id of an event nor a cursor of the event log`,
  );
}

export function positionFromCursor(cursor: string, cursors: Cursors): EventPosition {
  const [xid, eventId] = cursors.decode(eventList, cursor);
  if (typeof xid === 'string' && typeof eventId === 'number') return { xid, eventId };
  throw cursorErrors.raise.invalid_cursor('The cursor belongs to another list');
}
