import pg from 'pg';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Actor, type Ending, Permuter } from '../../../../test/support/probes/permuter.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { probePipeline, probeTable } from '../../../../test/support/worlds/probe-pipeline.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { Quotas } from '../dispatch/quotas.ts';
import { cancel, dispatch, dispatchIn, type JobsDeps, pause, requeue, resume } from '../dispatch/service.ts';
import { LeaseKeeper } from '../lease/lease-keeper.ts';
import { claimMany, renewStatement } from '../lease/lease-store.ts';
import { Rescuer } from '../lease/rescuer.ts';
import { registerWorker } from '../lease/worker-store.ts';
import { JobMetrics } from '../metrics.ts';
import { PipelineRegistry } from '../pipeline-registry.ts';
import type { ClaimedJob, Job, NewJob, Outcome, Pipeline } from '../types.ts';
import { WakeUp } from '../wake-up.ts';
import { Settler } from './settler.ts';
import { SliceRunner } from './slice-runner.ts';

// Up to 200 interleavings each, and the machine may be busy with other files.
vi.setConfig({ testTimeout: 120_000 });

const database = useDatabase();
const logger = pino({ level: 'silent' });
const metrics = new JobMetrics(new Registry());
const registry = new PipelineRegistry([probePipeline()]);
const leaseMs = 60_000;
const failure = { code: 'probe_failed', message: 'It was told to fail', class: 'probe' };
const subject: NewJob = { pipeline: 'probe', subjectId: 'race', maxRetries: 5, createdBy: 'tester' };

let permuter: Permuter;
let owner: pg.Client;
let wake: WakeUp;
let quotas: Quotas;
let tenantId: string;
let tried = 0;

beforeAll(async () => {
  await database.owner(probeTable);
  tenantId = await newTenant(database);
  // Neither is part of a race: they use separate connections.
  wake = new WakeUp(database.db);
  quotas = new Quotas({ db: database.db, maxQueued: 1_000_000 });
  permuter = await Permuter.open(database);
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await permuter?.close();
  await owner?.end();
});

/** The start of a race; created again for each interleaving. */
interface Scene {
  job: Job;
  claimed: ClaimedJob;
  workers: [string, string];
}
let scene: Scene;

/** A queued job and two workers that beat but hold no lock: they are judged by expiry alone. */
async function queuedJob(): Promise<void> {
  // Lanes rest by the clock: on a busy machine one that the last race left would change the steps of this one.
  await owner.query(`
    delete from ingestion_jobs; delete from events; delete from probe_effects; delete from workers;
    delete from tenant_queue; delete from tenant_queue_marks`);
  const workers: [string, string] = [newId(), newId()];
  for (const workerId of workers) await enter(workerId, 'expiry');
  const job = await dispatch(services(database.db), tenantId, subject);
  scene = { job, workers, claimed: { ...job, was: 'queued' } };
}

async function claimedJob(): Promise<void> {
  await queuedJob();
  const [claimed] = await database.db.kernel((tx) => claimMany(tx, wish(0)));
  if (!claimed) throw new Error('The queued job was not claimed');
  scene.claimed = claimed;
}

async function settledJob(outcome: Outcome): Promise<void> {
  await claimedJob();
  await slices(database.db, outcome).run({ job: scene.claimed, askedAtMs: performance.now() });
  await owner.query('delete from probe_effects');
}

function enter(workerId: string, guardedBy: 'lock' | 'expiry'): Promise<void> {
  const worker = { workerId, name: 'w', guardedBy, lockKey: '4711', concurrency: 1, version: 'test' };
  return database.db.kernel((tx) => registerWorker(tx, worker));
}

function services(db: typeof database.db): JobsDeps {
  return { db, registry, wake, metrics, quotas };
}

function wish(worker: 0 | 1) {
  const workerId = scene.workers[worker];
  return { workerId, pipelines: ['probe'], limit: 1, leaseMs, tenantLimit: 10 };
}

