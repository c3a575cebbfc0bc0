import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../test/support/worlds/kernel.ts';
import { type ProbeStep, probePipeline, probeTable } from '../../../test/support/worlds/probe-pipeline.ts';
import { sql } from '../../lib/postgres/sql.ts';
import { dispatch } from './service.ts';
import type { Pipeline } from './types.ts';

const database = useDatabase();
/** Long enough that neighbours which stand still for a moment do not lose theirs. */
const leaseMs = 5_000;
const longerMs = leaseMs + 1_000;

/** Its only slice is a transaction that takes longer than the lease. */
const slowCommit: Pipeline = {
  ...probePipeline({}, 'slow'),
  advance: async () => ({
    outcome: { type: 'done' },
    effects: async (tx) => void (await tx.rows(sql`select pg_sleep(${longerMs / 1_000})`)),
  }),
};

test('a slice with a long transaction does not keep the leases of its neighbours from being renewed', {
  timeout: 60_000,
}, async () => {
  await database.owner(probeTable);
  const tenantId = await newTenant(database);
  const pipelines = [slowCommit, probePipeline()];
  const kernel = testKernel(database, { pipelines, leaseMs, heartbeatMs: 200 });
  const start = (pipeline: string, steps: ProbeStep[]) =>
    dispatch(kernel, tenantId, {
      pipeline,
      subjectId: pipeline,
      maxRetries: 0,
      createdBy: 'tester',
      payload: { steps },
    });
  const slow = await start('slow', []);
  const neighbour = await start('probe', [{ do: 'work', ms: longerMs }]);
  await kernel.start({ work: true });
  const rows = () =>
    database.owner<{ jobId: string; status: string; epoch: number }>(
      `select job_id as "jobId", status, lease_epoch::int as epoch
         from ingestion_jobs
        where tenant_id = $1
        order by job_id`,
      [tenantId],
    );
  await eventually(
    async () => (await rows()).every(({ status }) => status === 'success'),
    'both are finished',
    45_000,
  );
  await kernel.stop(1_000);
  // The first claim of each was its last: nothing was rescued and nothing done twice.
  expect(await rows()).toEqual([
    { jobId: slow.jobId, status: 'success', epoch: 1 },
    { jobId: neighbour.jobId, status: 'success', epoch: 1 },
  ]);
});
