import type { Database } from '../../lib/postgres/db.ts';

export const wakeChannel = 'sluice';
export type WakeTopic = 'jobs' | 'events';

/**
 * Tells workers and event streams that something changed: in this process at once, elsewhere by NOTIFY. The NOTIFY
 * is sent after the commit and coalesced, because inside a transaction it would serialise all commits. Losing one
 * costs only time: everybody polls as well.
 */
export class WakeUp {
  readonly #db: Database;
  readonly #listeners = new Map<WakeTopic, Set<() => void>>();
  readonly #pending = new Set<WakeTopic>();
  #sending = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** For `tx.afterCommit`: something of this topic was committed here. */
  announce(...topics: WakeTopic[]): void {
    for (const topic of topics) {
      this.wakeLocally(topic);
      this.#pending.add(topic);
    }
    if (!this.#sending) void this.#send();
  }

  on(topic: WakeTopic, listener: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Called for what arrives from other processes. */
  wakeLocally(topic: WakeTopic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#pending.size > 0) {
      const topics = [...this.#pending];
      this.#pending.clear();
      try {
        await this.#db.notify(wakeChannel, topics);
      } catch {
        // The others find the change by polling; a dead connection is reported by the next transaction.
      }
    }
    this.#sending = false;
  }
}
