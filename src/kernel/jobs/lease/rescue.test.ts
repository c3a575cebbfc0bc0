import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually, testKernel } from '../../../../test/support/worlds/kernel.ts';
import {
  type ProbePayload,
  probePipeline,
  probeTable,
} from '../../../../test/support/worlds/probe-pipeline.ts';
import { newId } from '../../../lib/ids.ts';
import { dispatch } from '../dispatch/service.ts';
import type { Kernel } from '../kernel.ts';
import type { Job, Pipeline, Slice } from '../types.ts';
import { beatStatement, registerWorker } from './worker-store.ts';

const database = useDatabase();
/** A login for guard connections alone, which a test can lock out so that a lost worker stays lost. */
const guardLogin = `guard_${newId().replaceAll('-', '')}`;
const kernels: Kernel[] = [];

beforeAll(async () => {
  await database.owner(probeTable);
  await database.owner(`create role ${guardLogin} login password 'guard'`);
});
afterEach(async () => {
  await setLogin('login');
  await Promise.all(kernels.splice(0).map((kernel) => kernel.stop(1_000)));
  await database.owner('delete from ingestion_jobs');
  await database.owner('delete from workers');
});
afterAll(() => database.owner(`drop role ${guardLogin}`));

async function startKernel(options: Parameters<typeof testKernel>[1] & { work: boolean }): Promise<Kernel> {
  const { work, ...rest } = options;
  const kernel = testKernel(database, rest);
  kernels.push(kernel);
  await kernel.start({ work });
  return kernel;
}

function guardUrl(): string {
  const url = new URL(database.appUrl);
  url.username = guardLogin;
  url.password = 'guard';
  return url.href;
}

async function setLogin(right: 'login' | 'nologin'): Promise<void> {
  await database.owner(`alter role ${guardLogin} ${right}`);
}

async function killGuardOf(kernel: Kernel): Promise<void> {
  const killed = await database.owner(
    `select pg_terminate_backend(l.pid)
       from workers w
       join pg_locks l on ((l.classid::bigint << 32) | l.objid::bigint) = w.lock_key
      where w.worker_id = $1 and l.locktype = 'advisory'`,
    [kernel.membership.workerId],
  );
  expect(killed).toHaveLength(1);
}

interface Row {
  status: string;
  leasedBy: string | null;
  struckBy: string[];
  epoch: number;
  errorCode: string | null;
  effects: number;
}

async function rowOf({ jobId }: Job): Promise<Row> {
  const [row] = await database.owner<Row>(
    `select status, leased_by as "leasedBy", struck_by as "struckBy", lease_epoch::integer as epoch,
            error_code as "errorCode",
            (select count(*)::integer from probe_effects e where e.job_id = j.job_id) as effects
       from ingestion_jobs j where job_id = $1`,
    [jobId],
  );
  if (!row) throw new Error(`There is no job ${jobId}`);
  return row;
}

async function leaseEndOf({ jobId }: Job): Promise<Date> {
  const [row] = await database.owner<{ at: Date }>(
    'select lease_expires_at as at from ingestion_jobs where job_id = $1',
    [jobId],
  );
  if (!row) throw new Error(`There is no job ${jobId}`);
  return row.at;
}

async function eventsOf({ jobId }: Job, type: string): Promise<Record<string, unknown>[]> {
  const rows = await database.owner<{ data: Record<string, unknown> }>(
    'select data from events where subject = $1 and type = $2 order by xid, event_id',
    [jobId, type],
  );
  return rows.map(({ data }) => data);
}

async function rescuesOf(...counted: Kernel[]) {
  const metrics = await Promise.all(counted.map((kernel) => kernel.metrics.rescues.get()));
  return metrics.flatMap(({ values }) => values);
}

async function newJob(kernel: Kernel, payload: ProbePayload = {}, tenant?: string): Promise<Job> {
  const tenantId = tenant ?? (await newTenant(database));
  const subject = { pipeline: 'probe', subjectId: newId(), maxRetries: 5, createdBy: 'tester' };
  return dispatch(kernel, tenantId, { ...subject, payload: { ...payload } });
}

/** Slices that hang, deaf to their signal, until they are let go: an outside call that takes its time. */
function hangingSlices() {
  const slices: Slice[] = [];
  let letGo: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const beforeCommit = async (slice: Slice): Promise<void> => {
    slices.push(slice);
    await released;
  };
  return { slices, letGo, hooks: { beforeCommit } };
}

/** The lease is in the hands of a process that is no more, and has run out. */
async function leaveWith({ jobId }: Job, workerId: string): Promise<void> {
  await database.owner(
    `update ingestion_jobs
        set status = 'running', started_at = clock_timestamp(), leased_by = $2, lease_epoch = lease_epoch + 1,
            lease_expires_at = clock_timestamp() - interval '1 s'
      where job_id = $1`,
    [jobId, workerId],
  );
}

