import { randomBytes } from 'node:crypto';
import type { Database } from '../../lib/postgres/db.ts';

export const wakeChannel = 'sluice';
export type WakeTopic = 'jobs' | 'events';

/** Together, workers look for work about this often a second, however many there are. */
const looksPerSecond = 10;
/** How often word of work is passed from one busy worker to another. */
const maxHops = 3;
const places = 65_536;

/**
 * Tells workers and event streams that something changed: in this process at once, elsewhere by NOTIFY. The NOTIFY
 * is sent after the commit and coalesced, because inside a transaction it would serialise all commits. Word of a job
 * wakes one worker, drawn by lot, and not all of them; one that has no free slot passes it on. Losing one costs only
 * time: everybody polls as well.
 */
export class WakeUp {
  readonly #db: Database;
  readonly #listeners = new Map<WakeTopic, Set<() => void>>();
  readonly #pending = new Set<string>();
  #sending = false;
  /** Where this process stands among those that take jobs. */
  #place = { rank: 0, count: 1 };
  #hops = 0;
  /** Says which word is this process's own. */
  readonly #sender = randomBytes(4).toString('hex');

  constructor(db: Database) {
    this.#db = db;
  }

  /** How many times rarer than alone a worker of this fleet polls. */
  get crowd(): number {
    return Math.max(1, this.#place.count / looksPerSecond);
  }

  setPlace(place: { rank: number; count: number }): void {
    this.#place = place;
  }

  /** For `tx.afterCommit`: something of this topic was committed here. */
  announce(...topics: WakeTopic[]): void {
    for (const topic of topics) {
      this.#hops = 0;
      this.wakeLocally(topic);
      this.#queue(topic === 'jobs' ? this.#lot(0) : topic);
    }
  }

  /** Word of work that this worker cannot take, or not all of it: another one is told. */
  passOn(): void {
    if (this.#place.count < 2 || this.#hops >= maxHops) return;
    this.#queue(this.#lot(this.#hops + 1));
  }

  on(topic: WakeTopic, listener: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** What arrives from other processes, and from this one. */
  receive(payload: string): void {
    const [topic, lot, hops, sender] = payload.split('/');
    if (topic === 'events') this.wakeLocally('events');
    if (topic !== 'jobs') return;
    // Whoever announces something has told its own listeners already.
    if (sender === this.#sender && hops === '0') return;
    // Programs of the version before wake everybody.
    if (lot !== undefined && !this.#isDrawn(Number(lot))) return;
    this.#hops = Number(hops ?? 0);
    this.wakeLocally('jobs');
  }

  wakeLocally(topic: WakeTopic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  #lot(hops: number): string {
    return `jobs/${Math.floor(Math.random() * places)}/${hops}/${this.#sender}`;
  }

  #isDrawn(lot: number): boolean {
    const { rank, count } = this.#place;
    return Math.floor((lot / places) * count) === rank;
  }

  #queue(payload: string): void {
    this.#pending.add(payload);
    if (!this.#sending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#pending.size > 0) {
      const payloads = oneOfEach(this.#pending);
      this.#pending.clear();
      try {
        await this.#db.notify(wakeChannel, payloads);
      } catch {
        // The others find the change by polling; a dead connection is reported by the next transaction.
      }
    }
    this.#sending = false;
  }
}

/** Many jobs that were announced together wake one worker; it tells the next one when it cannot take them all. */
function oneOfEach(payloads: Iterable<string>): string[] {
  const byTopic = new Map([...payloads].map((payload) => [payload.split('/')[0], payload]));
  return [...byTopic.values()];
}
