import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../../test/support/worlds/kernel.ts';
import { probePipeline, probeTable } from '../../../../test/support/worlds/probe-pipeline.ts';
import { watchedDatabase } from '../../../../test/support/worlds/watched-database.ts';
import { newId } from '../../../lib/ids.ts';
import { dispatch } from '../dispatch/service.ts';
import type { Kernel, KernelOptions } from '../kernel.ts';
import type { Job, NewJob, Pipeline } from '../types.ts';

// A job that a worker died with runs alone. What that costs the jobs beside it.
const database = useDatabase();
const kernels: Kernel[] = [];
/** Jobs whose slices last until they are removed from here. */
const held = new Set<string>();

beforeAll(() => database.owner(probeTable));
afterEach(async () => {
  held.clear();
  await Promise.all(kernels.splice(0).map((kernel) => kernel.stop(1_000)));
  await database.owner('delete from ingestion_jobs; delete from workers; delete from offices');
});

/** A worker that says which jobs run in it now, which ran, and how often it has looked for a struck job. */
async function startWorker(options: Partial<KernelOptions> = {}) {
  const seen = { running: new Set<string>(), ran: new Set<string>(), looks: 0 };
  const db = watchedDatabase(database.db, (text) => {
    if (text.includes('find_struck_job')) seen.looks += 1;
  });
  const advance: Pipeline['advance'] = async ({ job }) => {
    seen.running.add(job.subjectId);
    seen.ran.add(job.subjectId);
    await eventually(async () => !held.has(job.subjectId), 'the slice is let go', 80_000);
    seen.running.delete(job.subjectId);
    return { outcome: { type: 'done' } };
  };
  const kernel = testKernel(database, { db, pipelines: [{ ...probePipeline(), advance }], ...options });
  kernels.push(kernel);
  await kernel.start({ work: true });
  return { kernel, seen };
}

type Worker = Awaited<ReturnType<typeof startWorker>>;

function newJob(kernel: Kernel, tenantId: string, job: Partial<NewJob> = {}): Promise<Job> {
  const usual = { pipeline: 'probe', subjectId: newId(), maxRetries: 5, createdBy: 'tester' };
  return dispatch(kernel, tenantId, { ...usual, ...job });
}

/** A job whose slice runs until it is let go. */
async function holdJob({ kernel, seen }: Worker, tenantId: string, job: Partial<NewJob> = {}): Promise<Job> {
  const subjectId = newId();
  held.add(subjectId);
  const made = await newJob(kernel, tenantId, { subjectId, ...job });
  await eventually(async () => seen.running.has(subjectId), 'the slice runs');
  return made;
}

