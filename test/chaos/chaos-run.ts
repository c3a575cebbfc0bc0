import { setTimeout as pause } from 'node:timers/promises';
import type { CommandLine } from '../support/servers/command-line.ts';
import { type ChaosQuota, type FaultKind, type FaultTarget, faultKinds } from './chaos-quota.ts';
import { type ChaosStage, openStage } from './chaos-stage.ts';
import { type ChaosFindings, examine } from './chaos-verdict.ts';
import { faults } from './faults.ts';
import { type JobGenerator, openGenerator } from './job-generator.ts';
import type { ProductStage } from './product-stage.ts';
import { examineProduct, type ProductFindings, untilFinished } from './product-verdict.ts';

export interface RunFindings extends ChaosFindings, ProductFindings {
  tookMs: { faults: number; rest: number; verdict: number };
}

/**
 * Jobs, files of rows, ad reports, knowledge bases and scraped references over real processes and HTTP while workers
 * are killed and stopped, connections are ended and cut, and PostgreSQL itself is killed; then every row is compared
 * with the ledgers that were kept outside the database.
 */
export async function runChaos(quota: ChaosQuota, seed: number, sluice: CommandLine): Promise<RunFindings> {
  const stage = await openStage(quota, seed, sluice);
  let keepFiles = true;
  try {
    const generator = openGenerator({ ...stage, findJob: (key) => findJob(stage, key) });
    try {
      for (let place = 0; place < quota.workers; place += 1) stage.placeWorker(place);
      const faultsMs = await timed(() => faultsWhileWorking(stage, generator));
      const rest = await timed(() => untilFinished(stage, () => replaceDead(stage)));
      const startedAtMs = performance.now();
      const findings = await examineAll(stage, generator);
      keepFiles = findings.breaches.length > 0;
      const verdict = Math.round(performance.now() - startedAtMs);
      return { ...findings, tookMs: { faults: faultsMs, rest, verdict } };
    } finally {
      await generator.close();
    }
  } finally {
    await stage.close({ keepFiles });
  }
}

interface PlannedFault {
  kind: FaultKind;
  target: FaultTarget;
}

/** In any order, but kills of PostgreSQL are spread evenly: right after one there is little to hit. */
function planFaults({ quota, random }: Pick<ChaosStage, 'quota' | 'random'>): PlannedFault[] {
  const targets = targetsOf(quota);
  // The ingestion of one reference is over before a worker that holds it can be stopped for long enough.
  const stoppable = targets.filter((target) => target !== 'scrapes');
  const zombieTargets: FaultTarget[] = quota.workers > 0 ? ['jobs', ...stoppable] : stoppable;
  const plan: PlannedFault[] = random.shuffle(
    faultKinds
      .filter((kind) => kind !== 'restarts')
      .flatMap((kind) =>
        Array.from({ length: quota[kind] }, (_, number) => ({
          kind,
          target: turnOf(kind === 'zombies' ? zombieTargets : targets, number),
        })),
      ),
  );
  const every = plan.length / (quota.restarts + 1);
  for (let number = quota.restarts; number > 0; number -= 1)
    plan.splice(Math.round(number * every), 0, { kind: 'restarts', target: 'jobs' });
  return plan;
}

const turnOf = (targets: readonly FaultTarget[], number: number): FaultTarget =>
  targets[number % targets.length] ?? 'jobs';

/** Jobs of the probe more often than the others: only its workers say how many late writes were refused. */
function targetsOf({ workers, product }: ChaosQuota): FaultTarget[] {
  return [
    ...(workers > 0 ? (['jobs', 'jobs'] as const) : []),
    ...(product && product.reports > 0 ? (['uploads'] as const) : []),
    ...(product?.items ? (['items'] as const) : []),
    ...(product?.bases ? (['knowledge'] as const) : []),
    ...(product?.pushes ? (['scrapes'] as const) : []),
  ];
}

const reportEveryMs = 30_000;

