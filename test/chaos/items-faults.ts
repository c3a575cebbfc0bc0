import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/worlds/kernel.ts';
import { endRandomBackend } from './end-backend.ts';
import type { ItemsRun } from './items-chaos.ts';
import type { ItemsFault } from './items-quota.ts';
import type { ItemWorker } from './items-stage.ts';

/** One fault of each kind. Each counts itself only when it has really happened. */
export const itemFaults: Record<ItemsFault, (run: ItemsRun) => Promise<void>> = {
  kills: killWorker,
  zombies: stopAndWakeWorker,
  backends: endBackend,
  pauses: pauseAndResume,
};

/** Alternates between a worker that holds items and any worker: pure processors leave no trace of a claim. */
async function killWorker(run: ItemsRun): Promise<void> {
  const holders = await findHolders(run);
  if (holders.some(({ crashes }) => crashes >= 2)) return;
  const wantsHolder = run.done.kills % 2 === 0;
  const able = run.workers.filter(
    ({ workerId, isLiving }) =>
      isLiving &&
      workerId !== null &&
      (!wantsHolder || holders.some((holder) => holder.workerId === workerId)),
  );
  const worker = run.random.pick(able);
  if (!worker || !(await hasWork(run))) return;
  worker.running.child.kill('SIGKILL');
  await worker.running.ended;
  run.killedWithItems += wantsHolder ? 1 : 0;
  run.done.kills += 1;
  run.replaceDead();
}

/** Until others have taken its items: what it commits when it is woken comes too late. */
async function stopAndWakeWorker(run: ItemsRun): Promise<void> {
  const holders = await findHolders(run);
  if (holders.some(({ crashes }) => crashes >= 2)) return;
  const worker = run.random.pick(
    run.workers.filter(
      ({ workerId, isLiving }) => isLiving && holders.some((holder) => holder.workerId === workerId),
    ),
  );
  if (!worker) return;
  worker.running.child.kill('SIGSTOP');
  try {
    const held = await itemsHeldBy(run, worker);
    if (held === 0) return;
    await eventually(
      async () => (await itemsHeldBy(run, worker)) === 0,
      `others take the items of the stopped worker ${worker.workerId}`,
      30_000,
    );
    run.takenFromZombies += held;
  } finally {
    worker.running.child.kill('SIGCONT');
  }
  run.done.zombies += 1;
}

async function endBackend(run: ItemsRun): Promise<void> {
  // Losing its guard connection costs a worker its items too.
  if ((await findHolders(run)).some(({ crashes }) => crashes >= 2)) return;
  if (await endRandomBackend(run)) run.done.backends += 1;
}

/** While a job is paused nobody claims any of its items, and nobody can kick it off. */
async function pauseAndResume(run: ItemsRun): Promise<void> {
  const job = run.random.pick(await run.listOpenJobs());
  if (!job) return;
  const url = `/api/jobs/${job.jobId}`;
  if ((await run.ask(job.tenantId, 'POST', `${url}/pause`, [200, 409])).status !== 200) return;
  const [paused] = await run.database.owner<{ at: string }>('select clock_timestamp()::text as at');
  const kicked = await run.ask(job.tenantId, 'POST', `${url}/kickoff?durationMs=100`, [200, 409]);
  await pause(400);
  const claimed = await run.database.owner(
    `select 1 from job_items i join ingestion_jobs j using (tenant_id, job_id)
      where i.job_id = $1 and i.status = 'PROCESSING' and i.locked_at > $2::timestamptz`,
    [job.jobId, paused?.at],
  );
  if (claimed.length > 0)
    run.breaches.push(`${claimed.length} items of ${job.jobId} were claimed while paused`);
  const resumed = await run.ask(job.tenantId, 'POST', `${url}/resume`, [200, 409]);
  // What was in flight at the pause may have been the last of it: then it is finished and not resumed.
  if (resumed.status === 200 && kicked.status !== 409) {
    run.breaches.push(`the paused job ${job.jobId} was kicked off: ${JSON.stringify(kicked.body)}`);
  }
  run.done.pauses += 1;
}

interface Holder {
  workerId: string;
  /** The most crashes of an item that it has. */
  crashes: number;
}

/** Nobody can tell an item that is hit three times in a row from a poisonous one. */
function findHolders({ database }: ItemsRun): Promise<Holder[]> {
  return database.owner<Holder>(
    `select locked_by as "workerId", max(crashes) as crashes
       from job_items
      where status = 'PROCESSING'
      group by locked_by`,
  );
}

async function itemsHeldBy({ database }: ItemsRun, { workerId }: ItemWorker): Promise<number> {
  const rows = await database.owner(
    `select 1 from job_items where status = 'PROCESSING' and locked_by = $1`,
    [workerId],
  );
  return rows.length;
}

async function hasWork(run: ItemsRun): Promise<boolean> {
  return (await run.listOpenJobs()).length > 0;
}
