import type { Database } from '../../lib/postgres/db.ts';
import { pause } from '../../lib/timing/abort.ts';
import { Bell } from '../../lib/timing/bell.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import { listEvents } from './service.ts';
import { headStatement } from './store.ts';
import { type EventFilter, type EventPosition, type EventRow, matchesFilter, positionText } from './types.ts';

export interface EventTailsOptions {
  db: Database;
  wake: WakeUp;
  onError: (error: unknown) => void;
  /** How often to poll when nothing wakes us. */
  pollMs?: number;
  /** How soon to poll again after an event or a wake-up; the pause then grows up to `pollMs`. */
  lookAgainMs?: number;
  /** Most events in memory per follower. */
  batchSize?: number;
}

export interface EventBatch {
  events: EventRow[];
  /** After everything read so far, including what the filter left out. */
  position: EventPosition;
}

const minPauseMs = 20;
const maxReadsAtOnce = 3;

/**
 * Follows the event log of tenants, for any number of followers in this process. Followers of one tenant at the
 * same position share one read, a few reads run at once, and the more followers there are, the longer each one pauses:
 * a thousand of them cost the database a thousand reads a second at most and three connections.
 */
export class EventTails {
  readonly #options: Required<EventTailsOptions>;
  readonly #reads = new Map<string, Promise<EventRow[]>>();
  readonly #slots = new Slots(maxReadsAtOnce);
  #followers = 0;
  #isFailing = false;

  constructor(options: EventTailsOptions) {
    this.#options = { pollMs: 1_000, lookAgainMs: 50, batchSize: 500, ...options };
  }

  /** Where to start for what happens from now on. */
  async head(): Promise<EventPosition> {
    const [row] = await this.#options.db.statement<EventPosition>({ role: 'sluice_kernel' }, headStatement());
    if (!row) throw new Error('The database did not report its oldest open transaction');
    return row;
  }

  /** Every later event that matches, once, in order, until the signal; the next batch is read when it is asked for. */
  async *follow(query: {
    tenantId: string;
    after: EventPosition;
    filter: EventFilter;
    signal: AbortSignal;
  }): AsyncGenerator<EventBatch> {
    const { tenantId, filter, signal } = query;
    const { wake, pollMs, lookAgainMs, batchSize } = this.#options;
    const bell = new Bell();
    const deafen = wake.on('events', () => bell.ring());
    const onAbort = () => bell.ring();
    signal.addEventListener('abort', onAbort);
    this.#followers += 1;
    try {
      let position = query.after;
      let waitMs = lookAgainMs;
      while (!signal.aborted) {
        const rows = await this.#read(tenantId, position);
        const last = rows.at(-1);
        if (last) {
          position = { xid: last.xid, eventId: last.eventId };
          yield { events: rows.filter((row) => matchesFilter(row, filter)), position };
        }
        if (rows.length === batchSize || signal.aborted) continue;
        await pause(Math.max(minPauseMs, this.#followers), signal);
        const wasWoken = await bell.wait(waitMs);
        // An older transaction may hold back what woke us for a moment: poll again soon, then less often.
        waitMs = wasWoken || last ? lookAgainMs : Math.min(waitMs * 2, pollMs);
      }
    } finally {
      this.#followers -= 1;
      signal.removeEventListener('abort', onAbort);
      deafen();
    }
  }

  #read(tenantId: string, after: EventPosition): Promise<EventRow[]> {
    const key = `${tenantId}\0${positionText(after)}`;
    const running = this.#reads.get(key);
    if (running) return running;
    const { db, batchSize } = this.#options;
    const read = this.#slots
      .use(() => listEvents(db, { tenantId, after, limit: batchSize }))
      .then(
        (rows) => this.#succeeded(rows),
        (error: unknown) => this.#failed(error),
      )
      .finally(() => this.#reads.delete(key));
    this.#reads.set(key, read);
    return read;
  }

  #succeeded(rows: EventRow[]): EventRow[] {
    this.#isFailing = false;
    return rows;
  }

  /** While the database is away followers only wait. Logged once, not by each of them every second. */
  #failed(error: unknown): EventRow[] {
    if (!this.#isFailing) this.#options.onError(error);
    this.#isFailing = true;
    return [];
  }
}

class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
