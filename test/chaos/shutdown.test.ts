import { afterEach, expect, test } from 'vitest';
import type { Job } from '../../src/kernel/jobs/types.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import type { ProbeStep } from '../support/worlds/probe-pipeline.ts';
import { useFleet } from './use-fleet.ts';
import type { SpawnSettings } from './worker-fleet.ts';

const database = useDatabase();
const workers = useFleet(database);

// Workers of one test would take the jobs of the next.
afterEach(async () => {
  for (const worker of workers.fleet.living) await workers.fleet.kill(worker);
});

function startWorker(settings: Partial<SpawnSettings> = {}) {
  return workers.fleet.start({ appUrl: database.appUrl, directUrl: database.appUrl, ...settings });
}

// Leases long enough for a slow machine: a dead worker is detected by its lock.
const longLeases = { leaseMs: 30_000 };

function work(...durationsMs: number[]): ProbeStep[] {
  return durationsMs.map((ms) => ({ do: 'work', ms }));
}

async function untilFinished(jobs: Job[]): Promise<void> {
  const unfinished = ['queued', 'running', 'failed'];
  await eventually(
    async () => !(await workers.statusesOf(jobs)).some((status) => unfinished.includes(status)),
    'all jobs are finished',
    60_000,
  );
}

/** What the job does when it is claimed again; the current holder continues with what it has read. */
async function rewrite(job: Job, steps: ProbeStep[]): Promise<void> {
  await database.owner('update ingestion_jobs set payload = $2 where job_id = $1', [
    job.jobId,
    JSON.stringify({ steps }),
  ]);
}

async function isEntered(workerId: string | null): Promise<boolean> {
  const rows = await database.owner('select 1 from workers where worker_id = $1', [workerId]);
  return rows.length > 0;
}

async function isGivenUp(workerId: string | null): Promise<boolean> {
  const sentence = 'select 1 from workers where worker_id = $1 and lost_at is not null';
  return (await database.owner(sentence, [workerId])).length > 0;
}

async function endGuardConnection(workerId: string | null): Promise<void> {
  const ended = await database.owner(
    `select pg_terminate_backend(l.pid)
       from workers w
       join pg_locks l on l.locktype = 'advisory' and ((l.classid::bigint << 32) | l.objid::bigint) = w.lock_key
      where w.worker_id = $1`,
    [workerId],
  );
  expect(ended).toHaveLength(1);
}

test('a worker that gets SIGTERM finishes the slices in flight, claims nothing more and exits with 0', async () => {
  const worker = await startWorker({ ...longLeases, concurrency: 2, graceMs: 60_000 });
  // Long enough that it is told to stop before they end, however slow the machine is.
  const inFlight = [await workers.dispatch(work(5_000, 20)), await workers.dispatch(work(5_000, 20))];
  await eventually(async () => worker.busyWith.size === 2, 'both slots are busy');
  const waiting = await workers.dispatch(work(1));
  worker.child.kill('SIGTERM');
  expect(await worker.exited).toEqual({ code: 0, signal: null });
  for (const job of inFlight) {
    expect(await workers.stepsOf(job)).toEqual([0]);
    expect(await workers.holderOf(job)).toBeNull();
  }
  expect(await workers.statusesOf([...inFlight, waiting])).toEqual(['running', 'running', 'queued']);
  expect(await isEntered(worker.workerId)).toBe(false);

  const successor = await startWorker(longLeases);
  await untilFinished([...inFlight, waiting]);
  expect(await workers.statusesOf([...inFlight, waiting])).toEqual(['success', 'success', 'success']);
  for (const job of inFlight) {
    expect(await workers.stepsOf(job)).toEqual([0, 1]);
    expect(await workers.rescuesOf(job), 'nobody had to be rescued').toEqual([]);
  }
  expect(successor.guardedBy).toBe('lock');
});

