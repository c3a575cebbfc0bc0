import { type Claim, type Claimed, type JobState, leaseMs } from './job-store.ts';
import {
  changeJob,
  endTurn,
  limitLane,
  listTurns,
  restLane,
  type SimulatedLane,
  tenantOf,
  wakeLanes,
} from './simulated-lanes.ts';
import {
  isActive,
  isOpen,
  isSameSubject,
  moveJob,
  type SimulatedState,
  type SimulatedTenant,
} from './simulated-state.ts';

/** One job by its id, the first that a worker died with, or as many as fit by turns. */
export function claimJobs(state: SimulatedState, request: Claim): Claimed[] {
  if (request.jobId === undefined && !request.struck) return claimByTurns(state, request);
  const job = request.jobId === undefined ? findStruck(state, request) : state.jobById.get(request.jobId);
  const isTaken = job && job.tenantId === (request.tenantId ?? job.tenantId) && canStart(state, job, request);
  return isTaken ? [lease(state, job, request)] : [];
}

/** The job that has been due for longest, of those that a worker died with and that could start now. */
export function findStruck(
  state: SimulatedState,
  request: Pick<Claim, 'pipelines' | 'tenantId' | 'tenantLimit' | 'prefer'>,
): JobState | undefined {
  const struck = state.jobs.filter(
    (job) =>
      job.struckBy.length > 0 &&
      request.pipelines.includes(job.pipeline) &&
      job.tenantId === (request.tenantId ?? job.tenantId) &&
      canStart(state, job, request),
  );
  return inOrder(struck, request)[0];
}

/** Lanes take turns; a tenant gets its share of the claim, and no more than its limits allow. */
function claimByTurns(state: SimulatedState, request: Claim): Claimed[] {
  wakeLanes(state, request.pipelines);
  const turns = listTurns(state, request);
  const lastPass = Math.max(...turns.map(({ pass }) => pass));
  const share = Math.ceil(request.limit / Math.max(new Set(turns.map(({ tenantId }) => tenantId)).size, 1));
  const claimed: Claimed[] = [];
  let takenOfTenant = 0;
  let lastTenantId: string | null = null;
  for (const lane of turns) {
    const remaining = request.limit - claimed.length;
    if (remaining <= 0) break;
    // Lanes of a tenant that follow each other have one share between them.
    if (lane.tenantId !== lastTenantId) takenOfTenant = 0;
    lastTenantId = lane.tenantId;
    if (takenOfTenant >= share) continue;
    const tenant = tenantOf(state, lane);
    const room = freeLeases(state, tenant, request.tenantLimit);
    if (room <= 0) {
      limitLane(state, lane, 1_000);
      continue;
    }
    const wanted = Math.min(room, share - takenOfTenant, remaining);
    const taken = takeFromLane(state, lane, { request, wanted });
    claimed.push(...taken);
    takenOfTenant += taken.length;
    if (turns.length > 1) endTurn(tenant, { lane, lastPass, taken: takenOfTenant });
    // With a limit per workspace jobs are taken one by one, so there may be more.
    const mayHaveMore = tenant.limits.concurrent_jobs_per_workspace !== undefined && takenOfTenant > 0;
    if (taken.length < wanted && !mayHaveMore) restLane(state, lane, request);
  }
  return claimed;
}

/** Started jobs before queued ones, each by when they came due. */
function takeFromLane(
  state: SimulatedState,
  lane: SimulatedLane,
  { request, wanted }: { request: Claim; wanted: number },
): Claimed[] {
  const tenant = tenantOf(state, lane);
  const claimed: Claimed[] = [];
  for (const queued of [false, true]) {
    const free = wanted - claimed.length;
    const limit = tenant.limits.concurrent_jobs_per_workspace === undefined ? free : Math.min(free, 1);
    const due = tenant.jobs.filter(
      (job) =>
        job.pipeline === lane.pipeline &&
        (job.status === 'queued') === queued &&
        job.struckBy.length === 0 &&
        !request.spared?.includes(job.jobId) &&
        isReady(state, tenant, job),
    );
    for (const job of inOrder(due, request).slice(0, limit)) claimed.push(lease(state, job, request));
  }
  return claimed;
}

function canStart(
  state: SimulatedState,
  job: JobState,
  { tenantLimit }: Pick<Claim, 'tenantLimit'>,
): boolean {
  const tenant = tenantOf(state, job);
  return isReady(state, tenant, job) && freeLeases(state, tenant, tenantLimit) > 0;
}

/** Due, free, and held back neither by its workspace nor by another job of its subject. */
function isReady(state: SimulatedState, tenant: SimulatedTenant, job: JobState): boolean {
  return (
    job.runAtMs <= state.nowMs &&
    isOpen(job) &&
    (job.workspaceId === null || !isFull(tenant, job.workspaceId)) &&
    (job.status !== 'failed' || retryMayStart(tenant, job))
  );
}

/** A lease that has run out counts no more, rescued or not. */
function freeLeases(state: SimulatedState, tenant: SimulatedTenant, tenantLimit: number): number {
  if (state.breakage === 'no tenant limit') return Number.POSITIVE_INFINITY;
  let leases = 0;
  for (const { leasedBy, leaseExpiresAtMs } of tenant.jobs) {
    if (leasedBy !== null && (leaseExpiresAtMs ?? 0) > state.nowMs) leases += 1;
  }
  return (tenant.limits.concurrent_jobs ?? tenantLimit) - leases;
}

function isFull({ jobs, limits }: SimulatedTenant, workspaceId: string): boolean {
  const limit = limits.concurrent_jobs_per_workspace;
  if (limit === undefined) return false;
  return jobs.filter((job) => job.leasedBy !== null && job.workspaceId === workspaceId).length >= limit;
}

/** A due retry waits while its subject has an active job or an older retry. */
function retryMayStart({ jobs }: SimulatedTenant, retry: JobState): boolean {
  return !jobs.some(
    (job) =>
      job !== retry &&
      isSameSubject(job, retry) &&
      (isActive(job) || (job.status === 'failed' && job.jobId < retry.jobId)),
  );
}

function inOrder(jobs: JobState[], { prefer }: Pick<Claim, 'prefer'>): JobState[] {
  if (jobs.length < 2) return jobs;
  const rankOf = ({ jobId }: JobState) => {
    const rank = prefer?.indexOf(jobId) ?? -1;
    return rank < 0 ? Number.MAX_SAFE_INTEGER : rank;
  };
  return jobs.sort((a, b) => a.runAtMs - b.runAtMs || rankOf(a) - rankOf(b) || (a.jobId < b.jobId ? -1 : 1));
}

function lease(state: SimulatedState, job: JobState, { workerId }: Claim): Claimed {
  const was = job.status;
  if (was === 'queued' || was === 'failed') job.events.push('job.started');
  changeJob(state, job, () => {
    moveJob(job, 'claim', was === 'canceled' ? 'canceled' : 'running');
    job.leaseEpoch += 1;
    job.leasedBy = workerId;
    job.leaseExpiresAtMs = state.nowMs + leaseMs;
    job.startedAtMs ??= state.nowMs;
    job.nextRetryAtMs = null;
    job.notBeforeMs = null;
  });
  const { tenantId, jobId, leaseEpoch, status, retryCount } = job;
  return { tenantId, jobId, leaseEpoch, leasedBy: workerId, was, status, retryCount, stepsDone: job.step };
}
