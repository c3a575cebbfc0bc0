import { eventually } from '../support/worlds/kernel.ts';
import { endRandomBackend } from './end-backend.ts';
import type { ItemWorker } from './items-stage.ts';
import { sufferMood } from './syncs-moods.ts';
import type { SyncsFault } from './syncs-quota.ts';
import type { SyncedConnector, SyncsStage } from './syncs-stage.ts';

/** One fault of each kind. Each counts itself only when it has really happened. */
export const syncFaults: Record<SyncsFault, (stage: SyncsStage) => Promise<void>> = {
  kills: (stage) => (stage.done.kills % 2 === 0 ? killAtTrigger(stage) : killAnywhere(stage)),
  zombies: stopAtTrigger,
  backends: endBackend,
  cuts: cutConnection,
  moods: sufferMood,
};

/** Airbyte has started the run, and the worker dies before it gets the response. */
async function killAtTrigger(stage: SyncsStage): Promise<void> {
  await whileTriggering(stage, async (worker, { connection }) => {
    if (!(await killSparingly(stage, worker))) return;
    // It ends before anybody looks, so only the list of jobs can show it.
    for (const run of stage.airbyte.jobsOf(connection.connectionId))
      stage.airbyte.state.setStatus(run, 'succeeded');
    stage.killedAtTrigger += 1;
  });
}

async function killAnywhere(stage: SyncsStage): Promise<void> {
  const rows = await stage.database.owner<{ workerId: string }>(
    'select distinct leased_by as "workerId" from ingestion_jobs where leased_by is not null',
  );
  const holders = new Set(rows.map(({ workerId }) => workerId));
  const worker = stage.random.pick(
    stage.workers.filter(({ workerId, isLiving }) => isLiving && workerId !== null && holders.has(workerId)),
  );
  if (worker) await killSparingly(stage, worker);
}

/**
 * A healthy sync that is hit for the third time in a row cannot be told from a poisonous one by anybody; and while one
 * tries for all whether Airbyte is back, the others have nothing to do.
 */
async function killSparingly(stage: SyncsStage, { running, workerId }: ItemWorker): Promise<boolean> {
  running.child.kill('SIGSTOP');
  const isSpared = await isTooMuch(stage, workerId);
  if (isSpared) {
    running.child.kill('SIGCONT');
    return false;
  }
  running.child.kill('SIGKILL');
  await running.ended;
  stage.done.kills += 1;
  stage.replaceDead();
  return true;
}

async function isTooMuch({ database }: SyncsStage, workerId: string | null): Promise<boolean> {
  const rows = await database.owner(
    `select 1 from ingestion_jobs where leased_by = $1 and cardinality(struck_by) >= 2
     union all
     select 1 from circuit_breakers where state = 'probing'`,
    [workerId],
  );
  return rows.length > 0;
}

/** Until others have its sync: what it learns from Airbyte when it is woken comes too late. */
async function stopAtTrigger(stage: SyncsStage): Promise<void> {
  await whileTriggering(stage, async ({ running, workerId }, { connectorId }) => {
    running.child.kill('SIGSTOP');
    try {
      if (await isTooMuch(stage, workerId)) return;
      await eventually(
        async () => (await holderOf(stage, connectorId)) !== workerId,
        `others take the sync of ${connectorId} from the stopped worker ${workerId}`,
        30_000,
      );
    } finally {
      running.child.kill('SIGCONT');
    }
    stage.done.zombies += 1;
  });
}

/** Lets Airbyte start a run and holds back its response until the work is done; null without a trigger. */
async function whileTriggering(
  stage: SyncsStage,
  work: (worker: ItemWorker, connector: SyncedConnector) => Promise<void>,
): Promise<void> {
  const { airbyte } = stage;
  const connector = stage.random.pick(await stage.listIdle());
  if (!connector) return;
  let release = () => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { connectionId } = connector.connection;
  const before = airbyte.jobsOf(connectionId).length;
  try {
    await stage.withAirbyte(async () => {
      airbyte.recover();
      airbyte.trouble({ kind: 'trigger', connectionId, times: 1 }, { type: 'held', until });
      if (!(await stage.syncNow(connector))) return;
      await untilOrLonger(() => airbyte.jobsOf(connectionId).length > before);
    });
    if (airbyte.jobsOf(connectionId).length === before) return;
    const holder = await holderOf(stage, connector.connectorId);
    const worker = stage.workers.find(({ workerId, isLiving }) => isLiving && workerId === holder);
    if (worker && holder !== null) await work(worker, connector);
  } finally {
    release();
  }
}

const patienceMs = 3_000;

/** Another process may interfere so that it never comes; then the fault is tried again. */
function untilOrLonger(condition: () => boolean): Promise<void> {
  return eventually(async () => condition(), 'a trigger comes', patienceMs).catch(() => {});
}

async function holderOf({ database }: SyncsStage, connectorId: string): Promise<string | null> {
  const [row] = await database.owner<{ holder: string | null }>(
    `select leased_by as holder from ingestion_jobs
      where connector_id = $1
      order by job_id desc
      limit 1`,
    [connectorId],
  );
  return row?.holder ?? null;
}

async function endBackend(stage: SyncsStage): Promise<void> {
  if (await endRandomBackend(stage)) stage.done.backends += 1;
}

/** Network faults in turn. */
async function cutConnection(stage: SyncsStage): Promise<void> {
  const { poolProxy, guardProxy, random } = stage;
  const kinds = [
    async () => poolProxy.cut(random.below),
    () => loseCommit(stage),
    async () => poolProxy.silence(random.below),
    async () => guardProxy.cut(random.below),
  ];
  if (await kinds[stage.done.cuts % kinds.length]?.()) stage.done.cuts += 1;
}

async function loseCommit({ poolProxy }: SyncsStage): Promise<boolean> {
  let isLost = false;
  void poolProxy.loseNextCommit().then(() => {
    isLost = true;
  });
  await untilOrLonger(() => isLost);
  return isLost;
}