test('a slice that outlasts the grace period is dropped, and its lease is released at once', async () => {
  const worker = await startWorker({ graceMs: 200, leaseMs: 60_000 });
  const job = await workers.dispatch(work(60_000));
  await eventually(async () => worker.busyWith.size === 1, 'the slice has begun');
  worker.child.kill('SIGTERM');
  expect(await worker.exited).toEqual({ code: 0, signal: null });
  expect(await workers.holderOf(job)).toBeNull();
  expect(await workers.statusesOf([job])).toEqual(['running']);
  expect(await workers.stepsOf(job)).toEqual([]);
  expect(await isEntered(worker.workerId)).toBe(false);
  // So that the test does not wait a minute.
  await workers.cancel(job);
});

test('a worker that was only cut off does not count as the last strike of a job', async () => {
  const job = await workers.dispatch(work(600_000));
  // Two workers have died with it before.
  await database.owner(
    'update ingestion_jobs set struck_by = array[gen_random_uuid(), gen_random_uuid()] where job_id = $1',
    [job.jobId],
  );
  const worker = await startWorker(longLeases);
  await eventually(async () => worker.busyWith.size === 1, 'the job has begun');
  await rewrite(job, work(20));
  const other = await startWorker(longLeases);
  // Stopped, so that it cannot come back before the other has noticed.
  worker.child.kill('SIGSTOP');
  await endGuardConnection(worker.workerId);
  await eventually(() => isGivenUp(worker.workerId), 'the other has noticed');
  // And the other, so that it waits for as long as a slow machine needs to come back.
  other.child.kill('SIGSTOP');
  worker.child.kill('SIGCONT');
  await eventually(async () => !(await isGivenUp(worker.workerId)), 'it is back');
  other.child.kill('SIGCONT');
  await untilFinished([job]);
  expect(await workers.statusesOf([job])).toEqual(['success']);
  expect(await workers.stepsOf(job)).toEqual([0]);
});

test('a job that kills its worker three times becomes a dead letter without further strikes for others', async () => {
  const tenantId = await newTenant(database);
  const poison = await workers.dispatch([{ do: 'crash' }], tenantId);
  const neighbours = await Promise.all(
    Array.from({ length: 12 }, () => workers.dispatch(work(20, 30), tenantId)),
  );
  const startedBefore = workers.fleet.all.length;
  await startWorker(longLeases);
  // As a supervisor does: whoever dies is started again.
  await eventually(
    async () => {
      if (workers.fleet.living.length === 0) {
        workers.fleet.launch({ appUrl: database.appUrl, directUrl: database.appUrl, ...longLeases });
      }
      return (await workers.statusesOf([poison, ...neighbours])).every((status) =>
        ['success', 'dead_letter'].includes(status),
      );
    },
    'the neighbours are finished and the poison is a dead letter',
    60_000,
  );
  expect(await workers.statusesOf([poison])).toEqual(['dead_letter']);
  expect(new Set(await workers.statusesOf(neighbours))).toEqual(new Set(['success']));
  const [row] = await database.owner<{ code: string }>(
    'select error_code as code from ingestion_jobs where job_id = $1',
    [poison.jobId],
  );
  expect(row?.code).toBe('worker_crashed');

  const dead = workers.fleet.all.slice(startedBefore).filter(({ child }) => child.signalCode === 'SIGKILL');
  const strikers = await workers.rescuesOf(poison);
  expect(strikers.map(({ cause }) => cause)).toEqual(['lock', 'lock', 'lock']);
  expect(new Set(strikers.map(({ workerId }) => workerId)).size).toBe(3);
  expect(dead).toHaveLength(3);
  for (const neighbour of neighbours) {
    const struckBy = (await workers.rescuesOf(neighbour)).map(({ workerId }) => workerId);
    expect(struckBy.filter((workerId) => workerId !== strikers[0]?.workerId)).toEqual([]);
    expect(await workers.stepsOf(neighbour)).toEqual([0, 1]);
  }
});
