import type { Sql } from '../../../lib/postgres/sql.ts';
import type { KernelParts } from '../kernel.ts';
import type { ClaimedJob, JobId } from '../types.ts';
import { type ClaimRequest, claimOneStatement, claimStatement, struckStatement } from './lease-store.ts';

export type ClaimerDeps = Pick<
  KernelParts,
  'db' | 'metrics' | 'registry' | 'workerId' | 'leaseMs' | 'tenantLimit'
>;

export type ClaimWish = Pick<ClaimRequest, 'limit' | 'tenantId' | 'spared'>;

const maxTries = 5;
/** A claim takes milliseconds; one that takes this long waits on a dead connection. */
const claimLimitMs = 10_000;

/** A job, and when it was asked for: its lease counts from then. */
export interface TakenJob {
  job: ClaimedJob;
  askedAtMs: number;
}

/** Takes due jobs of the pipelines that this process knows, in one round trip. */
export class Claimer {
  readonly #deps: ClaimerDeps;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
  }

  async claim(wish: ClaimWish): Promise<TakenJob[]> {
    const pipelines = this.#deps.registry.all;
    if (wish.limit < 1 || pipelines.length === 0) return [];
    return this.#take(claimStatement({ ...wish, pipelines, ...this.#terms() }));
  }

  async claimOne(key: JobId): Promise<TakenJob | null> {
    const { tenantId, jobId } = key;
    return (await this.#take(claimOneStatement({ tenantId, jobId, ...this.#terms() })))[0] ?? null;
  }

  /** A job that a worker died with, if one could be claimed here now. */
  async findStruck(scope: { tenantId?: string } = {}): Promise<JobId | null> {
    const { db, registry, tenantLimit } = this.#deps;
    const statement = struckStatement({ pipelines: registry.all, tenantLimit, ...scope });
    const [found] = await db.statement<JobId>({ role: 'sluice_kernel', limitMs: claimLimitMs }, statement);
    return found ?? null;
  }

  #terms() {
    const { workerId, leaseMs, tenantLimit } = this.#deps;
    return { workerId, leaseMs, tenantLimit };
  }

  async #take(statement: Sql): Promise<TakenJob[]> {
    const stop = this.#deps.metrics.claimSeconds.startTimer();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const askedAtMs = performance.now();
        try {
          const context = { role: 'sluice_kernel', limitMs: claimLimitMs } as const;
          const jobs = await this.#deps.db.statement<ClaimedJob>(context, statement);
          return jobs.map((job) => ({ job, askedAtMs }));
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
