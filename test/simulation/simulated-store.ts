import { statesBefore } from '../../src/kernel/jobs/transitions.ts';
import type { JobStatus, Lease } from '../../src/kernel/jobs/types.ts';
import {
  type Claim,
  type Claimed,
  type ControlMove,
  type GuardedBy,
  type JobKey,
  type JobState,
  type JobStore,
  leaseMs,
  type Made,
  type Refused,
  type Renewed,
  type Rescued,
  type Settle,
  type Settled,
  type Snapshot,
  type SubjectJob,
  type TenantLimits,
} from './job-store.ts';
import { claimJobs } from './simulated-claim.ts';
import { changeJob, listLanes, noteRoom, noteWork, tenantOf } from './simulated-lanes.ts';
import { rescueJobs } from './simulated-rescue.ts';
import {
  type Breakage,
  giveBack,
  isActive,
  isSameSubject,
  moveJob,
  moveOf,
  type SimulatedState,
  type SimulatedTenant,
  settledStatus,
} from './simulated-state.ts';

const statesBeforeControl: Record<ControlMove, readonly JobStatus[]> = {
  pause: statesBefore('pause'),
  resume: statesBefore('resume'),
  cancel: statesBefore('cancel'),
};

/** What the kernel's SQL does, in memory, one call after the other, by a clock that only the caller turns. */
export class SimulatedStore implements JobStore {
  readonly state: SimulatedState;

  constructor({ breakage, lingers = false }: { breakage?: Breakage | undefined; lingers?: boolean } = {}) {
    this.state = {
      nowMs: 0,
      jobs: [],
      jobById: new Map(),
      tenants: new Map(),
      workers: new Map(),
      locks: new Set(),
      breakage,
      lingers,
    };
  }

  addTenant(tenantId: string, limits: TenantLimits = {}): void {
    this.state.tenants.set(tenantId, { tenantId, limits, jobs: [], lanes: new Map() });
  }

  setLimits(tenantId: string, limits: TenantLimits): void {
    const tenant = this.#tenant(tenantId);
    const isChange = JSON.stringify(tenant.limits) !== JSON.stringify(limits);
    tenant.limits = limits;
    if (isChange) noteRoom(this.state, tenant);
  }

  turnClock(byMs: number): void {
    this.state.nowMs += byMs;
  }

  /** Brings a waiting retry of the subject forward; otherwise creates a job, unless one is active. */
  dispatch(job: SubjectJob): Made | Refused {
    const tenant = this.#tenant(job.tenantId);
    const active = this.#activeOf(tenant, job);
    if (active) return refuseBeside(active);
    const retry = tenant.jobs.find((other) => other.status === 'failed' && isSameSubject(other, job));
    if (!retry) return this.#insert(job, null);
    const allowedMs =
      this.state.breakage === 'retry after ignored'
        ? this.state.nowMs
        : Math.max(this.state.nowMs, retry.notBeforeMs ?? this.state.nowMs);
    changeJob(this.state, retry, () => {
      retry.runAtMs = Math.min(retry.runAtMs, allowedMs);
    });
    retry.nextRetryAtMs = Math.min(retry.nextRetryAtMs ?? allowedMs, allowedMs);
    retry.events.push('job.retry');
    return { jobId: retry.jobId };
  }

  requeue({ tenantId, jobId }: JobKey): Made | Refused {
    const dead = this.#find(tenantId, jobId);
    if (!dead) return { refused: 'job_not_found' };
    if (dead.status !== 'dead_letter') return { refused: 'not_a_dead_letter' };
    const tenant = this.#tenant(tenantId);
    if (tenant.jobs.some(({ requeuedFrom }) => requeuedFrom === jobId))
      return { refused: 'already_requeued' };
    const active = this.#activeOf(tenant, dead);
    return active ? refuseBeside(active) : this.#insert(dead, jobId);
  }

  control(move: ControlMove, { tenantId, jobId }: JobKey): { status: JobStatus } | Refused {
    const job = this.#find(tenantId, jobId);
    if (!job) return { refused: 'job_not_found' };
    const needsCleanup = job.pipeline === 'probe';
    // A waiting retry is not active; pausing or cleaning up makes it so, which only one job of a subject may be.
    const becomesActive = move === 'pause' || (move === 'cancel' && needsCleanup);
    if (becomesActive && job.status === 'failed') {
      const active = this.#activeOf(this.#tenant(tenantId), job);
      if (active) return refuseBeside(active);
    }
    if (!statesBeforeControl[move].includes(job.status)) return { refused: 'illegal_transition' };
    changeJob(this.state, job, () => {
      if (move === 'pause') moveJob(job, move, 'paused');
      if (move === 'resume') moveJob(job, move, resumedStatus(job));
      if (move === 'cancel') this.#cancel(job, needsCleanup);
    });
    job.events.push({ pause: 'job.paused', resume: 'job.resumed', cancel: 'job.canceled' }[move]);
    return { status: job.status };
  }