/** A runner whose slices end with this outcome and leave one row each. */
function slices(db: typeof database.db, outcome: Outcome): SliceRunner {
  const slice: Pipeline['advance'] = async ({ job }) => ({
    outcome,
    effects: async (tx) => {
      await tx.run(sql`
        insert into probe_effects (tenant_id, job_id, step, worker, epoch)
        values (${job.tenantId}, ${job.jobId}, 0, 'w', ${job.leaseEpoch})`);
    },
  });
  const pipelines = new PipelineRegistry([{ ...probePipeline(), advance: slice, cleanUp: slice }]);
  const keeper = new LeaseKeeper({ db, logger, workerId: scene.workers[0], leaseMs, heartbeatMs: 2_000 });
  return new SliceRunner({
    db,
    keeper,
    settler: new Settler({ db, leaseMs }),
    registry: pipelines,
    wake,
    logger,
    metrics,
    leaseMs,
    workerId: scene.workers[0],
  });
}

/** Like Claimer, which looks again when a retry came due while its subject was dispatched anew. */
const claim = (worker: 0 | 1): Actor => ({
  name: `claim${worker}`,
  act: async (db) => {
    for (let look = 1; ; look += 1) {
      try {
        return await db.kernel((tx) => claimMany(tx, wish(worker)));
      } catch (error) {
        if ((error as { code?: unknown }).code !== '23505' || look === 5) throw error;
      }
    }
  },
});
const settle = (outcome: Outcome): Actor => ({
  name: 'settle',
  act: (db) => slices(db, outcome).run({ job: scene.claimed, askedAtMs: performance.now() }),
});
const rescue: Actor = {
  name: 'rescue',
  act: (db) => new Rescuer({ db, wake, logger, metrics, leaseMs, maxStrikes: 3 }).rescue(),
};
const renew: Actor = {
  name: 'renew',
  act: (db) =>
    db.kernel((tx) =>
      tx.rows(renewStatement({ workerId: scene.workers[0], leases: [scene.claimed], leaseMs })),
    ),
};
const pausing: Actor = { name: 'pause', act: (db) => pause(services(db), scene.job) };
const resuming: Actor = { name: 'resume', act: (db) => resume(services(db), scene.job) };
const canceling: Actor = { name: 'cancel', act: (db) => cancel(services(db), scene.job) };
/** As pipelines do it, in their own transaction. */
const dispatching = (name = 'dispatch'): Actor => ({
  name,
  act: (db) => db.tenant(tenantId, (tx) => dispatchIn(services(db), tx, tenantId, subject)),
});
const requeueing = (name: string): Actor => ({
  name,
  act: (db) => requeue(services(db), scene.job, { requestedBy: 'support' }),
});

interface EndState {
  jobId: string;
  status: string;
  epoch: number;
  leasedBy: string | null;
  cleanupOpen: boolean;
  effects: number;
}

async function endStates(): Promise<EndState[]> {
  const { rows } = await owner.query<EndState>(`
    select j.job_id as "jobId", j.status, j.lease_epoch::integer as epoch, j.leased_by as "leasedBy",
           j.cleanup_open as "cleanupOpen",
           (select count(*)::integer from probe_effects e where e.job_id = j.job_id) as effects
      from ingestion_jobs j
     order by j.job_id`);
  return rows;
}

/** An actor's result in one word. Anything but an intended refusal is thrown, deadlocks included. */
function wordOf({ result }: Ending): string {
  if (result.status === 'rejected') {
    const refusals = ['job_already_active', 'cleanup_in_progress', 'illegal_transition', 'already_requeued'];
    if (isSluiceError(result.reason) && refusals.includes(result.reason.code)) return result.reason.code;
    throw result.reason;
  }
  const value = result.value as { type?: string; reason?: string; jobId?: string } | unknown[];
  if (Array.isArray(value)) return value.length > 0 ? 'took' : 'nothing';
  if (value.type === 'dropped') return value.reason ?? 'dropped';
  if (value.type) return value.type;
  return value.jobId === scene.job.jobId ? 'done' : 'new job';
}

