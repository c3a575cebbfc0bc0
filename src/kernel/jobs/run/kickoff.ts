import { jobErrors } from '../errors.ts';
import type { KernelParts } from '../kernel.ts';
import { findJob } from '../store.ts';
import type { Job } from '../types.ts';

export type KickoffDeps = Pick<KernelParts, 'db' | 'claimer' | 'registry' | 'runner'>;

export interface KickoffReport {
  job: Job;
  /** Slices that this call advanced. */
  processed: number;
  remaining: number | null;
  elapsedMs: number;
  /** Who holds the lease when it is not us. */
  leasedBy: string | null;
}

/**
 * Runs one job for a limited time, inside the request and without a worker. Safe beside workers: when another
 * one holds the lease it returns at once, with nothing processed and the name of that worker.
 */
export async function kickOff(
  deps: KickoffDeps,
  { tenantId, jobId, durationMs }: { tenantId: string; jobId: string; durationMs: number },
): Promise<KickoffReport> {
  const startedAtMs = performance.now();
  let job = await readJob(deps, tenantId, jobId);
  if (job.status === 'paused') {
    throw jobErrors.raise.illegal_transition(
      `Job ${jobId} is paused; resume it before it can be kicked off`,
      {
        details: { status: job.status },
      },
    );
  }
  let processed = 0;
  const untilMs = startedAtMs + durationMs;
  while (performance.now() < untilMs) {
    const taken = await deps.claimer.claimOne(job);
    if (!taken) break;
    const end = await deps.runner.run(taken, { shouldYield: () => performance.now() >= untilMs });
    if (end.type === 'dropped') break;
    processed += end.type === 'turn' ? end.result.processed : 1;
    if (end.type === 'turn' ? end.result.state !== 'more' : end.outcome.type !== 'continue') break;
  }
  job = await readJob(deps, tenantId, jobId);
  return {
    job,
    processed,
    remaining: (await deps.registry.find(job.pipeline)?.remaining?.(job)) ?? null,
    elapsedMs: Math.round(performance.now() - startedAtMs),
    leasedBy: processed === 0 ? job.leasedBy : null,
  };
}

async function readJob({ db }: KickoffDeps, tenantId: string, jobId: string): Promise<Job> {
  const job = await db.tenant(tenantId, (tx) => findJob(tx, { tenantId, jobId }));
  if (job) return job;
  throw jobErrors.raise.job_not_found(`There is no job ${jobId}`);
}
