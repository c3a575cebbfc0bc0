import type { JobStatus, Lease, Outcome } from '../../src/kernel/jobs/types.ts';

/**
 * What the kernel asks of its database, as one seam with two implementations: the simulated one, which runs without a
 * database and by a clock of its own, and the real one. One suite runs over both, so that the simulation cannot drift.
 * Every call is one transaction. Jobs, workers and workspaces have short names; times are virtual milliseconds.
 */
export interface JobStore {
  addTenant(tenantId: string, limits?: TenantLimits): Maybe<void>;
  setLimits(tenantId: string, limits: TenantLimits): Maybe<void>;
  /** Turns the clock, in either direction. */
  turnClock(byMs: number): Maybe<void>;

  dispatch(job: SubjectJob): Maybe<Made | Refused>;
  requeue(key: JobKey): Maybe<Made | Refused>;
  control(move: ControlMove, key: JobKey): Maybe<{ status: JobStatus } | Refused>;

  claim(request: Claim): Maybe<Claimed[]>;
  /** A fenced transaction in the middle of a slice; returns whether the lease was still held. */
  save(lease: Lease, step: number): Maybe<boolean>;
  /** The fenced transaction that ends a slice; returns the job's new status, or null when it was refused. */
  settle(settlement: Settle): Maybe<Settled | null>;
  release(workerId: string, leases: Lease[]): Maybe<number>;
  renew(workerId: string, leases: Lease[]): Maybe<Renewed[]>;

  /** The guard connection's lock: taken and freed by the connection, not by a transaction. */
  lock(workerId: string): Maybe<void>;
  unlock(workerId: string): Maybe<void>;
  register(workerId: string, guardedBy: GuardedBy): Maybe<void>;
  /** Null when the worker is not on the list. */
  beat(workerId: string): Maybe<{ wasLost: boolean } | null>;
  deregister(workerId: string): Maybe<void>;
  rescue(rescue: { maxStrikes: number; silentMs: number; rejoinMs: number }): Maybe<Rescued>;

  snapshot(): Maybe<Snapshot>;
}

/** The product's default; a lease is renewed by every heartbeat and by every write in the middle of a slice. */
export const leaseMs = 10_000;

export type Maybe<T> = T | Promise<T>;

export interface TenantLimits {
  concurrent_jobs?: number;
  concurrent_jobs_per_workspace?: number;
}

/** Canceled jobs of `probe` have to be cleaned up after, those of `plain` not. */
export type PipelineName = 'probe' | 'plain';
export const pipelineNames: readonly PipelineName[] = ['probe', 'plain'];

export interface SubjectJob {
  tenantId: string;
  pipeline: PipelineName;
  subjectId: string;
  workspaceId?: string | null;
}

export interface JobKey {
  tenantId: string;
  jobId: string;
}

export type ControlMove = 'pause' | 'resume' | 'cancel';
export const controlMoves: readonly ControlMove[] = ['pause', 'resume', 'cancel'];
export type GuardedBy = 'lock' | 'expiry';

export interface Made {
  jobId: string;
}

export interface Refused {
  refused: string;
}

export interface Claim {
  workerId: string;
  pipelines: readonly PipelineName[];
  limit: number;
  tenantLimit: number;
  tenantId?: string;
  jobId?: string;
  struck?: boolean;
  /** Jobs that are at work in this process: left out, because others come first. */
  spared?: readonly string[];
  /**
   * Among jobs that came due in the same moment the database takes any. A store that is compared with another one is
   * told which those were; it takes them first, but only where the order leaves the choice.
   */
  prefer?: readonly string[];
  /**
   * A lane that had work a moment ago may stay in line with nothing to take: whether it does depends on the times of
   * earlier claims, which only save writes. A store that is compared with another one is told which lanes stayed. It
   * keeps them too, but only within a second of the last word of work.
   */
  lingering?: (lane: { tenantId: string; pipeline: PipelineName }) => boolean;
}

export interface Claimed extends Lease {
  was: JobStatus;
  status: JobStatus;
  retryCount: number;
  stepsDone: number;
}

export interface Settle extends Lease {
  outcome: Outcome;
  /** The step that the slice has done: becomes checkpoint and counter, and leaves one row behind. */
  step?: number;
}

export interface Settled {
  status: JobStatus;
  cleanupOpen: boolean;
}

export interface Renewed {
  jobId: string;
  leaseEpoch: number;
  status: JobStatus;
}

export interface Rescued {
  /** Workers that were found lost just now. */
  lost: string[];
  jobs: { jobId: string; status: string; cause: 'lock' | 'expiry'; struck: boolean }[];
  /** Whether a job waits that has to run alone. */
  hasStruck: boolean;
}

export interface JobState {
  jobId: string;
  tenantId: string;
  pipeline: PipelineName;
  subjectId: string;
  workspaceId: string | null;
  status: JobStatus;
  runAtMs: number;
  nextRetryAtMs: number | null;
  notBeforeMs: number | null;
  retryCount: number;
  leaseEpoch: number;
  leasedBy: string | null;
  leaseExpiresAtMs: number | null;
  struckBy: string[];
  cleanupOpen: boolean;
  requeuedFrom: string | null;
  errorCode: string | null;
  startedAtMs: number | null;
  finishedAtMs: number | null;
  step: number;
  counter: number;
  effects: number[];
  events: string[];
}

export interface WorkerState {
  workerId: string;
  guardedBy: GuardedBy;
  heartbeatAtMs: number;
  lostAtMs: number | null;
}

export interface Snapshot {
  nowMs: number;
  jobs: JobState[];
  workers: WorkerState[];
  lanes: LaneState[];
}

/** What a tenant has waiting in one pipeline. Lanes that are due take turns in the order of their pass. */
export interface LaneState {
  tenantId: string;
  pipeline: PipelineName;
  pass: number;
  isDue: boolean;
  /** When a lane that is not due joins the line, as far as is known; null for one that is due, or has no work. */
  nextDueMs: number | null;
}
