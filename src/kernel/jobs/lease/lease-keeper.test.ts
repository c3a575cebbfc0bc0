import { expect, onTestFinished, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../../test/support/worlds/kernel.ts';
import { type ProbeStep, probePipeline, probeTable } from '../../../../test/support/worlds/probe-pipeline.ts';
import { watchedDatabase } from '../../../../test/support/worlds/watched-database.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { dispatch } from '../dispatch/service.ts';
import type { Pipeline } from '../types.ts';

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

test('a lease counts from the moment of the claim, however late the response is read', async () => {
  await database.owner(probeTable);
  const tenantId = await newTenant(database);
  const epochOf = async (jobId: string) => {
    const [row] = await database.owner<{ epoch: number }>(
      'select lease_epoch::integer as epoch from ingestion_jobs where job_id = $1',
      [jobId],
    );
    return row?.epoch ?? 0;
  };
  // The response to the first claim arrives when the lease has run out and was taken back.
  let isLate = false;
  const db = watchedDatabase(database.db, async (text, rows) => {
    const [claimed] = rows as { jobId: string; leaseEpoch: number }[];
    if (isLate || claimed === undefined || !text.includes('claim_due_jobs')) return;
    isLate = true;
    await eventually(async () => (await epochOf(claimed.jobId)) > claimed.leaseEpoch, 'it is taken back');
  });
  const answers = new Map<number, string>();
  const pipeline: Pipeline = {
    ...probePipeline(),
    advance: async (slice) => {
      const answer = await slice.assertHeld().then(
        () => 'held',
        (error: { code: string }) => error.code,
      );
      answers.set(slice.job.leaseEpoch, answer);
      if (answer === 'held') return { outcome: { type: 'done' } };
      throw new Error('The outside call was not made');
    },
  };
  // No heartbeat comes to the help of the slice.
  const options = { db, pipelines: [pipeline], leaseMs: 1_500, heartbeatMs: 60_000 };
  const kernel = testKernel(database, options);
  onTestFinished(() => kernel.stop(1_000));
  const { jobId } = await dispatch(kernel, tenantId, {
    pipeline: 'probe',
    subjectId: 'late',
    maxRetries: 0,
    createdBy: 'tester',
  });
  await kernel.start({ work: true });
  await eventually(async () => answers.size === 2, 'the job is claimed again, and read in time');
  expect([...answers].sort()).toEqual([
    [1, 'lease_lost'],
    [3, 'held'],
  ]);
  const isDone = async () => {
    const rows = await database.owner('select from ingestion_jobs where job_id = $1 and status = $2', [
      jobId,
      'success',
    ]);
    return rows.length === 1;
  };
  await eventually(isDone, 'the job ends');
});
