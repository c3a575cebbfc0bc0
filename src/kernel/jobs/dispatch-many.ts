import { newId } from '../../lib/ids.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { insertJobs, type MadeJob } from './many-store.ts';
import type { JobsDeps } from './service.ts';
import type { NewJob } from './types.ts';

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
