import { type JobState, pipelineNames, type Rescued, type WorkerState } from './job-store.ts';
import { findStruck } from './simulated-claim.ts';
import { changeJob } from './simulated-lanes.ts';
import { giveBack, moveJob, type SimulatedState } from './simulated-state.ts';

interface Rescue {
  maxStrikes: number;
  silentMs: number;
  rejoinMs: number;
}

/** Marks workers whose lock is gone, and takes leases back: of lost ones at once, of silent ones when expired. */
export function rescueJobs(state: SimulatedState, rescue: Rescue): Rescued {
  const lost = [...state.workers.values()].filter(
    ({ workerId, guardedBy, lostAtMs }) =>
      guardedBy === 'lock' && lostAtMs === null && !state.locks.has(workerId),
  );
  for (const worker of lost) worker.lostAtMs = state.nowMs;
  const found = state.jobs.filter((job) => isLost(state, job) && !waitsForWorker(state, job, rescue));
  // First judge all, then move: a worker that one job marks as lost is not lost for the others of this rescue.
  const verdicts = found.map((job) => ({ job, ...judge(state, job, rescue) }));
  for (const verdict of verdicts) changeJob(state, verdict.job, () => takeBack(state, verdict));
  return {
    lost: lost.map(({ workerId }) => workerId).sort(),
    jobs: verdicts.map(({ job, cause, struck }) => ({ jobId: job.jobId, status: job.status, cause, struck })),
    hasStruck:
      findStruck(state, { pipelines: pipelineNames, tenantLimit: Number.POSITIVE_INFINITY }) !== undefined,
  };
}

function holderOf(state: SimulatedState, { leasedBy }: JobState): WorkerState | undefined {
  return leasedBy === null ? undefined : state.workers.get(leasedBy);
}

function isLost(state: SimulatedState, job: JobState): boolean {
  if (job.leasedBy === null || job.leaseExpiresAtMs === null) return false;
  const aheadMs = state.breakage === 'rescue before expiry' ? 3_000 : 0;
  if (job.leaseExpiresAtMs < state.nowMs + aheadMs) return true;
  const holder = holderOf(state, job);
  return holder?.guardedBy === 'lock' && holder.lostAtMs !== null;
}

/** The last strike cannot be undone, so it waits for the worker to come back. */
function waitsForWorker(
  state: SimulatedState,
  job: JobState,
  { maxStrikes, silentMs, rejoinMs }: Rescue,
): boolean {
  if (!isLastStrike(job, maxStrikes)) return false;
  const holder = holderOf(state, job);
  if (!holder) return false;
  if (holder.guardedBy === 'lock')
    return holder.lostAtMs !== null && holder.lostAtMs > state.nowMs - rejoinMs;
  // One that still beats takes no strike, so there is nothing to wait for.
  const silentSinceMs = holder.heartbeatAtMs + silentMs;
  return silentSinceMs < state.nowMs && silentSinceMs > state.nowMs - rejoinMs;
}

/** A process counts once: one that was declared dead and claimed again had not died. */
function isLastStrike({ status, struckBy, leasedBy }: JobState, maxStrikes: number): boolean {
  return status === 'running' && struckBy.filter((id) => id !== leasedBy).length + 1 >= maxStrikes;
}

interface Verdict {
  cause: 'lock' | 'expiry';
  struck: boolean;
  isPoison: boolean;
}

/** A strike needs a dead process: the lock is gone, or, where there is no lock, the worker itself no longer beats. */
function judge(state: SimulatedState, job: JobState, { maxStrikes, silentMs }: Rescue): Verdict {
  const holder = holderOf(state, job);
  const lostItsLock = holder?.guardedBy === 'lock' && holder.lostAtMs !== null;
  const isSilent = holder?.guardedBy === 'expiry' && holder.heartbeatAtMs < state.nowMs - silentMs;
  const struck = !holder || lostItsLock || isSilent;
  return {
    cause: lostItsLock ? 'lock' : 'expiry',
    struck,
    isPoison: struck && isLastStrike(job, maxStrikes),
  };
}

function takeBack(state: SimulatedState, { job, struck, isPoison }: Verdict & { job: JobState }): void {
  const holder = holderOf(state, job);
  if (struck && job.leasedBy !== null) {
    job.struckBy = [...job.struckBy.filter((id) => id !== job.leasedBy), job.leasedBy];
  }
  if (struck && holder) holder.lostAtMs ??= state.nowMs;
  moveJob(job, 'rescue', isPoison ? 'dead_letter' : job.status);
  if (isPoison) {
    job.errorCode = 'worker_crashed';
    job.finishedAtMs = state.nowMs;
  }
  job.events.push(isPoison ? 'job.dead_lettered' : 'job.rescued');
  job.leaseEpoch += 1;
  job.runAtMs = state.breakage === 'rescue forgets the job' ? Number.POSITIVE_INFINITY : state.nowMs;
  giveBack(job);
}