  claim(request: Claim): Claimed[] {
    return claimJobs(this.state, request);
  }

  save(lease: Lease, step: number): boolean {
    const job = this.#lockIfHeld(lease);
    if (!job) return false;
    writeStep(job, step);
    job.struckBy = [];
    job.leaseExpiresAtMs = this.state.nowMs + leaseMs;
    return true;
  }

  settle({ outcome, step, ...lease }: Settle): Settled | null {
    const job = this.#lockIfHeld(lease);
    if (!job) return null;
    changeJob(this.state, job, () => this.#endSlice(job, outcome, step));
    return { status: job.status, cleanupOpen: job.cleanupOpen };
  }

  #endSlice(job: JobState, outcome: Settle['outcome'], step: number | undefined): void {
    const { nowMs } = this.state;
    const wasCanceled = job.status === 'canceled';
    const failure = outcome.type === 'retry' || outcome.type === 'dead' ? outcome.failure : null;
    const dueMs = nowMs + ('delayMs' in outcome ? Math.max(0, Math.round(outcome.delayMs)) : 0);
    if (step !== undefined) writeStep(job, step);
    moveJob(job, moveOf(job.status, outcome.type), settledStatus(job.status, outcome.type));
    job.cleanupOpen = job.cleanupOpen && outcome.type !== 'done';
    job.runAtMs = dueMs;
    job.nextRetryAtMs = outcome.type === 'retry' ? dueMs : null;
    job.notBeforeMs = outcome.type === 'retry' && outcome.notBefore ? dueMs : null;
    if (outcome.type === 'retry') job.retryCount += 1;
    job.struckBy = [];
    giveBack(job);
    if (!wasCanceled) {
      if (failure) job.errorCode = failure.code;
      if (outcome.type === 'done') job.errorCode = null;
      job.finishedAtMs = outcome.type === 'done' || outcome.type === 'dead' ? nowMs : null;
      if (this.state.breakage !== 'settle without event') logOutcome(job, outcome.type);
    }
  }

  release(workerId: string, leases: Lease[]): number {
    const ours = leases.filter((lease) => this.#isOurs(workerId, lease));
    for (const { jobId } of ours) {
      const job = this.#get(jobId);
      changeJob(this.state, job, () => giveBack(job));
    }
    return ours.length;
  }

  renew(workerId: string, leases: Lease[]): Renewed[] {
    const ours = leases.filter((lease) => this.#isOurs(workerId, lease)).map(({ jobId }) => this.#get(jobId));
    for (const job of ours) job.leaseExpiresAtMs = this.state.nowMs + leaseMs;
    return ours.map(({ jobId, leaseEpoch, status }) => ({ jobId, leaseEpoch, status }));
  }

  lock(workerId: string): void {
    this.state.locks.add(workerId);
  }

  unlock(workerId: string): void {
    this.state.locks.delete(workerId);
  }

  register(workerId: string, guardedBy: GuardedBy): void {
    const row = { workerId, guardedBy, heartbeatAtMs: this.state.nowMs, lostAtMs: null };
    this.state.workers.set(workerId, row);
    this.#takeStrikesBack(workerId);
  }

  beat(workerId: string): { wasLost: boolean } | null {
    const worker = this.state.workers.get(workerId);
    if (!worker) return null;
    const wasLost = worker.lostAtMs !== null;
    worker.heartbeatAtMs = this.state.nowMs;
    worker.lostAtMs = null;
    if (wasLost) this.#takeStrikesBack(workerId);
    return { wasLost };
  }

  deregister(workerId: string): void {
    this.state.workers.delete(workerId);
  }

  rescue(rescue: { maxStrikes: number; silentMs: number; rejoinMs: number }): Rescued {
    return rescueJobs(this.state, rescue);
  }

  snapshot(): Snapshot {
    const { nowMs, jobs, workers } = this.state;
    return {
      nowMs,
      jobs: structuredClone(jobs),
      workers: structuredClone([...workers.values()]).sort((a, b) => (a.workerId < b.workerId ? -1 : 1)),
      lanes: listLanes(this.state),
    };
  }

  /**
   * The fence: a paused job lets its current slice commit, a canceled one only its cleanup, a newer epoch or another
   * worker none.
   */
  #lockIfHeld({ jobId, leaseEpoch, leasedBy }: Lease): JobState | null {
    const job = this.#get(jobId);
    const { breakage } = this.state;
    const isCurrent = job.leaseEpoch === leaseEpoch || breakage === 'no epoch check';
    const isHolder = job.leasedBy === leasedBy || breakage === 'no worker check';
    const takesWrites = job.status === 'running' || job.status === 'paused' || job.cleanupOpen;
    return isCurrent && isHolder && job.leasedBy !== null && takesWrites ? job : null;
  }

  #takeStrikesBack(workerId: string): void {
    for (const job of this.state.jobs) {
      if (!job.struckBy.includes(workerId)) continue;
      changeJob(this.state, job, () => {
        job.struckBy = job.struckBy.filter((id) => id !== workerId);
      });
    }
  }

