import { newId } from '../../../lib/ids.ts';
import type { Database, Tx } from '../../../lib/postgres/db.ts';
import { jobErrors } from '../errors.ts';
import type { TakenJob } from '../lease/claimer.ts';
import type { JobMetrics } from '../metrics.ts';
import type { PipelineRegistry } from '../pipeline-registry.ts';
import type { Seat } from '../run/worker.ts';
import {
  cancelJob,
  dispatchStatement,
  findActive,
  findJob,
  findRequeued,
  type JobFilter,
  listJobs,
  listRequeueable,
  lockJob,
  pauseJob,
  resumeJob,
} from '../store.ts';
import { type Move, statesBefore } from '../transitions.ts';
import type { Job, JobId, NewJob } from '../types.ts';
import type { WakeUp } from '../wake-up.ts';
import { insertJobs, type MadeJob } from './many-store.ts';
import type { Quotas } from './quotas.ts';

export interface JobsDeps {
  db: Database;
  registry: PipelineRegistry;
  wake: WakeUp;
  metrics: JobMetrics;
  quotas: Quotas;
  /** A free slot of this process, for a job that is about to be dispatched. */
  reserve?: () => Seat | null;
}

export type BeforeCommit<Result> = (tx: Tx, result: Result) => Promise<void>;

/** A job as its caller may see it: `ownerId` is given for members, who see only their own. */
export interface JobKey extends JobId {
  ownerId?: string | undefined;
}

const maxLooks = 5;

/**
 * Creates a job in the caller's transaction, together with the record that it is about. A retry that waits for the same
 * subject is brought forward instead. An active job causes a 409 that names it.
 */
export async function dispatchIn(deps: JobsDeps, tx: Tx, tenantId: string, job: NewJob): Promise<Job> {
  const made = { ...job, jobId: newId() };
  const first = await tx.find<Job>(dispatchStatement(tenantId, made));
  const dispatched = first ?? (await lookAgain(tx, tenantId, job));
  tx.afterCommit(() => announceDispatched(deps, dispatched));
  return dispatched;
}

/**
 * In a transaction of its own, in one round trip. With a free slot in this process the job starts here at once,
 * without a claim.
 */
export async function dispatch(deps: JobsDeps, tenantId: string, job: NewJob): Promise<Job> {
  await deps.quotas.assertRoom(tenantId);
  const seat = canBeHandedOver(deps, job) ? (deps.reserve?.() ?? null) : null;
  let taken: TakenJob | null = null;
  try {
    const askedAtMs = performance.now();
    const statement = dispatchStatement(tenantId, { ...job, jobId: newId() }, seat);
    const [made] = await deps.db.statement<Job>({ role: 'sluice_tenant', tenantId }, statement);
    if (!made) return await deps.db.tenant(tenantId, (tx) => dispatchIn(deps, tx, tenantId, job));
    if (seat && made.leasedBy === seat.workerId) taken = { job: { ...made, was: 'queued' }, askedAtMs };
    announceDispatched(deps, made);
    return made;
  } finally {
    if (taken) seat?.take(taken);
    else seat?.leave();
  }
}

/** A shared job is never leased; triggers have to see a followed one start. */
function canBeHandedOver({ registry }: JobsDeps, job: NewJob): boolean {
  const pipeline = registry.find(job.pipeline);
  return pipeline !== null && !pipeline.mayBeFollowed && !job.shared && job.runAt === undefined;
}

function announceDispatched({ wake, metrics }: JobsDeps, job: Job): void {
  wake.announce(...(job.leasedBy === null ? (['jobs', 'events'] as const) : (['events'] as const)));
  // A retry that was brought forward was counted when it was dispatched.
  if (job.status !== 'failed') metrics.jobsQueued.inc({ pipeline: job.pipeline });
}

/** They have no workspace, stage, connector or time of their own. */
export type ManyJob = Pick<
  NewJob,
  'pipeline' | 'subjectId' | 'maxRetries' | 'createdBy' | 'correlationId' | 'payload' | 'userId'
>;

/**
 * Creates many jobs in the caller's transaction, beside the records that they are about. Active subjects get
 * none: the caller decides what that means.
 */