test('a worker that loses its guard connection aborts its slices, and another takes the job by the lock', async () => {
  const { slices, letGo, hooks } = hangingSlices();
  // Its only place is taken by the slice that hangs: once it is back it must not take the job from its heir.
  const lost = await startKernel({ work: true, hooks, directUrl: guardUrl(), concurrency: 1 });
  const job = await newJob(lost);
  await eventually(async () => slices.length === 1, 'the slice runs');
  const other = await startKernel({ work: false });
  await setLogin('nologin');
  await killGuardOf(lost);

  await eventually(async () => slices[0]?.signal.aborted === true, 'the slice is told to stop');
  await expect(slices[0]?.assertHeld()).rejects.toMatchObject({ code: 'lease_lost' });
  expect(lost.membership.isMember).toBe(false);
  const { workerId } = lost.membership;
  await eventually(async () => (await rowOf(job)).leasedBy === null, 'the lease is taken back');
  expect(await rowOf(job)).toMatchObject({ status: 'running', struckBy: [workerId], epoch: 2 });
  expect(await eventsOf(job, 'job.rescued')).toMatchObject([{ cause: 'lock', worker_id: workerId }]);
  // Whose rescuer was first is chance: the lost worker's own may be, for it does not spare itself.
  await eventually(async () => (await rescuesOf(lost, other)).length > 0, 'the rescue is counted');
  expect(await rescuesOf(lost, other)).toMatchObject([{ labels: { cause: 'lock' }, value: 1 }]);

  // The process lives after all: its strike was none.
  await setLogin('login');
  await eventually(async () => lost.membership.isMember, 'the worker is back');
  expect((await rowOf(job)).struckBy).toEqual([]);
  const heir = await startKernel({ work: true });
  await eventually(async () => (await rowOf(job)).status === 'success', 'another worker ends the job');
  letGo();
  await heir.stop(1_000);
  await lost.stop(1_000);
  expect(await rowOf(job)).toMatchObject({ status: 'success', effects: 1 });
});

test('an expired lease of a worker that holds its lock is taken back by expiry, without a strike', async () => {
  const { slices, letGo, hooks } = hangingSlices();
  // So slow a heartbeat that it does not renew during the test: a hung process.
  const hung = await startKernel({ work: true, hooks, heartbeatMs: 60_000 });
  const job = await newJob(hung);
  await eventually(async () => slices.length === 1, 'the slice runs');
  await database.owner(
    "update ingestion_jobs set lease_expires_at = clock_timestamp() - interval '1 s' where job_id = $1",
    [job.jobId],
  );
  await eventually(async () => (await rowOf(job)).epoch > 1, 'the lease is taken back');
  expect(await eventsOf(job, 'job.rescued')).toMatchObject([
    { cause: 'expiry', worker_id: hung.membership.workerId },
  ]);
  expect((await rowOf(job)).struckBy).toEqual([]);
  letGo();
  await eventually(async () => (await rowOf(job)).status === 'success', 'the job is run again');
  expect(await rowOf(job)).toMatchObject({ effects: 1, errorCode: null });
});

test('a lease is left alone while its worker holds its lock and renews', async () => {
  const { slices, letGo, hooks } = hangingSlices();
  // So long a lease that a worker which stands still for a moment does not lose it.
  const worker = await startKernel({ work: true, hooks, heartbeatMs: 50, leaseMs: 60_000 });
  const job = await newJob(worker);
  await eventually(async () => slices.length === 1, 'the slice runs');
  const other = await startKernel({ work: false });
  const first = await leaseEndOf(job);
  await eventually(async () => (await leaseEndOf(job)) > first, 'the lease is renewed');
  for (let look = 0; look < 20; look += 1) await other.cycle({ budgetMs: 0 });
  expect(await rowOf(job)).toMatchObject({ leasedBy: worker.membership.workerId, epoch: 1, struckBy: [] });
  expect(await eventsOf(job, 'job.rescued')).toEqual([]);
  letGo();
  await eventually(async () => (await rowOf(job)).status === 'success', 'the slice commits');
});

test('a worker that is gone from the list is dead: its job gets a strike, the third is a dead letter', async () => {
  const rescuer = await startKernel({ work: false });
  const job = await newJob(rescuer);
  const dead = [newId(), newId(), newId()];
  for (const [strike, workerId] of dead.entries()) {
    await leaveWith(job, workerId);
    await rescuer.cycle({ budgetMs: 0 });
    await eventually(async () => (await rowOf(job)).leasedBy === null, 'the lease is taken back');
    const { status, struckBy } = await rowOf(job);
    expect({ status, struckBy }).toEqual({
      status: strike < 2 ? 'running' : 'dead_letter',
      struckBy: dead.slice(0, strike + 1),
    });
  }
  expect(await rowOf(job)).toMatchObject({ errorCode: 'worker_crashed' });
  expect(await eventsOf(job, 'job.rescued')).toHaveLength(2);
  expect(await eventsOf(job, 'job.dead_lettered')).toMatchObject([
    { error_code: 'worker_crashed', error_message: expect.stringContaining('3 times') },
  ]);
});

