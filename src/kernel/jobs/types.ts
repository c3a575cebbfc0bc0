import type { Tx } from '../../lib/postgres/db.ts';

/**
 * `running` = started and not ended; a running job without a lease waits for its `runAt`.
 * `failed` = will be retried at `nextRetryAt`.
 */
export const jobStatuses = [
  'queued',
  'running',
  'paused',
  'failed',
  'dead_letter',
  'success',
  'canceled',
] as const;
export type JobStatus = (typeof jobStatuses)[number];

export interface JobId {
  tenantId: string;
  jobId: string;
}

export interface Job extends JobId {
  pipeline: string;
  subjectId: string;
  workspaceId: string | null;
  status: JobStatus;
  stage: string | null;
  runAt: Date;
  nextRetryAt: Date | null;
  retryCount: number;
  maxRetries: number;
  runId: string | null;
  correlationId: string;
  errorCode: string | null;
  errorMessage: string | null;
  payload: Record<string, unknown>;
  checkpoint: Record<string, unknown>;
  counters: Record<string, number>;
  leaseEpoch: number;
  leasedBy: string | null;
  leaseExpiresAt: Date | null;
  heartbeatAt: Date | null;
  struckBy: string[];
  cleanupOpen: boolean;
  requeuedFrom: string | null;
  /** Never leased: slices run side by side, and the fence is on what they work on. */
  shared: boolean;
  connectorId: string | null;
  externalAccountId: string | null;
  userId: string | null;
  fileId: string | null;
  createdBy: string;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  updatedAt: Date;
}

/**
 * What a worker holds while it advances a job: which job, and the epoch and the worker that every write has to show.
 * The epoch alone is not enough: a failover that loses a claim hands it out again.
 */
export interface Lease extends JobId {
  leaseEpoch: number;
  leasedBy: string | null;
}

export interface ClaimedJob extends Job {
  /** The status before the claim: a queued job, a due retry, a started job, or a canceled one to clean up after. */
  was: 'queued' | 'failed' | 'running' | 'canceled';
}

export interface NewJob
  extends Pick<Job, 'pipeline' | 'subjectId' | 'maxRetries' | 'createdBy'>,
    Partial<Pick<Job, 'workspaceId' | 'stage' | 'correlationId' | 'payload' | 'runAt' | 'shared'>>,
    Partial<Pick<Job, 'connectorId' | 'externalAccountId' | 'userId' | 'fileId'>> {
  ipAddress?: string | null;
}

export interface JobFailure {
  code: string;
  message: string;
  /** The class in the retry table; a label of `sluice_retries_total`. */
  class: string;
}

/** How a slice ended. */
export type Outcome =
  /** More to do: the job goes to the end of the queue. */
  | { type: 'continue' }
  /** Try again later; no attempt is used. */
  | { type: 'wait'; delayMs: number }
  | { type: 'done'; result?: Record<string, unknown> }
  | { type: 'retry'; failure: JobFailure; delayMs: number; notBefore?: boolean }
  | { type: 'dead'; failure: JobFailure };

/** What a slice leaves behind besides its outcome; what is absent stays as it was. */
export interface SliceState {
  checkpoint?: Record<string, unknown>;
  counters?: Record<string, number>;
  stage?: string;
  runId?: string | null;
}

export interface SliceResult extends SliceState {
  outcome: Outcome;
  /** Domain rows of this slice: written in the transaction that also moves checkpoint, counters and status. */
  effects?: (tx: Tx) => Promise<void>;
}

/** What a pipeline's code gets to work with. */
export interface Slice {
  readonly job: Job;
  /** Aborted when the lease is lost or the worker must stop: drop the work, make no further outside call. */
  readonly signal: AbortSignal;
  /** True when the job was paused or the worker is draining: end the slice where it can continue later. */
  shouldYield(): boolean;
  /** Throws LeaseLost unless the lease is still ours. Call before every outside call: fencing cannot undo a POST. */
  assertHeld(): Promise<void>;
  /**
   * A fenced transaction in the middle of a slice. `work` gets the job as it is now: after a COMMIT whose response
   * was lost, its checkpoint tells whether the transaction took effect. The state may depend on what `work` did.
   */
  transaction<T>(
    work: (tx: Tx, job: Job) => Promise<T>,
    state?: SliceState | ((result: T) => SliceState),
  ): Promise<T>;
}

/** What a slice of a shared job gets: no lease, because others work on the same job at the same time. */
export interface Turn {
  readonly job: Job;
  readonly workerId: string;
  readonly signal: AbortSignal;
  /** True when the worker is draining or was cut off: make no further call, end soon, give back what is not done. */
  shouldYield(): boolean;
  /**
   * For a turn that from now on waits more than it works, for a provider: its slot goes to other work, and its job is
   * not taken a second time meanwhile. False when so many wait here already that it has to keep its slot.
   */
  leaveSlot?(): boolean;
}

export interface TurnResult {
  /** How many items this turn finished. */
  processed: number;
  /** `idle`: there is nothing to claim at the moment, and the job's `runAt` says when to try again. */
  state: 'more' | 'idle' | 'finished';
}

/** A kind of ingestion: how its jobs advance. */
export interface Pipeline {
  readonly name: string;
  readonly maxRetries: number;
  advance(slice: Slice): Promise<SliceResult>;
  /** For shared jobs, instead of `advance`. */
  takeTurn?(turn: Turn): Promise<TurnResult>;
  /** Slices of a canceled job; without it a canceled job needs no cleanup. */
  cleanUp?(slice: Slice): Promise<SliceResult>;
  /** In the transaction that cancels the job, its row locked; throws when it cannot be canceled any more. */
  onCancel?(tx: Tx, job: Job): Promise<void>;
  /** Whether the transaction that ends this job may create the next one of its subject, for what has waited. */
  mayBeFollowed?(job: Job): boolean;
  /** Why a dead letter of this pipeline cannot be requeued, as a sentence; absent when it can. */
  readonly requeueRefusal?: string;
  /** Turns what `advance` threw into a retry or a dead letter. */
  onError(error: unknown, job: Job): Outcome;
  /** How much of the job remains, if it is known; a kickoff reports it. */
  remaining?(job: Job): number | null | Promise<number | null>;
}

export interface Settlement extends Lease {
  outcome: Outcome;
  state: SliceState;
  /** Triggers follow the job's last move, so it is moved to the ended ones later. */
  isFollowed?: boolean;
}

export interface SettledJob extends JobId {
  status: JobStatus;
  cleanupOpen: boolean;
}
