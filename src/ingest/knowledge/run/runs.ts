import {
  type BeforeCommit,
  type cancel,
  dispatchIn,
  type JobsDeps,
  type pause,
  type resume,
} from '../../../kernel/jobs/dispatch/service.ts';
import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { findJob } from '../../../kernel/jobs/store.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import type { Database, TenantView, Tx } from '../../../lib/postgres/db.ts';
import { countExpected, type LastRun, listLastRuns, readClock } from '../bases/overview-store.ts';
import { knowledgeErrors } from '../errors.ts';
import { hidesFrom } from '../labels/store.ts';
import { findKb } from '../store.ts';
import { type KnowledgeBase, pipelineName } from '../types.ts';
import { checkpointOf } from './checkpoint.ts';
import { type RunReport, reportRun, withoutContents } from './report.ts';

/** The id of a job, or of a knowledge base, whose last run is meant. */
export interface RunName {
  tenantId: string;
  id: string;
}

export interface StartWish {
  createdBy: string;
  ipAddress: string | null;
  budget: { maxTokens?: number | undefined; maxCost?: number | undefined };
}

interface NamedRun {
  kbId: string;
  job: Job | null;
}

const maxRetries = 5;

/** Creates the job of a run. A run that is active or waits for its next attempt is a 409 with its id. */
export async function startRun(
  deps: JobsDeps,
  name: RunName,
  wish: StartWish,
  beforeCommit?: BeforeCommit<Job>,
): Promise<Job> {
  await deps.quotas.assertRoom(name.tenantId);
  return deps.db.tenant(name.tenantId, async (tx) => {
    const { kbId, job: last } = await findNamed(tx, name);
    // The kernel would bring a waiting retry forward and drop the budget of this request.
    if (last?.status === 'failed' && last.subjectId === kbId) throw stillActive(last);
    const job = await dispatchIn(deps, tx, name.tenantId, {
      pipeline: pipelineName,
      subjectId: kbId,
      maxRetries,
      createdBy: wish.createdBy,
      userId: wish.createdBy,
      ipAddress: wish.ipAddress,
      payload: { kbId, budget: wish.budget },
    });
    await beforeCommit?.(tx, job);
    return job;
  });
}

function stillActive(job: Job): Error {
  return jobErrors.raise.job_already_active(
    `Run ${job.jobId} of ${job.subjectId} waits for its next attempt at ${job.nextRetryAt?.toISOString()}`,
    { details: { active_job_id: job.jobId, status: job.status } },
  );
}

/** Pauses, resumes or cancels a run. */
export async function changeRun(
  deps: JobsDeps,
  name: RunName,
  change: typeof pause | typeof resume | typeof cancel,
): Promise<RunReport> {
  const { kbId, job } = await deps.db.tenant(name.tenantId, (tx) => findNamed(tx, name));
  if (!job) throw knowledgeErrors.raise.knowledge_run_missing(`Knowledge base ${kbId} has never run`);
  await change(deps, { tenantId: name.tenantId, jobId: job.jobId });
  return getRun(deps, { tenantId: name.tenantId, id: job.jobId });
}

/** Whoever may not see all documents is not told how many there are, nor which is being read. */
export function getRun({ db }: { db: Database }, name: RunName & TenantView): Promise<RunReport> {
  return db.tenant(name.tenantId, async (tx) => {
    const { kbId, job } = await findNamed(tx, name);
    const now = await readClock(tx);
    // Clients poll this. Counting is skipped if the run knows the number.
    const isCounted = job !== null && checkpointOf(job).docs_expected !== null;
    const known = isCounted ? 0 : await countExpected(tx, { tenantId: name.tenantId, kbId });
    const report = reportRun(kbId, job, { now, known });
    const { tenantId, groups } = name;
    const isHidden = groups !== undefined && (await hidesFrom(tx, { tenantId, kbId }, groups));
    return isHidden ? withoutContents(report) : report;
  });
}

/** By kb_id, without knowledge bases that never ran. */
export async function findLastRuns(
  { db }: { db: Database },
  tenantId: string,
  kbs: readonly KnowledgeBase[],
): Promise<Map<string, LastRun>> {
  if (kbs.length === 0) return new Map();
  const kbIds = kbs.map(({ kbId }) => kbId);
  const runs = await db.tenant(tenantId, (tx) => listLastRuns(tx, { tenantId, kbIds }));
  return new Map(runs.map((run) => [run.kbId, run]));
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A knowledge base may have the id of a job; then the knowledge base is meant. */
async function findNamed(tx: Tx, { tenantId, id }: RunName): Promise<NamedRun> {
  const kb = await findKb(tx, { tenantId, kbId: id });
  if (kb) {
    const [last] = await listLastRuns(tx, { tenantId, kbIds: [kb.kbId] });
    return { kbId: kb.kbId, job: last ? await findJob(tx, { tenantId, jobId: last.jobId }) : null };
  }
  const job = uuid.test(id) ? await findJob(tx, { tenantId, jobId: id }) : null;
  if (job?.pipeline === pipelineName) return { kbId: kbIdOf(job), job };
  throw knowledgeErrors.raise.knowledge_base_not_found(
    `There is no knowledge base and no run of one with the id ${JSON.stringify(id.slice(0, 200))}`,
  );
}

/** The subject of a run is its knowledge base; the subject of a hand-off is the reference. */
function kbIdOf({ payload, subjectId }: Job): string {
  return typeof payload.kbId === 'string' ? payload.kbId : subjectId;
}
