import { Violation } from './happening.ts';
import { type Claim, type Claimed, type JobState, pipelineNames } from './job-store.ts';
import type { SimulatedState, SimulatedTenant } from './simulated-state.ts';

/**
 * Turns: every claim that passes a tenant by, though it could be served, puts one more lane of the others behind it. So
 * its turn comes after as many claims as the others have lanes, however long their queues are. Jobs that a worker died
 * with are claimed for themselves, one by one, and the one that came due first goes first. All claims are for all
 * pipelines. Written without the claim's own code, which it judges.
 */
export class Fairness {
  readonly #state: SimulatedState;
  /** By waiting tenant: how many claims have passed it by. */
  readonly #passedBy = new Map<string, number>();
  #couldBeServed: { tenantId: string; jobs: JobState[] }[] = [];
  longestWait = 0;

  constructor(state: SimulatedState) {
    this.#state = state;
  }

  /** Before the claim: which tenants could be served, and with what? `latestMs` is the latest time seen so far. */
  before(claim: Claim, latestMs: number): void {
    this.#couldBeServed = [];
    for (const tenant of this.#state.tenants.values()) {
      const { tenantId } = tenant;
      if (claim.tenantId !== undefined && claim.tenantId !== tenantId) continue;
      const jobs = this.#listClaimable(tenant, claim).filter((job) => {
        const isByTurns = claim.jobId === undefined && !claim.struck;
        return !isByTurns || !this.#sleepsIn(tenant, job, latestMs);
      });
      if (jobs.length > 0) this.#couldBeServed.push({ tenantId, jobs });
    }
  }

  after(claim: Claim, claimed: readonly Claimed[]): void {
    if (claimed.length === 0 && this.#couldBeServed.length > 0) {
      const names = this.#couldBeServed.map(({ tenantId }) => tenantId);
      throw new Violation(`A claim found nothing although ${names.join(', ')} had claimable jobs`);
    }
    if (claimed.length > claim.limit) {
      throw new Violation(`A claim of at most ${claim.limit} jobs took ${claimed.length}`);
    }
    this.#checkLimits(claim, claimed);
    const served = new Set(claimed.map(({ tenantId }) => tenantId));
    // Whoever was served has had its turn, be it with a struck job or by a kickoff, and waits anew from then on.
    for (const tenantId of served) this.#passedBy.delete(tenantId);
    if (claim.struck) this.#checkOldest(claimed);
    // A kickoff is for one job; nobody is passed by.
    else if (claim.tenantId === undefined) this.#passBy(served);
  }

  #passBy(served: ReadonlySet<string>): void {
    const most = (this.#state.tenants.size - 1) * pipelineNames.length;
    const waiting = new Set(this.#couldBeServed.map(({ tenantId }) => tenantId));
    for (const { tenantId } of this.#state.tenants.values()) {
      if (!waiting.has(tenantId)) this.#passedBy.delete(tenantId);
      if (!waiting.has(tenantId) || served.has(tenantId)) continue;
      const count = (this.#passedBy.get(tenantId) ?? 0) + 1;
      if (count > most) throw new Violation(`${count} claims passed ${tenantId} by; it may be ${most}`);
      this.#passedBy.set(tenantId, count);
      this.longestWait = Math.max(this.longestWait, count);
    }
  }

  #checkOldest(claimed: readonly Claimed[]): void {
    const dueMs = this.#couldBeServed.flatMap(({ jobs }) => jobs.map(({ runAtMs }) => runAtMs));
    for (const { jobId } of claimed) {
      const job = this.#state.jobById.get(jobId);
      if (job && job.runAtMs > Math.min(...dueMs)) {
        throw new Violation(`${jobId} was to run alone before one that came due earlier`);
      }
    }
  }

  /** Here every lease counts, also one that has run out: whether its tenant is asked again at once is left open. */
  #listClaimable(tenant: SimulatedTenant, claim: Claim): JobState[] {
    const leases = tenant.jobs.filter(({ leasedBy }) => leasedBy !== null).length;
    if (leases >= (tenant.limits.concurrent_jobs ?? claim.tenantLimit)) return [];
    return tenant.jobs.filter((job) => this.#isClaimable(tenant, job, claim));
  }

  /**
   * A lane whose jobs wait for room or for other jobs is looked at again within a second, and every 200 ms if it has
   * room: what comes due in between waits that long. When the clock is set back, the lane sleeps until the clock is
   * there again.
   */
  #sleepsIn({ lanes }: SimulatedTenant, { pipeline }: JobState, latestMs: number): boolean {
    const { nowMs } = this.#state;
    const lane = lanes.get(pipeline);
    if (!lane?.isLimited || lane.isDue || lane.nextDueMs <= nowMs) return false;
    return lane.nextDueMs <= (nowMs < latestMs ? latestMs + 1_000 : nowMs + 200);
  }

  #isClaimable(tenant: SimulatedTenant, job: JobState, claim: Claim): boolean {
    if (job.leasedBy !== null || job.runAtMs > this.#state.nowMs) return false;
    if (claim.jobId !== undefined && claim.jobId !== job.jobId) return false;
    if (!claim.pipelines.includes(job.pipeline)) return false;
    // A kickoff takes its job either way.
    if (claim.jobId === undefined && (claim.struck === true) !== job.struckBy.length > 0) return false;
    if (isWorkspaceFull(tenant, job)) return false;
    if (job.status === 'failed') return !isHeldBack(tenant, job);
    return job.status === 'queued' || job.status === 'running' || job.cleanupOpen;
  }

  #checkLimits(claim: Claim, claimed: readonly Claimed[]): void {
    for (const tenantId of new Set(claimed.map((job) => job.tenantId))) {
      const tenant = this.#state.tenants.get(tenantId);
      // A lease that has run out takes no room.
      const isLive = ({ leasedBy, leaseExpiresAtMs }: JobState) =>
        leasedBy !== null && (leaseExpiresAtMs ?? 0) > this.#state.nowMs;
      const leases = tenant?.jobs.filter(isLive).length ?? 0;
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
