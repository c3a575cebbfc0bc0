import type { Database } from '../../../lib/postgres/db.ts';
import { jobErrors } from '../errors.ts';
import { readQueueRoom } from '../store.ts';

/** A look is believed for this long: the limit keeps a queue from growing without bound, not to the last job. */
const rememberMs = 1_000;
const maxRemembered = 10_000;
const retryAfterSeconds = 30;

/** Backpressure at intake: a tenant with too much waiting is told to come back later. */
export class Quotas {
  readonly #db: Database;
  readonly #maxQueued: number;
  readonly #looks = new Map<string, { atMs: number; waiting: number; limit: number }>();

  constructor({ db, maxQueued }: { db: Database; maxQueued: number }) {
    this.#db = db;
    this.#maxQueued = maxQueued;
  }

  async assertRoom(tenantId: string): Promise<void> {
    const { waiting, limit } = await this.#look(tenantId);
    if (waiting < limit) return;
    throw jobErrors.raise.quota_exceeded(
      `The tenant has ${waiting} jobs waiting, and may have ${limit}; try again in ${retryAfterSeconds} s`,
      { retryAfterSeconds, details: { waiting, limit } },
    );
  }

  async #look(tenantId: string): Promise<{ waiting: number; limit: number }> {
    const known = this.#looks.get(tenantId);
    if (known && performance.now() - known.atMs < rememberMs) return known;
    const room = await this.#db.tenant(tenantId, (tx) =>
      readQueueRoom(tx, { tenantId, maxQueued: this.#maxQueued }),
    );
    if (this.#looks.size >= maxRemembered) this.#looks.clear();
    this.#looks.set(tenantId, { atMs: performance.now(), ...room });
    return room;
  }
}