/** What must hold after every interleaving of anything with anything. */
function checkInvariants(endings: Ending[], jobs: EndState[]): void {
  const active = jobs.filter(
    ({ status, cleanupOpen }) => ['queued', 'running', 'paused'].includes(status) || cleanupOpen,
  );
  expect(active.length, 'active jobs of one subject').toBeLessThanOrEqual(1);
  const settled = endings.filter((ending) => ending.name === 'settle' && wordOf(ending) === 'settled');
  const effects = jobs.reduce((sum, job) => sum + job.effects, 0);
  expect(effects, 'effects are there if and only if their slice was settled').toBe(settled.length);
  const claims = endings.flatMap(({ name, result }) =>
    name.startsWith('claim') && result.status === 'fulfilled' ? (result.value as ClaimedJob[]) : [],
  );
  const epochs = claims.map(({ jobId, leaseEpoch }) => `${jobId}/${leaseEpoch}`);
  expect(new Set(epochs).size, 'every lease has an epoch of its own').toBe(epochs.length);
  for (const job of jobs.filter(({ leasedBy }) => leasedBy !== null)) {
    expect(['running', 'paused', 'canceled']).toContain(job.status);
    const holders = [...claims, scene.claimed].filter(
      (claimed) => claimed.jobId === job.jobId && claimed.leaseEpoch === job.epoch,
    );
    expect(new Set(holders.map(({ leasedBy }) => leasedBy)), 'the newest claim holds the lease').toEqual(
      new Set([job.leasedBy]),
    );
  }
}

const atLeast = 10;

/** Runs all interleavings. Returns the ways in which the race can end, each once. */
async function endingsOf(arrange: () => Promise<void>, ...actors: [Actor, Actor]): Promise<string[]> {
  const seen = new Set<string>();
  const report = await permuter.run({
    actors,
    arrange,
    check: async (endings, order) => {
      try {
        const jobs = await endStates();
        checkInvariants(endings, jobs);
        const words = endings.map((ending) => `${ending.name} ${wordOf(ending)}`).join(', ');
        const states = jobs.map(
          ({ status, leasedBy, cleanupOpen }) =>
            `${status}${leasedBy ? '+lease' : ''}${cleanupOpen ? '+cleanup' : ''}`,
        );
        seen.add(`${words}: ${states.join(', ')}`);
      } catch (error) {
        throw new Error(`After ${order}`, { cause: error });
      }
    },
  });
  console.log(
    `${actors.map(({ name }) => name).join('/')}: ${report.interleavings} interleavings, ${report.blockedSteps} waits`,
  );
  tried += report.interleavings;
  expect(report.interleavings).toBeGreaterThanOrEqual(atLeast);
  return [...seen].sort();
}

async function lostWorker(): Promise<void> {
  await claimedJob();
  // A worker that is guarded by its lock, and nobody holds the lock.
  await owner.query("update workers set guarded_by = 'lock'");
}

test('two claims of one job: exactly one gets it', async () => {
  expect(await endingsOf(queuedJob, claim(0), claim(1))).toEqual([
    'claim0 nothing, claim1 took: running+lease',
    'claim0 took, claim1 nothing: running+lease',
  ]);
});

test('a lease is renewed or taken back, never both, when it had expired', async () => {
  const expired = async () => {
    await claimedJob();
    await owner.query("update ingestion_jobs set lease_expires_at = clock_timestamp() - interval '1 s'");
  };
  expect(await endingsOf(expired, renew, rescue)).toEqual([
    'renew nothing, rescue took: running',
    'renew took, rescue nothing: running+lease',
  ]);
});

test('a lost worker cannot keep its lease by renewing it; only a renewal in flight delays the rescue', async () => {
  expect(await endingsOf(lostWorker, renew, rescue)).toEqual([
    'renew nothing, rescue took: running',
    'renew took, rescue nothing: running+lease',
    'renew took, rescue took: running',
  ]);
});

