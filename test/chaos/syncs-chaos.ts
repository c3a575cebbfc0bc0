import { setTimeout as pause } from 'node:timers/promises';
import type { CommandLine } from '../support/servers/command-line.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { syncFaults } from './syncs-faults.ts';
import { endRunsInTime } from './syncs-moods.ts';
import { type SyncsFault, type SyncsQuota, syncsFaults } from './syncs-quota.ts';
import { openSyncsStage, type SyncsStage } from './syncs-stage.ts';
import { examineSyncs } from './syncs-verdict.ts';

export interface SyncsFindings {
  stage: SyncsStage;
  breaches: string[];
  tookMs: { faults: number; rest: number };
}

/**
 * Syncs over real processes before an Airbyte with moods: workers are killed and stopped, above all while the answer
 * to a trigger is on its way, and connections are ended and cut. At the end every sync is compared with what was
 * acknowledged and with the ledger of Airbyte.
 */
export async function runSyncsChaos(
  sluice: CommandLine,
  database: TestDatabase,
  options: { quota: SyncsQuota; seed: number },
): Promise<SyncsFindings> {
  const stage = await openSyncsStage(sluice, database, options);
  const stopEnding = endRunsInTime(stage);
  try {
    const faults = await timed(() => faultsWhileSyncing(stage));
    stage.airbyte.recover();
    const rest = await timed(() => untilEnded(stage));
    return { stage, breaches: await examineSyncs(stage), tookMs: { faults, rest } };
  } finally {
    stopEnding();
    await stage.close();
  }
}

/** The report of a run. */
export function describeSyncs({ stage, breaches, tookMs }: SyncsFindings, seed: number): string {
  const { airbyte, asked, done } = stage;
  const counts = syncsFaults.map((kind) => `${done[kind]} ${kind}`).join(', ');
  const triggers = airbyte.requestsOf('trigger');
  const unanswered = triggers.filter(({ status }) => status === null).length;
  return [
    `seed ${seed}: ${asked.length} syncs, ${breaches.length} breaches; ${counts}`,
    `${stage.killedAtTrigger} kills between Airbyte's run and its answer; moods: ${JSON.stringify(stage.moodsByKind)}`,
    `${airbyte.requests.length} requests, ${triggers.length} triggers, ${unanswered} of them without an answer, ` +
      `${airbyte.requestsOf('list_jobs').length} look-ups, ${airbyte.state.jobs.length} runs`,
    `milliseconds: ${JSON.stringify(tookMs)}`,
  ].join('\n');
}

async function faultsWhileSyncing(stage: SyncsStage): Promise<void> {
  const { quota, random, asked } = stage;
  const plan = random.shuffle(syncsFaults.flatMap((kind) => Array<SyncsFault>(quota[kind]).fill(kind)));
  let isOver = false;
  let failure: unknown = null;
  // Each connector is synced again as soon as it can be, until all faults have happened.
  const arriving = (async () => {
    while (!isOver || asked.length < quota.syncs) {
      const idle = await stage.listIdle();
      // Some are reserved for faults that need their own sync.
      const wanted = random.shuffle(idle).slice(0, Math.max(0, Math.min(8, idle.length - 5)));
      await Promise.all(wanted.map((connector) => stage.syncNow(connector)));
      await stage.passLostProbes();
      await pause(100);
    }
  })();
  arriving.catch((error: unknown) => {
    failure = error;
  });
  await eventually(
    async () => failure !== null || stage.airbyte.state.jobs.length > 0,
    'the first sync runs',
    30_000,
  );
  const startedAtMs = performance.now();
  for (const [number, kind] of plan.entries()) {
    const dueMs = startedAtMs + (quota.spreadMs * number) / plan.length;
    await pause(Math.max(0, dueMs - performance.now()));
    await inflict(stage, kind);
    if (failure !== null) break;
    stage.replaceDead();
  }
  isOver = true;
  await arriving;
}

const patienceMs = 30_000;

/** Repeats until it has really happened: nothing may have been running at that moment. */
async function inflict(stage: SyncsStage, kind: SyncsFault): Promise<void> {
  const before = stage.done[kind];
  const hasHappened = async (): Promise<boolean> => {
    stage.replaceDead();
    await syncFaults[kind](stage);
    return stage.done[kind] !== before;
  };
  await eventually(hasHappened, `a fault of kind ${kind} comes about`, patienceMs);
}

async function untilEnded(stage: SyncsStage): Promise<void> {
  const hasEnded = async (): Promise<boolean> => {
    stage.replaceDead();
    await stage.passLostProbes();
    return (await stage.listIdle()).length === stage.connectors.length;
  };
  await eventually(hasEnded, 'every sync has ended', 120_000);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return Math.round(performance.now() - startedAtMs);
}