export async function dispatchManyIn(
  deps: Pick<JobsDeps, 'wake' | 'metrics'>,
  tx: Tx,
  tenantId: string,
  jobs: readonly ManyJob[],
): Promise<MadeJob[]> {
  if (jobs.length === 0) return [];
  const pipelineOf = new Map(jobs.map(({ subjectId, pipeline }) => [subjectId, pipeline]));
  const made = await insertJobs(
    tx,
    tenantId,
    jobs.map((job) => ({ ...job, jobId: newId() })),
  );
  tx.afterCommit(() => {
    if (made.length > 0) deps.wake.announce('jobs', 'events');
    for (const { subjectId } of made) {
      deps.metrics.jobsQueued.inc({ pipeline: pipelineOf.get(subjectId) ?? '' });
    }
  });
  return made;
}

/** Between two statements the active job may have ended or failed: then the next try has another result. */
async function lookAgain(tx: Tx, tenantId: string, job: NewJob): Promise<Job> {
  for (let look = 1; look < maxLooks; look += 1) {
    const active = await findActive(tx, { ...job, tenantId });
    if (active) throw activeJob(active);
    const found = await tx.find<Job>(dispatchStatement(tenantId, { ...job, jobId: newId() }));
    if (found) return found;
  }
  throw jobErrors.raise.job_already_active(
    `The jobs of ${job.pipeline} ${job.subjectId} change too fast to tell which one is active; try again`,
  );
}

export async function getJob({ db }: Pick<JobsDeps, 'db'>, key: JobKey): Promise<Job> {
  return db.tenant(key.tenantId, (tx) => getJobIn(tx, key));
}

export function listJobsPage({ db }: Pick<JobsDeps, 'db'>, filter: JobFilter): Promise<Job[]> {
  return db.tenant(filter.tenantId, (tx) => listJobs(tx, filter));
}

export function pause(deps: JobsDeps, key: JobKey): Promise<Job> {
  return move(deps, key, 'pause', async (tx, from, job) => {
    await refuseBesideActive(tx, job);
    return pauseJob(tx, { ...key, from });
  });
}

export function resume(deps: JobsDeps, key: JobKey): Promise<Job> {
  return move(deps, key, 'resume', (tx, from) => resumeJob(tx, { ...key, from }));
}

export function cancel(deps: JobsDeps, key: JobKey): Promise<Job> {
  return move(deps, key, 'cancel', async (tx, from, job) => {
    const pipeline = deps.registry.find(job.pipeline);
    const needsCleanup = pipeline?.cleanUp !== undefined;
    if (needsCleanup) await refuseBesideActive(tx, job);
    if (pipeline?.onCancel && from.includes(job.status)) {
      await lockJob(tx, job);
      await pipeline.onCancel(tx, await getJobIn(tx, key));
    }
    return cancelJob(tx, { ...key, from, needsCleanup });
  });
}

/** Creates a new job from a dead letter, once. */
export async function requeue(
  deps: JobsDeps,
  { tenantId, jobId }: JobKey,
  options: { requestedBy: string; correlationId?: string; beforeCommit?: BeforeCommit<Job> },
): Promise<Job> {
  return deps.db.tenant(tenantId, async (tx) => {
    const made = await requeueIn(deps, tx, { tenantId, jobId, ...options });
    await options.beforeCommit?.(tx, made);
    return made;
  });
}

export interface BulkRequeueReport {
  requeued: { jobId: string; requeuedFrom: string }[];
  skipped: { jobId: string; code: string }[];
}

const skippable = ['job_already_active', 'already_requeued', 'cleanup_in_progress', 'requeue_refused'];

/** Requeues what matches, each in its own transaction: one that cannot be requeued does not stop the others. */
export async function requeueMatching(
  deps: JobsDeps,
  filter: { tenantId: string; errorCode?: string | undefined; pipeline?: string | undefined; limit: number },
  requestedBy: string,
): Promise<BulkRequeueReport> {
  const { tenantId } = filter;
  const dead = await deps.db.tenant(tenantId, (tx) => listRequeueable(tx, filter));
  const report: BulkRequeueReport = { requeued: [], skipped: [] };
  for (const { jobId } of dead) {
    try {
      const made = await requeue(deps, { tenantId, jobId }, { requestedBy });
      report.requeued.push({ jobId: made.jobId, requeuedFrom: jobId });
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (typeof code !== 'string' || !skippable.includes(code)) throw error;
      report.skipped.push({ jobId, code });
    }
  }
  return report;
}

