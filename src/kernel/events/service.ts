import type { Database, Tx } from '../../lib/postgres/db.ts';
import { type Cursors, cursorErrors } from '../http/cursor.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import { eventErrors } from './errors.ts';
import { expiredPosition, lostPosition, packPosition, unpackPosition } from './position.ts';
import { LogReader, otherHistory } from './reader.ts';
import { appendEvent } from './store.ts';
import {
  type EventKey,
  type LogPosition,
  type NewEvent,
  oldestEra,
  parseEventId,
  startOfEra,
} from './types.ts';

/** Cursors of the event log are bound to this name. */
const eventList = 'events';
const shortestCursor = 10;

/** Writes an event in the transaction that it describes, and wakes the readers after the commit. */
export async function recordEvent({ wake }: { wake: WakeUp }, tx: Tx, event: NewEvent): Promise<EventKey> {
  const key = await appendEvent(tx, event);
  tx.afterCommit(() => wake.announce('events'));
  return key;
}

/** A position as text: the cursor of a list, and the id of a frame of a stream. */
export function cursorOf(position: LogPosition, cursors: Cursors): string {
  return cursors.encode(eventList, packPosition(position));
}

/** The position of a text that a client sends back: a cursor, or the id of an event. Refuses what is gone. */
export async function findPosition(
  db: Database,
  { tenantId, text, cursors }: { tenantId: string; text: string; cursors: Cursors },
): Promise<LogPosition> {
  if (text.includes('.')) return positionOfCursor(db, { tenantId, cursor: text, cursors });
  const id = parseEventId(text);
  if (!id) {
    throw eventErrors.raise.invalid_event_position(
      `${JSON.stringify(text.slice(0, 100))} is neither the id of an event nor a cursor of the event log`,
    );
  }
  return positionAfterEvent(LogReader.forTenant(db, tenantId), { tenantId, ...id });
}

export async function positionOfCursor(
  db: Database,
  { tenantId, cursor, cursors }: { tenantId: string; cursor: string; cursors: Cursors },
): Promise<LogPosition> {
  const packed = cursors.decode(eventList, cursor);
  const reader = LogReader.forTenant(db, tenantId);
  // A cursor of an older version has a transaction and an event.
  const [first, eventId] = packed;
  if (typeof first === 'string' && typeof eventId === 'number') {
    return positionAfterEvent(reader, { tenantId, first, eventId });
  }
  if (typeof first !== 'number' || packed.length < shortestCursor) {
    throw cursorErrors.raise.invalid_cursor('The cursor belongs to another list');
  }
  const position = unpackPosition(packed);
  const eras = await reader.eras();
  if (!eras.some(({ era }) => era === position.era)) throw lostPosition(otherHistory);
  const passed = Math.max(position.seen.high, position.at);
  if (position.era !== oldestEra && passed + 1 < eras[0].oldestId) throw expiredPosition();
  return position;
}

/**
 * Continues after an event of which only the id is known. Nothing is lost: what transactions wrote that were open at
 * the same time as the event's own may come twice.
 */
async function positionAfterEvent(
  reader: LogReader,
  { tenantId, first, eventId }: { tenantId: string; first: string; eventId: number },
): Promise<LogPosition> {
  const eras = await reader.eras();
  const oldest = eras[0];
  const isBeforeEras = eventId < (oldest.era === oldestEra ? (eras[1]?.firstId ?? 0) : oldest.firstId);
  if (isBeforeEras && oldest.era !== oldestEra) {
    // An id of 0 is before the first event, whatever its transaction; this log never had any other id so low.
    if (eventId > 0) throw lostPosition(`There is no event ${first}-${eventId} in the log`);
    return startOfEra(oldest);
  }
  if (isBeforeEras && eventId > 0 && oldest.oldestId > 0) throw expiredPosition();
  if (isBeforeEras) return { ...startOfEra(oldest), xid: first, at: eventId };
  if (eventId < oldest.oldestId) throw expiredPosition();
  const [event] = await reader.findEvent({ tenantId, eventId });
  // An older version wrote the transaction in place of the era.
  if (!event || (String(event.era) !== first && event.xid !== first)) {
    throw lostPosition(`There is no event ${first}-${eventId} in the log`);
  }
  const { era, low, witness, xid, horizon } = event;
  const lastOnly = { horizon: horizon ?? xid, xid };
  return {
    era,
    seen: { snapshot: '1:1:', next: '1', high: eventId, low, witness, lastOnly },
    until: null,
    at: 0,
  };
}
