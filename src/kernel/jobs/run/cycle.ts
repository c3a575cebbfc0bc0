import type { KernelParts } from '../kernel.ts';
import type { TakenJob } from '../lease/claimer.ts';
import type { ClaimedJob } from '../types.ts';

export interface CycleDeps extends Pick<KernelParts, 'claimer' | 'rescuer' | 'runner' | 'concurrency'> {
  /** Runs before the first claim; its time counts against the budget. */
  prepare(scope: CycleScope): Promise<unknown>;
}

export interface CycleScope {
  /** All tenants when it is absent. */
  tenantId?: string;
}

export interface CycleReport {
  queued_processed: number;
  retry_processed: number;
}

/**
 * One cycle: drains everything that can be claimed, slice after slice, within a budget of time. It counts jobs, not
 * slices: a job that was queued, or was a due retry, when the cycle first took it.
 */
export async function runCycle(
  deps: CycleDeps,
  { budgetMs, signal, ...scope }: { budgetMs: number; signal?: AbortSignal } & CycleScope,
): Promise<CycleReport> {
  const deadline = performance.now() + budgetMs;
  const firstSeen = new Map<string, ClaimedJob['was']>();
  await deps.rescuer.rescue();
  await deps.prepare(scope);
  while (performance.now() < deadline && !signal?.aborted) {
    const round = await claimRound(deps, scope);
    if (round.length === 0) break;
    for (const { job } of round) if (!firstSeen.has(job.jobId)) firstSeen.set(job.jobId, job.was);
    await Promise.all(round.map((taken) => deps.runner.run(taken)));
  }
  const count = (was: ClaimedJob['was']) => [...firstSeen.values()].filter((seen) => seen === was).length;
  return { queued_processed: count('queued'), retry_processed: count('failed') };
}

/** Jobs that a worker died with come last and alone. */
async function claimRound({ claimer, concurrency }: CycleDeps, scope: CycleScope): Promise<TakenJob[]> {
  const jobs = await claimer.claim({ limit: concurrency, ...scope });
  if (jobs.length > 0) return jobs;
  const struck = await claimer.findStruck(scope);
  const taken = struck && (await claimer.claimOne(struck));
  return taken ? [taken] : [];
}
