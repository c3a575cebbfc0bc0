import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../kernel.ts';
import { type ChaosQuota, type FaultKind, faultKinds } from './chaos-quota.ts';
import { type ChaosStage, openStage } from './chaos-stage.ts';
import { type ChaosFindings, examine } from './chaos-verdict.ts';
import { faults } from './faults.ts';
import { type JobGenerator, openGenerator } from './job-generator.ts';

/**
 * Jobs over real worker processes while workers are killed and stopped, connections are ended and cut, and
 * PostgreSQL itself is killed; then every row is compared with the ledgers that were kept outside the database.
 */
export async function runKernelChaos(quota: ChaosQuota, seed: number): Promise<ChaosFindings> {
  const stage = await openStage(quota, seed);
  let keepFiles = true;
  try {
    const generator = openGenerator({ ...stage, findJob: (key) => findJob(stage, key) });
    try {
      for (let place = 0; place < quota.workers; place += 1) stage.placeWorker(place);
      await faultsWhileWorking(stage, generator);
      await untilFinished(stage, generator);
    } finally {
      await generator.close();
    }
    const findings = await examine(stage, generator.dispatched);
    keepFiles = findings.breaches.length > 0;
    return findings;
  } finally {
    await stage.close({ keepFiles });
  }
}

async function faultsWhileWorking(stage: ChaosStage, generator: JobGenerator): Promise<void> {
  const { quota, random } = stage;
  const plan = random.shuffle(faultKinds.flatMap((kind) => Array<FaultKind>(quota[kind]).fill(kind)));
  let reached = 0;
  // Jobs arrive over the whole time, so that every fault finds some at work.
  const arriving = (async () => {
    while (generator.dispatched.size < quota.jobs) {
      await generator.dispatchUpTo(Math.ceil((quota.jobs * (reached + 1)) / plan.length));
      await pause(10);
    }
  })();
  // A generator that fails must end the run, not only the last line of it.
  let failure: unknown = null;
  arriving.catch((error: unknown) => {
    failure = error;
  });
  for (const kind of plan) {
    await inflict(stage, kind);
    if (failure !== null) break;
    reached += 1;
    await replaceDead(stage);
    await pause(random.next() * quota.pauseMs);
  }
  await arriving;
}

const maxTries = 20;

/** Until it has really happened: a worker may have run out of work just then. */
async function inflict(stage: ChaosStage, kind: FaultKind): Promise<void> {
  const before = stage.done[kind];
  for (let attempt = 1; stage.done[kind] === before && attempt <= maxTries; attempt += 1) {
    await faults[kind](stage);
    if (stage.done[kind] === before) await pause(50);
  }
}

/** A worker that cannot start because the database is away ends; whoever runs it starts it again. */
async function replaceDead(stage: ChaosStage): Promise<void> {
  for (const [place, worker] of stage.places.entries()) {
    if (worker.child.exitCode !== null || worker.child.signalCode !== null) stage.placeWorker(place);
  }
}

async function untilFinished(stage: ChaosStage, generator: JobGenerator): Promise<void> {
  const unfinished = async (): Promise<number> => {
    await replaceDead(stage);
    const [row] = await stage.owner<{ open: string }>(
      `select count(*) as open from ingestion_jobs where status not in ('success', 'dead_letter')`,
    );
    return Number(row?.open);
  };
  await eventually(
    async () => (await unfinished()) === 0,
    `all ${generator.dispatched.size} jobs are finished (ledgers and logs: ${stage.fleet.dir})`,
    60_000,
  );
}

async function findJob(
  { owner }: ChaosStage,
  { tenantId, subjectId }: { tenantId: string; subjectId: string },
): Promise<string | null> {
  const rows = await owner<{ jobId: string }>(
    'select job_id as "jobId" from ingestion_jobs where tenant_id = $1 and subject_id = $2',
    [tenantId, subjectId],
  );
  return rows[0]?.jobId ?? null;
}