async function requeueIn(
  deps: JobsDeps,
  tx: Tx,
  request: { tenantId: string; jobId: string; requestedBy: string; correlationId?: string },
): Promise<Job> {
  const dead = await getJobIn(tx, request);
  if (dead.status !== 'dead_letter') {
    throw jobErrors.raise.not_a_dead_letter(
      `Job ${dead.jobId} is ${dead.status}; only a dead letter can be requeued`,
      {
        details: { status: dead.status },
      },
    );
  }
  const refusal = deps.registry.find(dead.pipeline)?.requeueRefusal;
  if (refusal !== undefined) throw jobErrors.raise.requeue_refused(refusal);
  await lockJob(tx, dead);
  await refuseSecondRequeue(tx, dead);
  const { runAt: _before, ...like } = dead;
  const made = await tx.find<Job>(
    dispatchStatement(dead.tenantId, {
      ...like,
      jobId: newId(),
      stage: null,
      createdBy: request.requestedBy,
      correlationId: request.correlationId ?? dead.correlationId,
      requeuedFrom: dead.jobId,
    }),
  );
  if (!made) {
    const active = await findActive(tx, dead);
    throw active
      ? activeJob(active)
      : jobErrors.raise.job_already_active('Another job of this subject just ended');
  }
  tx.afterCommit(() => {
    deps.wake.announce('jobs', 'events');
    deps.metrics.jobsQueued.inc({ pipeline: made.pipeline });
  });
  return made;
}

async function refuseSecondRequeue(tx: Tx, dead: Job): Promise<void> {
  const earlier = await findRequeued(tx, dead);
  if (!earlier) return;
  throw jobErrors.raise.already_requeued(`Dead letter ${dead.jobId} was requeued as job ${earlier.jobId}`, {
    details: { requeued_as: earlier.jobId },
  });
}

async function move(
  deps: JobsDeps,
  key: JobKey,
  name: Move,
  change: (tx: Tx, from: Job['status'][], job: Job) => Promise<Job | null>,
): Promise<Job> {
  const from = statesBefore(name);
  return deps.db.tenant(key.tenantId, async (tx) => {
    const after = await change(tx, from, await getJobIn(tx, key)).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== '23505') throw error;
      throw jobErrors.raise.job_already_active(
        `Another job of job ${key.jobId}'s subject just became active`,
      );
    });
    if (!after) throw illegalMove(name, await getJobIn(tx, key));
    tx.afterCommit(() => deps.wake.announce('jobs', 'events'));
    return after;
  });
}

/** A waiting retry is not active. Pausing it or cleaning up makes it active, and only one job of a subject may be. */
async function refuseBesideActive(tx: Tx, job: Job): Promise<void> {
  const active = job.status === 'failed' ? await findActive(tx, job) : null;
  if (active) throw activeJob(active);
}

async function getJobIn(tx: Tx, key: JobKey): Promise<Job> {
  const job = await findJob(tx, key);
  if (job) return job;
  throw jobErrors.raise.job_not_found(`There is no job ${key.jobId}`);
}

const targetOf: Partial<Record<Move, string>> = { pause: 'paused', resume: 'running', cancel: 'canceled' };

function illegalMove(name: Move, job: Job): Error {
  const target = targetOf[name] ?? name;
  return jobErrors.raise.illegal_transition(
    `Job ${job.jobId} is ${job.status} and cannot become ${target}; ` +
      `${name} is possible from ${statesBefore(name).join(', ')}`,
    { details: { from: job.status, to: target } },
  );
}

function activeJob(active: Job): Error {
  const details = { active_job_id: active.jobId, status: active.status };
  if (active.cleanupOpen) {
    return jobErrors.raise.cleanup_in_progress(
      `Job ${active.jobId} of ${active.pipeline} ${active.subjectId} was canceled and is still being cleaned up`,
      { details },
    );
  }
  return jobErrors.raise.job_already_active(
    `${active.pipeline} ${active.subjectId} has the active job ${active.jobId} (${active.status})`,
    { details },
  );
}
