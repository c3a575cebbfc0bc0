import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../kernel.ts';
import { waitUntilReady } from '../postgres-server.ts';
import type { FaultKind } from './chaos-quota.ts';
import type { ChaosStage } from './chaos-stage.ts';
import type { WorkerProcess } from './worker-fleet.ts';

/** One fault of each kind. Each counts itself only when it has really happened. */
export const faults: Record<FaultKind, (stage: ChaosStage) => Promise<void>> = {
  kills: killWorker,
  zombies: stopAndWakeWorker,
  backends: endBackend,
  restarts: killPostgres,
  cuts: cutConnection,
};

async function killWorker(stage: ChaosStage): Promise<void> {
  const worker = await busyWorker(stage);
  if (!worker?.workerId || (await holdsTwiceStruck(stage, worker.workerId))) return;
  await stage.fleet.kill(worker);
  stage.killed.push({ workerId: worker.workerId, at: worker.killedAt ?? 0 });
  stage.placeWorker(stage.places.indexOf(worker));
  stage.done.kills += 1;
}

/** A healthy job that is hit for the third time in a row cannot be told from a poisonous one by anybody. */
async function holdsTwiceStruck({ owner }: ChaosStage, workerId: string): Promise<boolean> {
  const rows = await owner(
    'select 1 from ingestion_jobs where leased_by = $1 and cardinality(struck_by) >= 2',
    [workerId],
  );
  return rows.length > 0;
}

/** Stops a worker that holds leases under its lock, until others have taken them; then it writes too late. */
async function stopAndWakeWorker(stage: ChaosStage): Promise<void> {
  const worker = await busyWorker(stage);
  if (!worker?.workerId) return;
  const { workerId } = worker;
  const at = Date.now();
  worker.child.kill('SIGSTOP');
  try {
    if (!(await holdsLeasesUnderLock(stage, workerId))) return;
    await eventually(
      async () => (await leasesOf(stage, workerId)) === 0,
      'a zombie loses its leases',
      20_000,
    );
  } finally {
    worker.child.kill('SIGCONT');
  }
  const [taken] = await stage.owner<{ count: string }>(
    `select count(*) from events
      where type = 'job.rescued' and data ->> 'worker_id' = $1 and occurred_at >= to_timestamp($2 / 1000.0)`,
    [workerId, at],
  );
  // Its last statements may have been on their way when it was stopped: then there was nothing to take.
  if (Number(taken?.count) === 0) return;
  stage.stopped.push({ workerId, at, wokenAt: Date.now() });
  stage.done.zombies += 1;
}

async function holdsLeasesUnderLock(stage: ChaosStage, workerId: string): Promise<boolean> {
  const rows = await stage.owner(
    `select 1 from workers w
      where w.worker_id = $1 and w.lost_at is null
        and exists (select from ingestion_jobs j where j.leased_by = w.worker_id)
        and exists (select from pg_locks l
                     where l.locktype = 'advisory'
                       and ((l.classid::bigint << 32) | l.objid::bigint) = w.lock_key)`,
    [workerId],
  );
  return rows.length > 0;
}

async function leasesOf({ owner }: ChaosStage, workerId: string): Promise<number> {
  return (await owner('select 1 from ingestion_jobs where leased_by = $1', [workerId])).length;
}

async function endBackend(stage: ChaosStage): Promise<void> {
  const backends = await stage.owner<{ pid: number }>(
    `select pid from pg_stat_activity where usename = 'sluice_app' order by backend_start`,
  );
  const backend = stage.random.pick(backends);
  if (!backend) return;
  const [row] = await stage.owner<{ ended: boolean }>('select pg_terminate_backend($1) as ended', [
    backend.pid,
  ]);
  if (row?.ended) stage.done.backends += 1;
}

async function killPostgres(stage: ChaosStage): Promise<void> {
  const { pid, ownerUrl } = stage.server;
  process.kill(pid, 'SIGKILL');
  await eventually(async () => stage.server.pid !== pid, 'PostgreSQL is started again', 60_000);
  await waitUntilReady(ownerUrl, 30_000);
  stage.readyAgainAt.push(Date.now());
  stage.done.restarts += 1;
}

/** What networks do, by turns. */
async function cutConnection(stage: ChaosStage): Promise<void> {
  const { poolProxy, guardProxy } = stage;
  const pick = stage.random.below;
  const kinds: Record<string, () => Promise<boolean>> = {
    'answer to COMMIT lost': () => loseCommit(stage),
    cut: async () => poolProxy.cut(pick),
    'half-open': async () => poolProxy.silence(pick),
    'guard cut': async () => guardProxy.cut(pick),
    'slow, then cut': async () => {
      const sever = poolProxy.delay(pick, 150);
      await pause(400);
      sever?.();
      return sever !== null;
    },
  };
  const names = Object.keys(kinds);
  const name = names[stage.done.cuts % names.length] ?? 'cut';
  if (!(await kinds[name]?.())) return;
  stage.cutsByKind[name] = (stage.cutsByKind[name] ?? 0) + 1;
  stage.done.cuts += 1;
}

async function loseCommit({ poolProxy }: ChaosStage): Promise<boolean> {
  let isLost = false;
  void poolProxy.loseNextCommit().then(() => {
    isLost = true;
  });
  await eventually(async () => isLost, 'a COMMIT passes through the proxy', 20_000);
  return isLost;
}

async function busyWorker({ places, random }: ChaosStage): Promise<WorkerProcess | undefined> {
  const busy = () =>
    places.filter(
      ({ workerId, busyWith, child }) => workerId !== null && busyWith.size > 0 && child.exitCode === null,
    );
  await eventually(async () => busy().length > 0, 'a worker has work', 30_000);
  return random.pick(busy());
}
