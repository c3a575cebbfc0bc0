import { expect } from 'vitest';
import { markLostWorkers, rescueLeases } from '../../../src/kernel/jobs/lease/worker-store.ts';
import { type Model, type ModelWorker, maxStrikes, pick } from '../worlds/job-model.ts';
import { leaseMs, type World } from '../worlds/job-world.ts';

/** A worker that may claim: the product's workers do not while their guard is down. */
export async function livingWorker(model: Model, world: World, n: number): Promise<ModelWorker> {
  const living = model.workers.filter(({ registered, locked }) => registered && locked);
  if (living.length >= 2) return pick(living, n) as ModelWorker;
  const worker = { id: await world.enter(), registered: true, locked: true, lost: false };
  model.workers.push(worker);
  return worker;
}

export async function expireLease(model: Model, world: World, n: number): Promise<void> {
  const job = pick(
    model.jobs.filter(({ leasedBy }) => leasedBy !== null),
    n,
  );
  if (!job) return;
  await world.meddle(
    "update ingestion_jobs set lease_expires_at = clock_timestamp() - interval '1 s' where job_id = $1",
    job.jobId,
  );
  job.expired = true;
}

export async function rescueAll(model: Model, world: World): Promise<void> {
  const rescued = await world.deps.db.kernel(async (tx) => {
    await markLostWorkers(tx);
    return rescueLeases(tx, { maxStrikes, limit: 100, silentMs: leaseMs });
  });
  const expected = model.rescue();
  const found = rescued.map(({ jobId, cause, struck }) => ({ jobId, cause, struck }));
  expect(found.sort((a, b) => (a.jobId < b.jobId ? -1 : 1))).toEqual(expected);
}

export async function killWorker(model: Model, world: World, n: number): Promise<void> {
  const worker = pick(model.workers, n);
  if (!worker) return;
  await world.unlock(worker.id);
  worker.locked = false;
}

/** The worker that holds a job dies, and a rescuer notices. */
export async function crashHolder(model: Model, world: World, n: number): Promise<void> {
  const leased = model.jobs.filter(({ leasedBy }) => leasedBy !== null);
  const worst = [...leased].sort((a, b) => b.strikes.length - a.strikes.length);
  const job = n % 4 === 0 ? pick(leased, n) : worst[0];
  const holder = model.workers.find(({ id }) => id === job?.leasedBy);
  if (!holder) return;
  await world.unlock(holder.id);
  holder.locked = false;
  await rescueAll(model, world);
}

export async function returnWorker(model: Model, world: World, n: number): Promise<void> {
  const worker = pick(
    model.workers.filter(({ locked, registered }) => !(locked && registered)),
    n,
  );
  if (!worker) return;
  await world.unlock(worker.id);
  await world.enter(worker.id);
  Object.assign(worker, { registered: true, locked: true, lost: false });
  for (const job of model.jobs) job.strikes = job.strikes.filter((id) => id !== worker.id);
}

/** Its row is gone while it holds leases: a clean exit never does that, so it counts as dead when they expire. */
export async function removeWorker(model: Model, world: World, n: number): Promise<void> {
  const worker = pick(model.workers, n);
  if (!worker) return;
  await world.deregister(worker.id);
  Object.assign(worker, { registered: false, locked: false, lost: false });
}