async function strikeJob(tenantId: string, columns: Record<string, string | null> = {}): Promise<string> {
  const subjectId = columns.subject_id ?? newId();
  const all = { pipeline: 'probe', status: 'queued', workspace_id: null, ...columns, subject_id: subjectId };
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, correlation_id, created_by, struck_by, max_retries,
                                 ${Object.keys(all).join(', ')})
     values ($1, $2, 'c', 'tester', array[gen_random_uuid()], 5,
             ${Object.keys(all).map((_, n) => `$${n + 3}`)})`,
    [tenantId, newId(), ...Object.values(all)],
  );
  return subjectId;
}

const setLimits = (tenantId: string, limits: Record<string, number>) =>
  database.owner('update tenants set limits = $2 where tenant_id = $1', [tenantId, limits]);

/** The process runs struck jobs if there are any: it has been elected, and has looked since. */
async function untilElected({ seen }: Worker): Promise<void> {
  const before = seen.looks;
  await eventually(async () => seen.looks >= before + 2, 'the worker looks for struck jobs');
}

/** So many jobs of another tenant run, one after the other, beside what runs now. */
async function expectOthersToRun({ kernel }: Worker, on: Worker): Promise<void> {
  const tenantId = await newTenant(database);
  for (let n = 0; n < 5; n += 1) {
    const { subjectId } = await newJob(kernel, tenantId);
    await eventually(async () => on.seen.ran.has(subjectId), 'another job runs meanwhile', 10_000);
  }
}

describe('a struck job that nobody can claim does not slow the other jobs down', () => {
  /** What keeps the struck job from being claimed, while slices of its tenant run. */
  const cases: Record<string, (worker: Worker, tenantId: string) => Promise<string>> = {
    'its tenant is at its limit': async (worker, tenantId) => {
      await setLimits(tenantId, { concurrent_jobs: 1 });
      await holdJob(worker, tenantId);
      return strikeJob(tenantId);
    },
    'its tenant is at a limit above the usual one': async (worker, tenantId) => {
      await setLimits(tenantId, { concurrent_jobs: 2 });
      await holdJob(worker, tenantId);
      await holdJob(worker, tenantId);
      return strikeJob(tenantId);
    },
    'its workspace is at its limit': async (worker, tenantId) => {
      const workspaceId = newId();
      await setLimits(tenantId, { concurrent_jobs_per_workspace: 1 });
      await holdJob(worker, tenantId, { workspaceId });
      return strikeJob(tenantId, { workspace_id: workspaceId });
    },
    'it is a retry whose subject has an active job': async (worker, tenantId) => {
      const { subjectId } = await holdJob(worker, tenantId);
      return strikeJob(tenantId, { subject_id: subjectId, status: 'failed' });
    },
  };

  test.each(Object.keys(cases))('because %s, and it runs when it can', async (name) => {
    const worker = await startWorker({ tenantLimit: name.includes('the usual one') ? 1 : 100 });
    const tenantId = await newTenant(database);
    const subjectId = (await cases[name]?.(worker, tenantId)) ?? '';
    const before = worker.seen.running.size;
    await untilElected(worker);
    await expectOthersToRun(worker, worker);
    expect(worker.seen.running.size, 'what ran before still runs').toBe(before);
    held.clear();
    const isDone = async () => {
      const [row] = await database.owner<{ left: number }>(
        `select count(*)::integer as left from ingestion_jobs where subject_id = $1 and status <> 'success'`,
        [subjectId],
      );
      return row?.left === 0;
    };
    await eventually(isDone, 'the struck job has run');
  });

  test('because its pipeline is known to nobody', async () => {
    const worker = await startWorker();
    const tenantId = await newTenant(database);
    await holdJob(worker, tenantId);
    await strikeJob(tenantId, { pipeline: 'unknown' });
    await untilElected(worker);
    await expectOthersToRun(worker, worker);
    expect(worker.seen.running.size).toBe(1);
  });
});

test('one process of a fleet waits to run a struck job alone, and the others go on working', async () => {
  const tenantId = await newTenant(database);
  // Each is in the middle of a slice. The first has no other slot, so the second gets what comes later.
  const elected = await startWorker({ concurrency: 1 });
  await untilElected(elected);
  const first = await holdJob(elected, tenantId);
  const other = await startWorker({ concurrency: 2 });
  const second = await holdJob(other, tenantId);
  const struck = await strikeJob(tenantId);
  held.add(struck);
  await untilElected(elected);
  await expectOthersToRun(other, other);
  expect([...elected.seen.running, ...other.seen.running]).toEqual([first.subjectId, second.subjectId]);

  held.delete(first.subjectId);
  await eventually(async () => elected.seen.running.has(struck), 'the struck job runs in the first');
  expect([...elected.seen.running]).toEqual([struck]);
  await expectOthersToRun(other, other);
  expect([...elected.seen.ran]).toEqual([first.subjectId, struck]);
});

test('a worker takes no other job while it runs a struck one, and as many as before afterwards', async () => {
  const tenantId = await newTenant(database);
  const worker = await startWorker({ concurrency: 3 });
  await untilElected(worker);
  const struck = await strikeJob(tenantId);
  held.add(struck);
  await eventually(async () => worker.seen.running.has(struck), 'the struck job runs');
  const subjects = [newId(), newId(), newId()];
  for (const subjectId of subjects) {
    held.add(subjectId);
    await newJob(worker.kernel, tenantId, { subjectId });
  }
  expect([...worker.seen.running]).toEqual([struck]);
  held.delete(struck);
  await eventually(async () => worker.seen.running.size === 3, 'all slots are in use');
  expect([...worker.seen.running].sort()).toEqual([...subjects].sort());
});

test('jobs that keep being dispatched in a process do not keep it from running a struck job', async () => {
  const tenantId = await newTenant(database);
  const worker = await startWorker({ concurrency: 2 });
  await untilElected(worker);
  const first = await holdJob(worker, tenantId);
  const struck = await strikeJob(tenantId);
  await untilElected(worker);
  // While it waits for the first job to end, no other one starts here.
  const subjectId = newId();
  const other = { pipeline: 'probe', subjectId, maxRetries: 5, createdBy: 'tester' };
  expect(await dispatch(worker.kernel.jobs, tenantId, other)).toMatchObject({ status: 'queued' });
  held.delete(first.subjectId);
  await eventually(async () => worker.seen.ran.has(subjectId), 'the other job runs');
  expect([...worker.seen.ran]).toEqual([first.subjectId, struck, subjectId]);
});
