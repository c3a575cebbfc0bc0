import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { waitUntilReady } from '../support/fakes/postgres-server.ts';
import type { TcpProxy } from '../support/fakes/tcp-proxy.ts';
import { eventually } from '../support/worlds/kernel.ts';
import type { FaultKind, FaultTarget } from './chaos-quota.ts';
import type { ChaosStage } from './chaos-stage.ts';

/** One fault of each kind. Each counts itself only when it has really happened. */
export const faults: Record<FaultKind, (stage: ChaosStage, target: FaultTarget) => Promise<void>> = {
  kills: killWorker,
  zombies: stopAndWakeWorker,
  backends: endBackend,
  restarts: killPostgres,
  cuts: cutConnection,
};

/** A worker process that is processing the target of the fault. */
interface Victim {
  workerId: string;
  child: ChildProcess;
  /** kill -9; resolves when the process is gone and another one is in its place. */
  kill(): Promise<void>;
}

async function killWorker(stage: ChaosStage, target: FaultTarget): Promise<void> {
  const victim = await findVictim(stage, target);
  if (!victim) return;
  const { workerId, child } = victim;
  // Stopped first: between checking and killing it could claim a job with two strikes.
  child.kill('SIGSTOP');
  const isSpared = await isNoVictim(stage, victim, target).catch(() => true);
  if (isSpared) {
    child.kill('SIGCONT');
    return;
  }
  const at = Date.now();
  await victim.kill();
  stage.killed.push({ workerId, at, target });
  stage.done.kills += 1;
}

/** An upload that ended while the worker was chosen has no lease to take back. */
async function isNoVictim(stage: ChaosStage, victim: Victim, target: FaultTarget): Promise<boolean> {
  if (target === 'uploads' && (await leasesOf(stage, victim.workerId)) === 0) return true;
  return isTooOften(stage, victim);
}

/** Nobody can tell a healthy job or item that is hit three times in a row from a poisonous one. */
async function isTooOften(stage: ChaosStage, { workerId }: Victim): Promise<boolean> {
  const rows = await stage.owner(
    'select 1 from ingestion_jobs where leased_by = $1 and cardinality(struck_by) >= 2',
    [workerId],
  );
  return rows.length > 0 || (await hasCrashedItems(stage));
}

async function hasCrashedItems({ owner, product }: ChaosStage): Promise<boolean> {
  if (product === null) return false;
  const rows = await owner(`select 1 from job_items where status = 'PROCESSING' and crashes >= 2 limit 1`);
  return rows.length > 0;
}

/** Stops a worker until others have taken what it holds; what it writes when it is woken comes too late. */
async function stopAndWakeWorker(stage: ChaosStage, target: FaultTarget): Promise<void> {
  const victim = await findVictim(stage, target);
  if (!victim || (await isTooOften(stage, victim))) return;
  const { workerId, child } = victim;
  const at = Date.now();
  child.kill('SIGSTOP');
  try {
    const holds = target === 'items' ? itemsHeldBy : leasesUnderLock;
    if ((await holds(stage, workerId)) === 0) return;
    const left = target === 'items' ? itemsHeldBy : leasesOf;
    await eventually(
      async () => (await left(stage, workerId)) === 0,
      `the stopped worker ${workerId} loses its ${target}`,
      30_000,
    );
  } finally {
    child.kill('SIGCONT');
  }
  // Its last statements may have been in flight when it was stopped: then there was nothing to take over.
  if (target !== 'items' && (await rescuesSince(stage, workerId, at)) === 0) return;
  stage.stopped.push({ workerId, at, wokenAt: Date.now(), target });
  stage.done.zombies += 1;
}

async function rescuesSince({ owner }: ChaosStage, workerId: string, at: number): Promise<number> {
  const rows = await owner(
    `select 1 from events
      where type = 'job.rescued' and data ->> 'worker_id' = $1 and occurred_at >= to_timestamp($2 / 1000.0)`,
    [workerId, at],
  );
  return rows.length;
}

async function leasesUnderLock({ owner }: ChaosStage, workerId: string): Promise<number> {
  const rows = await owner(
    `select 1 from workers w
      where w.worker_id = $1 and w.lost_at is null
        and exists (select from ingestion_jobs j where j.leased_by = w.worker_id)
        and exists (select from pg_locks l
                     where l.locktype = 'advisory'
                       and ((l.classid::bigint << 32) | l.objid::bigint) = w.lock_key)`,
    [workerId],
  );
  return rows.length;
}

async function leasesOf({ owner }: ChaosStage, workerId: string): Promise<number> {
  return (await owner('select 1 from ingestion_jobs where leased_by = $1', [workerId])).length;
}

