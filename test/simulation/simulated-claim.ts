import { type Claim, type Claimed, type JobState, leaseMs } from './job-store.ts';
import {
  isActive,
  isOpen,
  isSameSubject,
  moveJob,
  type SimulatedState,
  type SimulatedTenant,
} from './simulated-state.ts';

/** The database's claim_jobs() once more: tenants by turns, started jobs before queued ones, within the limits. */
export function claimJobs(state: SimulatedState, request: Claim): Claimed[] {
  const listed = listTenants(state, request);
  const lastPass = request.tenantId === undefined ? (listed.at(-1)?.pass ?? 0) : 0;
  const share = Math.ceil(request.limit / Math.max(listed.length, 1));
  const claimed: Claimed[] = [];
  for (const tenant of listed) {
    const remaining = request.limit - claimed.length;
    if (remaining <= 0) break;
    let free = Math.min(freeLeases(state, tenant, request.tenantLimit), share, remaining);
    for (const queued of [false, true]) {
      if (free <= 0) break;
      const limit = tenant.limits.concurrent_jobs_per_workspace === undefined ? free : 1;
      const due = listDue(state, tenant, { request, queued }).slice(0, limit);
      if (due.length === 0) continue;
      for (const job of due) claimed.push(lease(state, job, request));
      free -= due.length;
      // Behind all that wait now: a tenant that was idle, or is new, gets this turn and then no more than the others.
      tenant.pass = Math.max(tenant.pass, lastPass) + due.length;
    }
  }
  return claimed;
}

function listTenants(state: SimulatedState, { tenantId }: Claim): SimulatedTenant[] {
  const tenants = [...state.tenants.values()];
  if (tenantId !== undefined) return tenants.filter((tenant) => tenant.tenantId === tenantId);
  const withWork = tenants.filter(({ jobs }) =>
    jobs.some((job) => isOpen(job) && job.runAtMs <= state.nowMs),
  );
  if (state.breakage === 'turns by tenant id') return withWork;
  return withWork.sort((a, b) => a.pass - b.pass || (a.tenantId < b.tenantId ? -1 : 1));
}

function freeLeases(state: SimulatedState, tenant: SimulatedTenant, tenantLimit: number): number {
  if (state.breakage === 'no tenant limit') return Number.POSITIVE_INFINITY;
  let leases = 0;
  for (const job of tenant.jobs) if (job.leasedBy !== null) leases += 1;
  return (tenant.limits.concurrent_jobs ?? tenantLimit) - leases;
}

function listDue(
  state: SimulatedState,
  tenant: SimulatedTenant,
  { request, queued }: { request: Claim; queued: boolean },
): JobState[] {
  const full = fullWorkspaces(tenant);
  const due = tenant.jobs.filter(
    (job) =>
      job.runAtMs <= state.nowMs &&
      isOpen(job) &&
      (job.status === 'queued') === queued &&
      job.struckBy.length > 0 === (request.struck ?? false) &&
      request.pipelines.includes(job.pipeline) &&
      (request.jobId === undefined || job.jobId === request.jobId) &&
      (job.workspaceId === null || !full.includes(job.workspaceId)) &&
      (job.status !== 'failed' || retryMayStart(tenant, job)),
  );
  if (due.length < 2) return due;
  const rankOf = ({ jobId }: JobState) => {
    const rank = request.prefer?.indexOf(jobId) ?? -1;
    return rank < 0 ? Number.MAX_SAFE_INTEGER : rank;
  };
  return due.sort((a, b) => a.runAtMs - b.runAtMs || rankOf(a) - rankOf(b) || (a.jobId < b.jobId ? -1 : 1));
}

function fullWorkspaces({ jobs, limits }: SimulatedTenant): string[] {
  const limit = limits.concurrent_jobs_per_workspace;
  if (limit === undefined) return [];
  const leases = new Map<string, number>();
  for (const { leasedBy, workspaceId } of jobs) {
    if (leasedBy !== null && workspaceId !== null) {
      leases.set(workspaceId, (leases.get(workspaceId) ?? 0) + 1);
    }
  }
  return [...leases].filter(([, count]) => count >= limit).map(([workspaceId]) => workspaceId);
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

function lease(state: SimulatedState, job: JobState, { workerId }: Claim): Claimed {
  const was = job.status;
  if (was === 'queued' || was === 'failed') job.events.push('job.started');
  moveJob(job, 'claim', was === 'canceled' ? 'canceled' : 'running');
  job.leaseEpoch += 1;
  job.leasedBy = workerId;
  job.leaseExpiresAtMs = state.nowMs + leaseMs;
  job.startedAtMs ??= state.nowMs;
  job.nextRetryAtMs = null;
  job.notBeforeMs = null;
  const { tenantId, jobId, leaseEpoch, status, retryCount } = job;
  return { tenantId, jobId, leaseEpoch, was, status, retryCount, stepsDone: job.step };
}