test('a slice commits before, during and after a pause, and the job is paused in each case', async () => {
  expect(await endingsOf(claimedJob, pausing, settle({ type: 'continue' }))).toEqual([
    'pause done, settle settled: paused',
  ]);
});

test('a pause that meets the last slice either comes first or is refused; the job is done in both cases', async () => {
  expect(await endingsOf(claimedJob, pausing, settle({ type: 'done' }))).toEqual([
    'pause done, settle settled: success',
    'pause illegal_transition, settle settled: success',
  ]);
});

test('a cancel refuses the slice or the slice refuses the cancel', async () => {
  expect(await endingsOf(claimedJob, canceling, settle({ type: 'done' }))).toEqual([
    'cancel done, settle lease_lost: canceled+cleanup',
    'cancel illegal_transition, settle settled: success',
  ]);
});

test('two dispatches create one job, and the other one is refused with its id', async () => {
  const free = async () => {
    await queuedJob();
    await owner.query('delete from ingestion_jobs');
  };
  expect(await endingsOf(free, dispatching('dispatch1'), dispatching('dispatch2'))).toEqual([
    'dispatch1 job_already_active, dispatch2 new job: queued',
    'dispatch1 new job, dispatch2 job_already_active: queued',
  ]);
});

test('a dispatch beside the claim of a due retry never makes a second job', async () => {
  const dueRetry = () => settledJob({ type: 'retry', delayMs: 0, failure });
  expect(await endingsOf(dueRetry, claim(1), dispatching())).toEqual([
    'claim1 nothing, dispatch done: failed',
    'claim1 took, dispatch done: running+lease',
    'claim1 took, dispatch job_already_active: running+lease',
  ]);
});

test('a dispatch beside a failing slice is refused, brings its retry forward, or goes before it', async () => {
  const retry = settle({ type: 'retry', delayMs: 0, failure });
  expect(await endingsOf(claimedJob, retry, dispatching())).toEqual([
    'settle settled, dispatch done: failed',
    'settle settled, dispatch job_already_active: failed',
    'settle settled, dispatch new job: failed, queued',
  ]);
});

test('a slice is settled or its lease taken back, never both', async () => {
  expect(await endingsOf(lostWorker, settle({ type: 'continue' }), rescue)).toEqual([
    'settle lease_lost, rescue took: running',
    'settle settled, rescue nothing: running',
  ]);
});

test('a resume beside a failing slice leaves a waiting retry, whoever comes first', async () => {
  const pausedSlice = async () => {
    await claimedJob();
    await pause(services(database.db), scene.job);
  };
  const retry = settle({ type: 'retry', delayMs: 0, failure });
  expect(await endingsOf(pausedSlice, resuming, retry)).toEqual(['resume done, settle settled: failed']);
});

test('two requeues of a dead letter make one job', async () => {
  const dead = () => settledJob({ type: 'dead', failure });
  expect(await endingsOf(dead, requeueing('requeue1'), requeueing('requeue2'))).toEqual([
    'requeue1 already_requeued, requeue2 new job: dead_letter, queued',
    'requeue1 new job, requeue2 already_requeued: dead_letter, queued',
  ]);
});

test('a cancel takes a started job from its claimer, who gets at most a cleanup slice', async () => {
  expect(await endingsOf(() => settledJob({ type: 'continue' }), canceling, claim(1))).toEqual([
    'cancel done, claim1 nothing: canceled+cleanup',
    'cancel done, claim1 took: canceled+cleanup',
    'cancel done, claim1 took: canceled+lease+cleanup',
  ]);
});

test('a cancel before the first claim needs no cleanup, and one after it does', async () => {
  expect(await endingsOf(queuedJob, canceling, claim(1))).toEqual([
    'cancel done, claim1 nothing: canceled',
    'cancel done, claim1 took: canceled+cleanup',
  ]);
});

test('at least 500 interleavings were tried', () => {
  console.log(`${tried} interleavings in all`);
  expect(tried).toBeGreaterThanOrEqual(500);
});