async function itemsHeldBy({ owner }: ChaosStage, workerId: string): Promise<number> {
  const rows = await owner(`select 1 from job_items where status = 'PROCESSING' and locked_by = $1`, [
    workerId,
  ]);
  return rows.length;
}

async function endBackend(stage: ChaosStage): Promise<void> {
  // Losing its guard connection costs a worker its items too.
  if (await hasCrashedItems(stage)) return;
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

/** The product stops restarting PostgreSQL when it dies ten times within a minute of its start. */
const stableMs = 61_000;

async function killPostgres(stage: ChaosStage): Promise<void> {
  if (await hasCrashedItems(stage)) return;
  const readyAt = stage.readyAgainAt.at(-1) ?? 0;
  if (stage.quota.restarts >= 10 && Date.now() - readyAt < stableMs)
    await pause(stableMs - (Date.now() - readyAt));
  const { pid, ownerUrl } = stage.server;
  process.kill(pid, 'SIGKILL');
  await eventually(async () => stage.server.pid !== pid, 'PostgreSQL is started again', 60_000);
  await waitUntilReady(ownerUrl, 30_000);
  stage.readyAgainAt.push(Date.now());
  stage.done.restarts += 1;
}

/** Network faults in turn; every second round on the server's connections. */
async function cutConnection(stage: ChaosStage): Promise<void> {
  const { poolProxy, guardProxy, serverProxy, product } = stage;
  const pick = stage.random.below;
  const names = ['answer to COMMIT lost', 'cut', 'half-open', 'guard cut', 'slow, then cut'] as const;
  const isServers = product !== null && Math.floor(stage.done.cuts / names.length) % 2 === 1;
  const proxy = isServers ? serverProxy : poolProxy;
  const kinds: Record<(typeof names)[number], () => Promise<boolean>> = {
    'answer to COMMIT lost': () => loseCommit(stage, proxy),
    cut: async () => proxy.cut(pick),
    'half-open': async () => poolProxy.silence(pick),
    'guard cut': async () => guardProxy.cut(pick),
    'slow, then cut': async () => {
      const sever = proxy.delay(pick, 150);
      await pause(400);
      sever?.();
      return sever !== null;
    },
  };
  const name = names[stage.done.cuts % names.length] ?? 'cut';
  if (!(await kinds[name]())) return;
  stage.cutsByKind[name] = (stage.cutsByKind[name] ?? 0) + 1;
  stage.done.cuts += 1;
}

async function loseCommit({ product }: ChaosStage, proxy: TcpProxy): Promise<boolean> {
  let isLost = false;
  void proxy.loseNextCommit().then(() => {
    isLost = true;
  });
  // Something to commit, also when nobody else sends anything just then.
  await product?.sendExtra('uploads');
  await eventually(async () => isLost, 'a COMMIT passes through the proxy', 60_000);
  return isLost;
}

async function findVictim(stage: ChaosStage, target: FaultTarget): Promise<Victim | null> {
  if (target === 'jobs') return findProbeWorker(stage);
  const { product, random, owner } = stage;
  const rows = await owner<{ workerId: string }>(holdersOf[target]);
  const holders = new Set(rows.map(({ workerId }) => workerId));
  const worker = random.pick(
    (product?.workers ?? []).filter(
      ({ workerId, isLiving }) => isLiving && workerId !== null && holders.has(workerId),
    ),
  );
  if (!worker?.workerId) return null;
  const { running, workerId } = worker;
  return {
    workerId,
    child: running.child,
    async kill() {
      running.child.kill('SIGKILL');
      await running.ended;
      product?.replaceDead();
    },
  };
}

const holdersOf = {
  uploads: `
    select distinct leased_by as "workerId"
      from ingestion_jobs
     where pipeline = 'uploads' and leased_by is not null`,
  knowledge: `
    select distinct leased_by as "workerId"
      from ingestion_jobs
     where pipeline = 'knowledge' and payload ->> 'referenceId' is null and leased_by is not null`,
  scrapes: `
    select distinct leased_by as "workerId"
      from ingestion_jobs
     where pipeline = 'knowledge' and payload ->> 'referenceId' is not null and leased_by is not null`,
  items: `select distinct locked_by as "workerId" from job_items where status = 'PROCESSING'`,
};

/** The busiest one; any of them if there are several. */
function findProbeWorker({ places, random, fleet, placeWorker }: ChaosStage): Victim | null {
  const most = Math.max(1, ...places.map(({ busyWith }) => busyWith.size));
  const worker = random.pick(
    places.filter(
      ({ workerId, busyWith, child }) =>
        workerId !== null && busyWith.size === most && child.exitCode === null && child.signalCode === null,
    ),
  );
  if (!worker?.workerId) return null;
  return {
    workerId: worker.workerId,
    child: worker.child,
    async kill() {
      await fleet.kill(worker);
      placeWorker(places.indexOf(worker));
    },
  };
}
