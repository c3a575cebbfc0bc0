import { afterAll, beforeAll } from 'vitest';
import { cancel, dispatch, type JobsDeps } from '../../src/kernel/jobs/dispatch/service.ts';
import type { Job } from '../../src/kernel/jobs/types.ts';
import { newTenant, type TestDatabase } from '../support/worlds/database.ts';
import { testKernel } from '../support/worlds/kernel.ts';
import { type ProbeStep, probeTable } from '../support/worlds/probe-pipeline.ts';
import { type Fleet, openFleet } from './worker-fleet.ts';

export interface FleetOnDatabase {
  readonly fleet: Fleet;
  /** Dispatches one job, of a new tenant unless one is given. */
  dispatch(steps: ProbeStep[], tenantId?: string): Promise<Job>;
  cancel(job: Job): Promise<Job>;
  statusesOf(jobs: Job[]): Promise<string[]>;
  /** The worker that has the job, or null. */
  holderOf(job: Job): Promise<string | null>;
  rescuesOf(job: Job): Promise<{ cause: string; workerId: string }[]>;
  /** The steps whose effects are in the database, in order. */
  stepsOf(job: Job): Promise<number[]>;
}

/** Worker processes on the database of a test file; the processes end with the file. */
export function useFleet(database: TestDatabase): FleetOnDatabase {
  let fleet: Fleet | undefined;
  let deps: JobsDeps | undefined;
  beforeAll(async () => {
    await database.owner(probeTable);
    fleet = await openFleet();
    deps = testKernel(database);
  });
  afterAll(() => fleet?.close());
  const present = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('The fleet is available only after beforeAll has run');
    return value;
  };
  return {
    get fleet() {
      return present(fleet);
    },
    async dispatch(steps, tenantId) {
      return dispatch(present(deps), tenantId ?? (await newTenant(database)), {
        pipeline: 'probe',
        subjectId: `subject-${Math.random()}`,
        maxRetries: 5,
        createdBy: 'tester',
        payload: { steps },
      });
    },
    cancel: ({ tenantId, jobId }) => cancel(present(deps), { tenantId, jobId }),
    async statusesOf(jobs) {
      const rows = await database.owner<{ jobId: string; status: string }>(
        'select job_id as "jobId", status from ingestion_jobs where job_id = any($1::uuid[])',
        [jobs.map(({ jobId }) => jobId)],
      );
      const statusOf = new Map(rows.map(({ jobId, status }) => [jobId, status]));
      return jobs.map(({ jobId }) => statusOf.get(jobId) ?? 'missing');
    },
    async holderOf({ jobId }) {
      const rows = await database.owner<{ holder: string | null }>(
        'select leased_by as holder from ingestion_jobs where job_id = $1',
        [jobId],
      );
      return rows[0]?.holder ?? null;
    },
    rescuesOf: ({ jobId }) =>
      database.owner(
        `select data ->> 'cause' as cause, data ->> 'worker_id' as "workerId" from events
          where subject = $1 and type in ('job.rescued', 'job.dead_lettered')
          order by xid, event_id`,
        [jobId],
      ),
    async stepsOf({ jobId }) {
      const rows = await database.owner<{ step: number }>(
        'select step from probe_effects where job_id = $1 order by step',
        [jobId],
      );
      return rows.map(({ step }) => step);
    },
  };
}