test('progress clears the strikes, so that only deaths in a row count', async () => {
  const kernel = await startKernel({ work: false });
  const job = await newJob(kernel, { steps: [{ do: 'continue' }, { do: 'wait', delayMs: 3_600_000 }] });
  for (const workerId of [newId(), newId()]) {
    await leaveWith(job, workerId);
    await kernel.cycle({ budgetMs: 0 });
    await eventually(async () => (await rowOf(job)).leasedBy === null, 'the lease is taken back');
  }
  expect((await rowOf(job)).struckBy).toHaveLength(2);
  await kernel.cycle({ budgetMs: 60_000, tenantId: job.tenantId });
  expect(await rowOf(job)).toMatchObject({ status: 'running', struckBy: [], effects: 2 });
  await leaveWith(job, newId());
  await kernel.cycle({ budgetMs: 0 });
  await eventually(async () => (await rowOf(job)).leasedBy === null, 'the lease is taken back');
  expect(await rowOf(job)).toMatchObject({ status: 'running', struckBy: { length: 1 } });
});

test('a worker that was given up although it lives takes its strikes back with its next beat', async () => {
  const kernel = await startKernel({ work: false, heartbeatMs: 50 });
  const job = await newJob(kernel);
  const { workerId } = kernel.membership;
  const other = newId();
  await database.owner('update ingestion_jobs set struck_by = array[$2::uuid, $3::uuid] where job_id = $1', [
    job.jobId,
    workerId,
    other,
  ]);
  await database.owner('update workers set lost_at = clock_timestamp() where worker_id = $1', [workerId]);
  await eventually(async () => (await rowOf(job)).struckBy.length === 1, 'the strike is taken back');
  expect((await rowOf(job)).struckBy).toEqual([other]);
});

test('a beat takes the strikes back by itself: its answer may be lost', async () => {
  const kernel = await startKernel({ work: false });
  const job = await newJob(kernel);
  const [alive, other] = [newId(), newId()];
  const worker = {
    name: 'cut off',
    guardedBy: 'expiry',
    lockKey: '1',
    concurrency: 1,
    version: 'test',
  } as const;
  await database.db.kernel((tx) => registerWorker(tx, { ...worker, workerId: alive }));
  const strike = `update ingestion_jobs set struck_by = array[$2::uuid, $3::uuid] where job_id = $1`;
  await database.owner(strike, [job.jobId, alive, other]);
  const beat = () => database.db.statement({ role: 'sluice_kernel' }, beatStatement(alive));
  // Nobody has given it up: what another process of that name may have done is not its own to undo.
  expect(await beat()).toMatchObject([{ wasLost: false }]);
  expect((await rowOf(job)).struckBy).toEqual([alive, other]);
  await database.owner('update workers set lost_at = clock_timestamp() where worker_id = $1', [alive]);
  expect(await beat()).toMatchObject([{ wasLost: true }]);
  expect((await rowOf(job)).struckBy).toEqual([other]);
  expect(await beat()).toMatchObject([{ wasLost: false }]);
});

test('a job that a worker died with runs alone in its worker', async () => {
  const beside = new Map<string, number>();
  const running = new Set<string>();
  const look = (): void => {
    for (const jobId of running) beside.set(jobId, Math.max(beside.get(jobId) ?? 0, running.size));
  };
  const advance: Pipeline['advance'] = async ({ job }) => {
    running.add(job.jobId);
    look();
    await new Promise((resolve) => setTimeout(resolve, 30));
    look();
    running.delete(job.jobId);
    return { outcome: { type: 'done' } };
  };
  const maker = await startKernel({ work: false });
  const struck = await newJob(maker);
  await database.owner('update ingestion_jobs set struck_by = array[gen_random_uuid()] where job_id = $1', [
    struck.jobId,
  ]);
  const others = await Promise.all(Array.from({ length: 30 }, () => newJob(maker, {}, struck.tenantId)));
  await startKernel({ work: true, pipelines: [{ ...probePipeline(), advance }], concurrency: 4 });
  const isDone = async (job: Job) => (await rowOf(job)).status === 'success';
  for (const job of [struck, ...others]) await eventually(() => isDone(job), 'all jobs end');
  expect(beside.get(struck.jobId)).toBe(1);
  expect(Math.max(...beside.values()), 'the others ran side by side').toBeGreaterThan(1);
});

test('a struck job runs although the first worker of the fleet does not know its pipeline', async () => {
  await startKernel({ work: true, pipelines: [probePipeline({}, 'another')] });
  const maker = await startKernel({ work: false });
  const struck = await newJob(maker);
  await database.owner('update ingestion_jobs set struck_by = array[gen_random_uuid()] where job_id = $1', [
    struck.jobId,
  ]);
  await startKernel({ work: true });
  await eventually(async () => (await rowOf(struck)).status === 'success', 'the struck job has ended');
});
