import type { Database } from '../../lib/postgres/db.ts';
import { limitErrors } from './errors.ts';
import type { LimitMetrics } from './metrics.ts';
import { deleteExpired, reserveStatement } from './rate-limit-store.ts';
import type { Reservation, ReservationAnswer } from './types.ts';

const maxLimit = 1_000;
const maxWindowMs = 31 * 24 * 3_600_000;
const maxKeys = 10;
const maxKeyLength = 500;

/**
 * Strict sliding windows in the database, by the database's clock: over all processes, no window of `windowMs` ever
 * holds more than `limit` grants. Each reservation is one round trip.
 */
export class RateLimits {
  readonly #db: Database;
  readonly #metrics: LimitMetrics;

  constructor({ db, metrics }: { db: Database; metrics: LimitMetrics }) {
    this.#db = db;
    this.#metrics = metrics;
  }

  reserve(reservation: Reservation): Promise<ReservationAnswer> {
    return this.reserveAll([reservation]);
  }

  /** Takes a place in every window or in none, so that waiting for one uses nothing of the others. */
  async reserveAll(reservations: readonly Reservation[]): Promise<ReservationAnswer> {
    refuseImpossible(reservations);
    const [row] = await this.#db.statement<{ waitMs: number }>(
      { role: 'sluice_kernel' },
      reserveStatement(reservations),
    );
    if (row?.waitMs === 0) return { granted: true };
    this.#metrics.rateLimitWaits.inc();
    return { granted: false, retryInMs: row?.waitMs ?? 1 };
  }

  /** Forgets up to `limit` keys whose windows have passed. Returns how many. For upkeep. */
  purgeExpired(limit: number): Promise<number> {
    return this.#db.kernel((tx) => deleteExpired(tx, limit));
  }
}

function refuseImpossible(reservations: readonly Reservation[]): void {
  const keys = reservations.map(({ key }) => key);
  const isCountOk = keys.length >= 1 && keys.length <= maxKeys && new Set(keys).size === keys.length;
  if (!isCountOk) {
    throw limitErrors.raise.impossible_limit(
      `A reservation needs 1 to ${maxKeys} different keys, and got ${keys.join(', ') || 'none'}`,
    );
  }
  for (const { key, limit, windowMs } of reservations) {
    const isPossible =
      isWholeBetween(key.length, { min: 1, max: maxKeyLength }) &&
      isWholeBetween(limit, { min: 1, max: maxLimit }) &&
      isWholeBetween(windowMs, { min: 1, max: maxWindowMs });
    if (isPossible) continue;
    throw limitErrors.raise.impossible_limit(
      `The limit of ${limit} per ${windowMs} ms for ${JSON.stringify(key.slice(0, 100))} cannot be kept; allowed are ` +
        `keys of 1 to ${maxKeyLength} characters, limits of 1 to ${maxLimit} and windows of 1 to ${maxWindowMs} ms`,
    );
  }
}

function isWholeBetween(value: number, { min, max }: { min: number; max: number }): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}
