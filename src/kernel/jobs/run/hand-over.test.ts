import { afterEach, beforeAll, expect, test } from 'vitest';
import { openSession } from '../../../../test/support/probes/sessions.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../../test/support/worlds/kernel.ts';
import { probePipeline, probeTable } from '../../../../test/support/worlds/probe-pipeline.ts';
import { watchedDatabase } from '../../../../test/support/worlds/watched-database.ts';
import { newId } from '../../../lib/ids.ts';
import { dispatch } from '../dispatch/service.ts';
import type { Kernel } from '../kernel.ts';
import type { Job, Pipeline } from '../types.ts';

// A job that is dispatched in a process with a free slot is leased to it at once, without a claim.
const database = useDatabase();
const kernels: Kernel[] = [];
let isHeld = false;
const running = new Set<string>();

beforeAll(() => database.owner(probeTable));
afterEach(async () => {
  isHeld = false;
  await Promise.all(kernels.splice(0).map((kernel) => kernel.stop(1_000)));
  await database.owner('delete from ingestion_jobs; delete from workers');
  running.clear();
});

const advance: Pipeline['advance'] = async ({ job, assertHeld }) => {
  await assertHeld();
  running.add(job.jobId);
  await eventually(async () => !isHeld, 'the slice is let go', 80_000);
  return { outcome: { type: 'done' } };
};

async function startWorker(options: Parameters<typeof testKernel>[1] = {}): Promise<Kernel> {
  const pipelines = [{ ...probePipeline(), advance }];
  const kernel = testKernel(database, { pipelines, pollMs: 60_000, ...options });
  kernels.push(kernel);
  await kernel.start({ work: true });
  return kernel;
}

function newJob(kernel: Kernel, tenantId: string): Promise<Job> {
  const subject = { pipeline: 'probe', subjectId: newId(), maxRetries: 5, createdBy: 'tester' };
  return dispatch(kernel.jobs, tenantId, subject);
}

async function statusOf({ jobId }: Job): Promise<string | undefined> {
  const [row] = await database.owner<{ status: string }>(
    'select status from ingestion_jobs where job_id = $1',
    [jobId],
  );
  return row?.status;
}

async function eventsOf({ jobId }: Job): Promise<string[]> {
  const rows = await database.owner<{ type: string }>(
    'select type from events where subject = $1 order by event_id',
    [jobId],
  );
  return rows.map(({ type }) => type);
}

test('a job starts with its dispatch, leased to its worker, and tells of it like any other', async () => {
  const kernel = await startWorker();
  const job = await newJob(kernel, await newTenant(database));
  const { workerId } = kernel.membership;
  expect(job).toMatchObject({ status: 'running', leasedBy: workerId, leaseEpoch: 1 });
  await eventually(async () => (await statusOf(job)) === 'success', 'the job has ended');
  expect(await eventsOf(job)).toEqual(['job.queued', 'job.started', 'job.completed']);
});

test('a job does not overtake one that waits in its lane', async () => {
  const kernel = await startWorker();
  const tenantId = await newTenant(database);
  // Claims wait for the tenant's row, so the first job stays where it is.
  const session = await openSession(database);
  await session.query(`begin; select from tenants where tenant_id = '${tenantId}' for no key update`);
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, created_by, run_at)
     values ($1, $2, 'probe', 'first', 'c', 't', now() - interval '1 s')`,
    [tenantId, newId()],
  );
  const job = await newJob(kernel, tenantId);
  expect(job).toMatchObject({ status: 'queued', leasedBy: null });
  await session.query('commit');
  await eventually(async () => (await statusOf(job)) === 'success', 'both jobs have been claimed');
});

test('a tenant near its limit gets no job started by its dispatch: only claims count exactly', async () => {
  const kernel = await startWorker({ tenantLimit: 2 });
  const tenantId = await newTenant(database);
  isHeld = true;
  expect(await newJob(kernel, tenantId)).toMatchObject({ status: 'running' });
  const others = [await newJob(kernel, tenantId), await newJob(kernel, tenantId)];
  for (const job of others) expect(job).toMatchObject({ status: 'queued', leasedBy: null });
  expect(await newJob(kernel, await newTenant(database))).toMatchObject({ status: 'running' });
  const isRunning = async () => others.some(({ jobId }) => running.has(jobId));
  await eventually(isRunning, 'one of them is claimed, up to the limit');
  expect(others.filter(({ jobId }) => running.has(jobId))).toHaveLength(1);
  isHeld = false;
  for (const job of others) await eventually(async () => (await statusOf(job)) === 'success', 'all end');
});

test('a tenant with a limit of its own gets no job started by its dispatch', async () => {
  const kernel = await startWorker();
  const tenantId = await newTenant(database);
  await database.owner(`update tenants set limits = '{"concurrent_jobs": 1}' where tenant_id = $1`, [
    tenantId,
  ]);
  const jobs = await Promise.all(Array.from({ length: 4 }, () => newJob(kernel, tenantId)));
  for (const job of jobs) expect(job).toMatchObject({ status: 'queued', leasedBy: null });
  for (const job of jobs) await eventually(async () => (await statusOf(job)) === 'success', 'all end');
});

test('a job that is dispatched while its worker stops is given back at once', async () => {
  const db = watchedDatabase(database.db, async (text) => {
    if (text.includes('dispatch_job')) await kernel.stop(1_000);
  });
  const kernel = await startWorker({ db });
  const job = await newJob(kernel, await newTenant(database));
  expect(job).toMatchObject({ status: 'running', leasedBy: kernel.membership.workerId });
  const isFree = async () => {
    const free = await database.owner(
      'select from ingestion_jobs where job_id = $1 and leased_by is null and struck_by = $2',
      [job.jobId, []],
    );
    return free.length === 1;
  };
  await eventually(isFree, 'the lease is given back', 5_000);
});

test('the lease of a job counts from before its dispatch, however late the response is read', async () => {
  let isLate = false;
  const epochs: number[] = [];
  const db = watchedDatabase(database.db, async (text, rows) => {
    const [made] = rows as { jobId: string; leasedBy: string | null }[];
    if (isLate || !made?.leasedBy || !text.includes('dispatch_job')) return;
    isLate = true;
    await eventually(async () => {
      const [row] = await database.owner<{ epoch: number }>(
        'select lease_epoch::integer as epoch from ingestion_jobs where job_id = $1',
        [made.jobId],
      );
      return (row?.epoch ?? 0) > 1;
    }, 'the lease has run out and was taken back');
  });
  const counted: Pipeline['advance'] = async (slice) => {
    await slice.assertHeld();
    epochs.push(slice.job.leaseEpoch);
    return { outcome: { type: 'done' } };
  };
  const pipelines = [{ ...probePipeline(), advance: counted }];
  const kernel = await startWorker({ db, pipelines, leaseMs: 1_500, heartbeatMs: 60_000 });
  const job = await newJob(kernel, await newTenant(database));
  await eventually(async () => (await statusOf(job)) === 'success', 'the job has been claimed again');
  expect(epochs).toEqual([3]);
});
