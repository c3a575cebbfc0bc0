import { Violation } from './happening.ts';
import type { Claim, Claimed, JobState } from './job-store.ts';
import type { SimulatedState, SimulatedTenant } from './simulated-state.ts';

/** Struck jobs are claimed for themselves, so they have a line of their own. All claims are for all pipelines. */
const kinds = ['usual', 'struck'];

/**
 * Turns: from the moment a tenant could be served, every other tenant is served in at most one claim before it. That
 * is one round, however long the others' queues are. Written without the claim's own code, which it judges.
 */
export class Fairness {
  readonly #state: SimulatedState;
  /** Per kind of claim and waiting tenant: who was served before it. */
  readonly #overtakers = new Map<string, Set<string>>();
  #couldBeServed: string[] = [];
  longestWait = 0;

  constructor(state: SimulatedState) {
    this.#state = state;
  }

  /** Before the claim: which tenants could be served? */
  before(claim: Claim): void {
    this.#couldBeServed = [];
    for (const tenant of this.#state.tenants.values()) {
      const isMeant = claim.tenantId === undefined || claim.tenantId === tenant.tenantId;
      if (isMeant && this.#canBeServed(tenant, claim)) this.#couldBeServed.push(tenant.tenantId);
    }
  }

  after(claim: Claim, claimed: readonly Claimed[]): void {
    if (claimed.length === 0 && this.#couldBeServed.length > 0) {
      throw new Violation(
        `A claim found nothing although ${this.#couldBeServed.join(', ')} had claimable jobs`,
      );
    }
    if (claimed.length > claim.limit) {
      throw new Violation(`A claim of at most ${claim.limit} jobs took ${claimed.length}`);
    }
    this.#checkLimits(claim, claimed);
    const served = new Set(claimed.map(({ tenantId }) => tenantId));
    // Whoever was served has had its turn, be it with a struck job or by a kickoff, and waits anew from then on.
    for (const tenantId of served)
      for (const kind of kinds) this.#overtakers.get(`${kind} ${tenantId}`)?.clear();
    // A kickoff is for one job; nobody is overtaken by it.
    if (claim.tenantId !== undefined) return;
    const kind = claim.struck ? 'struck' : 'usual';
    for (const { tenantId } of this.#state.tenants.values()) {
      const key = `${kind} ${tenantId}`;
      const waits = this.#couldBeServed.includes(tenantId) && !served.has(tenantId);
      if (waits) this.#overtake(key, tenantId, served);
      else this.#overtakers.get(key)?.clear();
    }
  }

  #overtake(key: string, waiting: string, served: ReadonlySet<string>): void {
    const overtakers = this.#overtakers.get(key) ?? new Set();
    this.#overtakers.set(key, overtakers);
    for (const other of served) {
      if (overtakers.has(other))
        throw new Violation(`${other} had two turns while ${waiting} waited for its own`);
      overtakers.add(other);
    }
    this.longestWait = Math.max(this.longestWait, overtakers.size);
  }

  #canBeServed(tenant: SimulatedTenant, claim: Claim): boolean {
    let leases = 0;
    for (const { leasedBy } of tenant.jobs) if (leasedBy !== null) leases += 1;
    if (leases >= (tenant.limits.concurrent_jobs ?? claim.tenantLimit)) return false;
    return tenant.jobs.some((job) => this.#isClaimable(tenant, job, claim));
  }

  #isClaimable(tenant: SimulatedTenant, job: JobState, claim: Claim): boolean {
    if (job.leasedBy !== null || job.runAtMs > this.#state.nowMs) return false;
    if (claim.jobId !== undefined && claim.jobId !== job.jobId) return false;
    if (!claim.pipelines.includes(job.pipeline)) return false;
    if ((claim.struck === true) !== job.struckBy.length > 0) return false;
    if (isWorkspaceFull(tenant, job)) return false;
    if (job.status === 'failed') return !isHeldBack(tenant, job);
    return job.status === 'queued' || job.status === 'running' || job.cleanupOpen;
  }

  #checkLimits(claim: Claim, claimed: readonly Claimed[]): void {
    for (const tenantId of new Set(claimed.map((job) => job.tenantId))) {
      const tenant = this.#state.tenants.get(tenantId);
      const leases = tenant?.jobs.filter(({ leasedBy }) => leasedBy !== null).length ?? 0;
      const limit = tenant?.limits.concurrent_jobs ?? claim.tenantLimit;
      if (leases > limit) throw new Violation(`${tenantId} has ${leases} leases and may have ${limit}`);
    }
    for (const { tenantId, jobId } of claimed) {
      const tenant = this.#state.tenants.get(tenantId);
      const job = this.#state.jobById.get(jobId);
      const limit = tenant?.limits.concurrent_jobs_per_workspace;
      if (!tenant || !job || limit === undefined || job.workspaceId === null) continue;
      const leases = leasesIn(tenant, job.workspaceId);
      if (leases > limit) {
        throw new Violation(`${job.workspaceId} of ${tenantId} has ${leases} leases and may have ${limit}`);
      }
    }
  }
}

function isWorkspaceFull(tenant: SimulatedTenant, { workspaceId }: JobState): boolean {
  const limit = tenant.limits.concurrent_jobs_per_workspace;
  return limit !== undefined && workspaceId !== null && leasesIn(tenant, workspaceId) >= limit;
}

function leasesIn({ jobs }: SimulatedTenant, workspaceId: string): number {
  return jobs.filter((job) => job.leasedBy !== null && job.workspaceId === workspaceId).length;
}

/** Blocked by an active job of its subject, or by an older retry. */
function isHeldBack({ jobs }: SimulatedTenant, retry: JobState): boolean {
  return jobs.some((job) => {
    if (job === retry || job.subjectId !== retry.subjectId || job.pipeline !== retry.pipeline) return false;
    const isOlderRetry = job.status === 'failed' && job.jobId < retry.jobId;
    return isOlderRetry || ['queued', 'running', 'paused'].includes(job.status) || job.cleanupOpen;
  });
}
