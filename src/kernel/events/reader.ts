import type { Database } from '../../lib/postgres/db.ts';
import type { Sql } from '../../lib/postgres/sql.ts';
import { expiredPosition, lostPosition } from './position.ts';
import {
  type Era,
  endedEraStatement,
  ensureEra,
  erasStatement,
  eventStatement,
  type FoundEvent,
  type HeadRow,
  headStatement,
  type LogHead,
  newestStatement,
  oldestEraStatement,
  type PageQuery,
  pageStatement,
} from './store.ts';
import { type EventRow, type LogPosition, type Mark, oldestEra, startOfEra } from './types.ts';

export interface LogPage {
  events: EventRow[];
  /** Where a reader stands after each of the events. */
  positions: LogPosition[];
  /** After everything that was read, including what the filter left out. */
  position: LogPosition;
  /** Nothing that is visible is left to read. */
  isDone: boolean;
}

export interface EraRow extends Era {
  /** The lowest id of which nothing has been removed. */
  oldestId: number;
}

/**
 * Reads the log of one tenant, whatever has become of the cluster since a position was given out. Each statement is a
 * transaction of its own that has written nothing: only then PostgreSQL says which transaction comes next.
 */
export class LogReader {
  readonly #run: <Row extends object>(statement: Sql) => Promise<Row[]>;
  readonly #beginEra: () => Promise<unknown>;
  readonly #isStrict: boolean;

  constructor(access: {
    run: <Row extends object>(statement: Sql) => Promise<Row[]>;
    beginEra: () => Promise<unknown>;
    /** Refuses positions that are gone; otherwise they continue with the first event that is left. */
    isStrict: boolean;
  }) {
    this.#run = access.run;
    this.#beginEra = access.beginEra;
    this.#isStrict = access.isStrict;
  }

  static forTenant(db: Database, tenantId: string): LogReader {
    return new LogReader({
      run: <Row extends object>(statement: Sql) =>
        db.statement<Row>({ role: 'sluice_tenant', tenantId }, statement),
      beginEra: () => db.kernel(ensureEra),
      isStrict: true,
    });
  }

  /** For the kernel's own readers, whose positions are in the same database as the log. */
  static forKernel(db: Database): LogReader {
    return new LogReader({
      run: <Row extends object>(statement: Sql) => db.statement<Row>({ role: 'sluice_kernel' }, statement),
      beginEra: () => db.kernel(ensureEra),
      isStrict: false,
    });
  }

  /** Null: from the beginning. Fewer events than the limit are the end of the log, unless `isDone` is false. */
  async read(query: PageQuery, from: LogPosition | null): Promise<LogPage> {
    let position = from ?? (await this.beginning());
    const events: EventRow[] = [];
    const positions: LogPosition[] = [];
    for (let step = 0; step < maxSteps; step += 1) {
      const page = await this.#step({ ...query, limit: query.limit - events.length }, position);
      events.push(...page.events);
      positions.push(...page.positions);
      position = page.position;
      if (page.isDone || events.length === query.limit) {
        return { events, positions, position, isDone: page.isDone };
      }
    }
    return { events, positions, position, isDone: false };
  }

  async beginning(): Promise<LogPosition> {
    const [first] = await this.eras();
    return startOfEra(first);
  }

  /** Where to start for what happens from now on. */
  async end(tenantId: string): Promise<LogPosition> {
    const [head] = await this.#run<LogHead>(headStatement());
    if (!head) throw noEras();
    const { era, low, snapshot, next } = head;
    const position = { era, seen: { snapshot, next, high: low, low, witness: null }, until: null, at: 0 };
    // In one statement with the snapshot, which must have the newest event in it.
    const [now] = await this.#run<HeadRow>(pageStatement({ tenantId, limit: 0 }, position));
    if (!now) throw noEras();
    if (!now.isCurrent || now.era !== era) {
      await this.#beginEra();
      return this.end(tenantId);
    }
    return { ...position, seen: markOf(now, position.seen) };
  }

  async eras(): Promise<[EraRow, ...EraRow[]]> {
    const [first, ...rest] = await this.#run<EraRow>(erasStatement());
    if (!first) throw noEras();
    return [first, ...rest];
  }

