import { databaseErrors } from '../db-errors.ts';

/**
 * A fixed number of places that tenants get by turns: a free place goes to the tenant whose last turn is longest ago,
 * and within a tenant to whoever came first. So a tenant that asks for much waits for itself, the others for one turn.
 */
export class Turns {
  #free: number;
  /** Only tenants that wait, in the order of their turns. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Takes a place until `release`. Returns whether it had to wait; throws when the time is up. */
  async take(tenant: string, withinMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return false;
    }
    await this.#wait(tenant, withinMs);
    return true;
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [tenant, queue] = next;
    const [first] = queue;
    // Whoever has had a turn goes to the end.
    this.#waiting.delete(tenant);
    if (queue.size > 1) this.#waiting.set(tenant, queue);
    first?.();
  }

  #wait(tenant: string, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(tenant) ?? new Set();
      const start = (): void => {
        clearTimeout(timer);
        queue.delete(start);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.delete(start);
        if (queue.size === 0) this.#waiting.delete(tenant);
        reject(tooLate(withinMs));
      }, withinMs);
      this.#waiting.set(tenant, queue.add(start));
    });
  }
}

function tooLate(ms: number): Error {
  return databaseErrors.raise.database_unavailable(`No database connection became free within ${ms} ms`, {
    retryAfterSeconds: 2,
  });
}
