import type { Database } from '../../lib/postgres/db.ts';
import { pause } from '../../lib/timing/abort.ts';
import { Bell } from '../../lib/timing/bell.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import { isGonePosition, packPosition } from './position.ts';
import { type LogPage, LogReader } from './reader.ts';
import { type EventFilter, type EventRow, type LogPosition, matchesFilter } from './types.ts';

export interface EventTailsOptions {
  db: Database;
  wake: WakeUp;
  onError: (error: unknown) => void;
  /** How often to poll when nothing wakes us. */
  pollMs?: number;
  /** Most events in memory per follower. */
  batchSize?: number;
}

export interface EventBatch {
  /** Each with the position of a reader that has got it. */
  events: { event: EventRow; position: LogPosition }[];
  /** After everything read so far, including what the filter left out. */
  position: LogPosition;
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
  readonly #reads = new Map<string, Promise<LogPage | null>>();
  readonly #slots = new Slots(maxReadsAtOnce);
  #followers = 0;
  #isFailing = false;

  constructor(options: EventTailsOptions) {
    this.#options = { pollMs: 1_000, batchSize: 500, ...options };
  }

  /** Where to start for what happens from now on. */
  end(tenantId: string): Promise<LogPosition> {
    return LogReader.forTenant(this.#options.db, tenantId).end(tenantId);
  }

  /**
   * Every later event that matches, once, in order, until the signal; the next batch is read when it is asked for.
   * Throws when the position is gone, because the database was recovered to an earlier moment.
   */
  async *follow(query: {
    tenantId: string;
    after: LogPosition;
    filter: EventFilter;
    signal: AbortSignal;
  }): AsyncGenerator<EventBatch> {
    const { tenantId, filter, signal } = query;
    const { wake, pollMs } = this.#options;
    const bell = new Bell();
    const deafen = wake.on('events', () => bell.ring());
    const onAbort = () => bell.ring();
    signal.addEventListener('abort', onAbort);
    this.#followers += 1;
    try {
      let position = query.after;
      while (!signal.aborted) {
        const page = await this.#read(tenantId, position);
        if (page) {
          position = page.position;
          yield { events: matching(page, filter), position };
        }
        if ((page && !page.isDone) || signal.aborted) continue;
        await pause(Math.max(minPauseMs, this.#followers), signal);
        await bell.wait(pollMs);
      }
    } finally {
      this.#followers -= 1;
      signal.removeEventListener('abort', onAbort);
      deafen();
    }
  }

  #read(tenantId: string, after: LogPosition): Promise<LogPage | null> {
    const key = `${tenantId}\0${packPosition(after).join()}`;
    const running = this.#reads.get(key);
    if (running) return running;
    const { db, batchSize: limit } = this.#options;
    const read = this.#slots
      .use(() => LogReader.forTenant(db, tenantId).read({ tenantId, limit }, after))
      .then(
        (page) => this.#succeeded(page),
        (error: unknown) => this.#failed(error),
      )
      .finally(() => this.#reads.delete(key));
    this.#reads.set(key, read);
    return read;
  }

  #succeeded(page: LogPage): LogPage {
    this.#isFailing = false;
    return page;
  }

  /** While the database is away followers only wait. Logged once, not by each of them every second. */
  #failed(error: unknown): null {
    if (isGonePosition(error)) throw error;
    if (!this.#isFailing) this.#options.onError(error);
    this.#isFailing = true;
    return null;
  }
}

function matching({ events, positions }: LogPage, filter: EventFilter): EventBatch['events'] {
  return events.flatMap((event, index) => {
    const position = positions[index];
    return position && matchesFilter(event, filter) ? [{ event, position }] : [];
  });
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
