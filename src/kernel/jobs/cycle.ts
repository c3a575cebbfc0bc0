import type { KernelParts } from './kernel.ts';
import type { ClaimedJob } from './types.ts';

export interface CycleDeps
  extends Pick<KernelParts, 'claimer' | 'registry' | 'rescuer' | 'runner' | 'concurrency'> {
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
    const jobs = await claimRound(deps, scope);
    if (jobs.length === 0) break;
    for (const job of jobs) if (!firstSeen.has(job.jobId)) firstSeen.set(job.jobId, job.was);
    await runRound(deps, jobs);
  }
  const count = (was: ClaimedJob['was']) => [...firstSeen.values()].filter((seen) => seen === was).length;
  return { queued_processed: count('queued'), retry_processed: count('failed') };
}

/** Jobs that a worker died with come last and alone. */
async function claimRound(deps: CycleDeps, scope: CycleScope): Promise<ClaimedJob[]> {
  const single = { pipelines: deps.registry.single, limit: deps.concurrency, ...scope };
  const jobs = await deps.claimer.claim(single);
  for (const { name, batchSize } of deps.registry.batched) {
    jobs.push(...(await deps.claimer.claim({ pipelines: [name], limit: batchSize, ...scope })));
  }
  if (jobs.length > 0) return jobs;
  return deps.claimer.claim({ pipelines: deps.registry.all, limit: 1, struck: true, ...scope });
}

async function runRound({ registry, runner }: CycleDeps, jobs: ClaimedJob[]): Promise<void> {
  const batched = new Set(registry.batched.map(({ name }) => name));
  const batch = jobs.filter((job) => batched.has(job.pipeline));
  const single = jobs.filter((job) => !batched.has(job.pipeline));
  await Promise.all([
    ...single.map((job) => runner.run(job)),
    ...(batch.length > 0 ? [runner.runBatch(batch)] : []),
  ]);
}
