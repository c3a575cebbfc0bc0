import type { KernelParts } from './kernel.ts';
import { type ClaimRequest, claimStatement } from './lease-store.ts';
import type { ClaimedJob } from './types.ts';

export type ClaimerDeps = Pick<KernelParts, 'db' | 'metrics' | 'workerId' | 'leaseMs' | 'tenantLimit'>;

export type ClaimWish = Pick<ClaimRequest, 'pipelines' | 'limit' | 'tenantId' | 'jobId' | 'struck'>;

const maxTries = 5;
/** A claim takes milliseconds; one that takes this long waits on a dead connection. */
const claimLimitMs = 10_000;

/** Takes due jobs in one round trip. */
export class Claimer {
  readonly #deps: ClaimerDeps;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
  }

  async claim(wish: ClaimWish): Promise<ClaimedJob[]> {
    if (wish.limit < 1 || wish.pipelines.length === 0) return [];
    const { workerId, leaseMs, tenantLimit } = this.#deps;
    const stop = this.#deps.metrics.claimSeconds.startTimer();
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#deps.db.statement<ClaimedJob>(
            { role: 'sluice_kernel', limitMs: claimLimitMs },
            claimStatement({ ...wish, workerId, leaseMs, tenantLimit }),
          );
        } catch (error) {
          // A retry came due just as its subject was dispatched again; on the next try it waits.
          const isActiveConflict = (error as { code?: unknown }).code === '23505';
          if (!isActiveConflict || attempt === maxTries) throw error;
        }
      }
    } finally {
      stop();
    }
  }
}