  #isOurs(workerId: string, { jobId, leaseEpoch }: Lease): boolean {
    const job = this.#get(jobId);
    return job.leasedBy === workerId && job.leaseEpoch === leaseEpoch;
  }

  #cancel(job: JobState, needsCleanup: boolean): void {
    moveJob(job, 'cancel', 'canceled');
    giveBack(job);
    job.cleanupOpen = needsCleanup && job.startedAtMs !== null;
    job.leaseEpoch += 1;
    job.runAtMs = this.state.nowMs;
    job.nextRetryAtMs = null;
    job.errorCode = 'canceled';
    job.finishedAtMs = this.state.nowMs;
  }

  #insert({ tenantId, pipeline, subjectId, workspaceId }: SubjectJob, requeuedFrom: string | null): Made {
    const jobId = `job-${String(this.state.jobs.length + 1).padStart(4, '0')}`;
    const job: JobState = {
      jobId,
      tenantId,
      pipeline,
      subjectId,
      workspaceId: workspaceId ?? null,
      status: 'queued',
      runAtMs: this.state.nowMs,
      nextRetryAtMs: null,
      notBeforeMs: null,
      retryCount: 0,
      leaseEpoch: 0,
      leasedBy: null,
      leaseExpiresAtMs: null,
      struckBy: [],
      cleanupOpen: false,
      requeuedFrom,
      errorCode: null,
      startedAtMs: null,
      finishedAtMs: null,
      step: 0,
      counter: 0,
      effects: [],
      events: requeuedFrom === null ? ['job.queued'] : ['job.queued', 'job.requeued'],
    };
    this.state.jobs.push(job);
    this.state.jobById.set(jobId, job);
    this.#tenant(tenantId).jobs.push(job);
    noteWork(this.state, job);
    return { jobId };
  }

  #activeOf(
    { jobs }: SimulatedTenant,
    subject: Pick<JobState, 'pipeline' | 'subjectId'>,
  ): JobState | undefined {
    if (this.state.breakage === 'no active check') return undefined;
    return jobs.find((job) => isSameSubject(job, subject) && isActive(job));
  }

  #find(tenantId: string, jobId: string): JobState | null {
    const job = this.state.jobById.get(jobId);
    return job?.tenantId === tenantId ? job : null;
  }

  #get(jobId: string): JobState {
    const job = this.state.jobById.get(jobId);
    if (!job) throw new Error(`The simulated store has no job ${jobId}`);
    return job;
  }

  #tenant(tenantId: string): SimulatedTenant {
    return tenantOf(this.state, { tenantId });
  }
}

function refuseBeside(active: JobState): Refused {
  return { refused: active.cleanupOpen ? 'cleanup_in_progress' : 'job_already_active' };
}

function resumedStatus({ nextRetryAtMs, leasedBy, startedAtMs }: JobState): JobStatus {
  if (nextRetryAtMs !== null && leasedBy === null) return 'failed';
  return startedAtMs === null ? 'queued' : 'running';
}

function writeStep(job: JobState, step: number): void {
  job.step = step;
  job.counter = step;
  job.effects.push(step);
}

function logOutcome(job: JobState, outcome: Settle['outcome']['type']): void {
  if (outcome === 'done') job.events.push('job.completed');
  if (outcome === 'retry') job.events.push('job.failed', 'job.retry');
  if (outcome === 'dead') job.events.push('job.dead_lettered');
}