  /** Newest first, before this id. */
  newest(query: PageQuery, beforeId: number | null): Promise<EventRow[]> {
    return this.#run<EventRow>(newestStatement(query, beforeId));
  }

  findEvent(key: { tenantId: string; eventId: number }): Promise<FoundEvent[]> {
    return this.#run<FoundEvent>(eventStatement(key));
  }

  async #step(query: PageQuery, position: LogPosition): Promise<LogPage> {
    if (position.era === oldestEra) return this.#stepEnded(query, position);
    const rows = await this.#run<HeadRow>(pageStatement(query, position));
    const [head] = rows;
    if (!head) throw noEras();
    if (!head.isCurrent) await this.#beginEra();
    if (!head.isCurrent || head.era !== position.era) return this.#stepEnded(query, position);
    const { seen, era } = position;
    const found = rows.filter((row): row is HeadRow & EventRow => typeof row.eventId === 'number');
    const until = position.until ?? markOf(head, seen);
    const events = found.map((row) => eventOf(row, era));
    const positions = events.map(({ eventId }) => ({ era, seen, until, at: eventId }));
    const last = positions.at(-1);
    if (last && events.length >= query.limit) return { events, positions, position: last, isDone: false };
    const after = { era, seen: until, until: null, at: 0 };
    return { events, positions, position: after, isDone: position.until === null };
  }

  async #stepEnded(query: PageQuery, position: LogPosition): Promise<LogPage> {
    const eras = await this.eras();
    const index = eras.findIndex(({ era }) => era === position.era);
    const next = eras[index + 1];
    if (index === -1) throw lostPosition(otherHistory);
    if (!next) return { events: [], positions: [], position, isDone: false };
    if (this.#isStrict) await this.#check(query.tenantId, { position, oldestId: eras[0].oldestId });
    const { era, seen, until, at } = position;
    const isOldest = era === oldestEra;
    const endId = next.firstId;
    const statement = isOldest
      ? oldestEraStatement(query, { xid: position.xid ?? '0', at, endId })
      : endedEraStatement(query, { ...position, endId });
    const events = (await this.#run<EventRow>(statement)).map((row) => eventOf(row, era));
    const positions = events.map(({ eventId, xid }) => ({
      ...{ era, seen, until, at: eventId },
      ...(isOldest ? { xid } : {}),
    }));
    const last = positions.at(-1);
    if (last && events.length >= query.limit) return { events, positions, position: last, isDone: false };
    const after = until ? { era, seen: until, until: null, at: 0 } : startOfEra(next);
    return { events, positions, position: after, isDone: false };
  }

  /** After a recovery the last events that the reader has seen may be gone, and their ids may be those of others. */
  async #check(
    tenantId: string,
    { position, oldestId }: { position: LogPosition; oldestId: number },
  ): Promise<void> {
    for (const mark of [position.seen, position.until]) {
      if (!mark || mark.witness === null) continue;
      const [found] = await this.findEvent({ tenantId, eventId: mark.high });
      if (found?.witness === mark.witness) continue;
      if (mark.high < oldestId) throw expiredPosition();
      throw lostPosition(
        `The log was recovered to a moment before event ${position.era}-${mark.high}, which you have seen`,
      );
    }
  }
}

/** Eras and snapshots that one call goes through at most. */
const maxSteps = 100;

export const otherHistory =
  'The position belongs to a copy of the log that this database does not have, because it was restored';

/** What has been read when everything that is visible now has been read. */
function markOf({ snapshot, next, low, top, witness }: LogHead, seen: Mark): Mark {
  if (top !== null && top > low) return { snapshot, next, high: top, low, witness };
  if (seen.high > low) return { snapshot, next, high: seen.high, low, witness: seen.witness };
  return { snapshot, next, high: low, low, witness: null };
}

function eventOf(row: EventRow, era: number): EventRow {
  const { tenantId, xid, eventId, type, subject, userId, correlationId, data, occurredAt } = row;
  return { era, tenantId, xid, eventId, type, subject, userId, correlationId, data, occurredAt };
}

function noEras(): Error {
  return new Error('The event log has no era; run `sluice migrate up`');
}