async function faultsWhileWorking(stage: ChaosStage, generator: JobGenerator): Promise<void> {
  const { quota, product } = stage;
  const plan = planFaults(stage);
  const startedAtMs = performance.now();
  let reached = 0;
  // Work arrives over the whole time, so that every fault finds some; a generator that fails must end the run.
  let failure: unknown = null;
  const arriving = (async () => {
    while (reached < plan.length && failure === null) {
      const share = (reached + 1) / plan.length;
      const due = Math.ceil(quota.jobs * share);
      await Promise.all([generator.dispatchUpTo(Math.min(due, quota.jobs)), product?.sendUpTo(share)]);
      await pause(10);
    }
    await Promise.all([generator.dispatchUpTo(quota.jobs), product?.sendUpTo(1)]);
  })();
  arriving.catch((error: unknown) => {
    failure = error;
  });
  let reportedAtMs = startedAtMs;
  for (const [number, fault] of plan.entries()) {
    const dueMs = startedAtMs + (quota.spreadMs * number) / plan.length;
    await pause(Math.max(0, dueMs - performance.now()));
    await inflict(stage, generator, fault);
    if (failure !== null) break;
    reached += 1;
    replaceDead(stage);
    if (performance.now() - reportedAtMs > reportEveryMs) {
      reportedAtMs = performance.now();
      console.log(progressOf(stage, generator, reportedAtMs - startedAtMs));
    }
  }
  await arriving;
}

function progressOf(
  { done, quota, product }: ChaosStage,
  generator: JobGenerator,
  elapsedMs: number,
): string {
  const counts = faultKinds.map((kind) => `${done[kind]}/${quota[kind]} ${kind}`).join(', ');
  const sent = product ? `, ${product.uploaded.length} files, ${product.reports.length} reports` : '';
  return `${Math.round(elapsedMs / 1000)} s: ${counts}; ${generator.dispatched.size} jobs${sent}`;
}

const maxTries = 400;

/** Repeats until it has really happened: nothing may have been working on it at that moment. */
async function inflict(
  stage: ChaosStage,
  generator: JobGenerator,
  { kind, target }: PlannedFault,
): Promise<void> {
  const before = stage.done[kind];
  // A zombie shall wake up with its hands full: each slice that it holds is a late write.
  if (kind === 'zombies' && target === 'jobs') await generator.dispatchUpTo(generator.dispatched.size + 24);
  for (let attempt = 1; attempt <= maxTries; attempt += 1) {
    await faults[kind](stage, target);
    if (stage.done[kind] !== before) return;
    await pause(25);
    replaceDead(stage);
    if (attempt % 20 !== 0) continue;
    if (target === 'jobs') await generator.dispatchUpTo(generator.dispatched.size + 20);
    else await stage.product?.sendExtra(target);
  }
  throw new Error(`A fault of kind ${kind} on ${target} did not come about in ${maxTries} tries`);
}

/** A worker that cannot start because the database is away exits, and its supervisor starts it again. */
function replaceDead(stage: ChaosStage): void {
  for (const [place, worker] of stage.places.entries()) {
    if (worker.child.exitCode !== null || worker.child.signalCode !== null) stage.placeWorker(place);
  }
  stage.product?.replaceDead();
}

async function examineAll(stage: ChaosStage, generator: JobGenerator): Promise<Omit<RunFindings, 'tookMs'>> {
  const kernel = await examine(stage, generator.dispatched);
  const { product } = stage;
  if (product === null) return { ...kernel, ...nothing };
  const findings = await examineProduct(product);
  return {
    ...kernel,
    ...findings,
    breaches: [...kernel.breaches, ...findings.breaches, ...examineProcesses(product, stage)],
  };
}

const nothing = {
  items: { files: 0, rows: 0, lateCalls: 0 },
  uploads: { reports: 0, rows: 0 },
  knowledge: { bases: 0, chunks: 0, pauses: 0, askedAgain: 0 },
  scrapes: { pushes: 0, handoffs: 0, jobs: 0, failures: 0 },
};

/** The server never ends; a worker ends unasked only when it could not start, because the database was away. */
function examineProcesses({ server, everyWorker }: ProductStage, { killed }: ChaosStage): string[] {
  const wereKilled = new Set(killed.map(({ workerId }) => workerId));
  const ended = everyWorker.filter(
    ({ workerId, isLiving }) => workerId !== null && !isLiving && !wereKilled.has(workerId),
  );
  const { exitCode } = server.running.child;
  return [
    ...(exitCode === null ? [] : [`the server ended with ${exitCode}: ${server.running.stderr()}`]),
    ...ended.map(({ workerId, running }) => `worker ${workerId} ended by itself: ${running.stderr()}`),
  ];
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

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return Math.round(performance.now() - startedAtMs);
}
