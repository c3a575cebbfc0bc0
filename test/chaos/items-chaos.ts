import { setTimeout as pause } from 'node:timers/promises';
import type { CommandLine } from '../support/servers/command-line.ts';
import { newTenant, type TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { itemFaults } from './items-faults.ts';
import { type PlannedJob, planExtraJob, planJobs } from './items-ledger.ts';
import {
  type ProductCall,
  type ProductReply,
  productOf,
  type RuledProvider,
  startRuledProvider,
} from './items-provider.ts';
import { type ItemsFault, type ItemsQuota, itemsFaults } from './items-quota.ts';
import {
  type Answer,
  type ItemServer,
  type ItemWorker,
  installationEnv,
  startServer,
  startWorker,
  uploadSurely,
} from './items-stage.ts';
import { countLateCalls, examineCalls, examineCounters, examineRows } from './items-verdict.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';

export interface UploadedJob extends PlannedJob {
  jobId: string;
  tenantId: string;
}

/** Everything that faults happen to, and what has happened so far. */
export interface ItemsRun {
  readonly quota: ItemsQuota;
  readonly random: SeededRandom;
  /** Of the kickoffs, which come beside everything else: the choices of the rest must not depend on them. */
  readonly kickRandom: SeededRandom;
  readonly database: TestDatabase;
  readonly server: ItemServer;
  readonly provider: RuledProvider;
  readonly workers: ItemWorker[];
  readonly uploaded: UploadedJob[];
  readonly done: Record<ItemsFault, number>;
  readonly breaches: string[];
  killedWithItems: number;
  takenFromZombies: number;
  kickoffs: number;
  probes: number;
  /** How long the faults took, the rest of the work after them, and the reprocessing. */
  readonly tookMs: { faults: number; rest: number; reprocess: number };
  /** From then on the provider finds and takes everything. */
  isMended: boolean;
  replaceDead(): void;
  listOpenJobs(): Promise<UploadedJob[]>;
  /** Repeats while the response is that the database is away; any other unexpected response is a breach. */
  ask(tenantId: string, method: string, path: string, foreseen: number[], body?: object): Promise<Answer>;
}

export interface ItemsFindings {
  run: ItemsRun;
  rows: number;
  reset: number;
  /** Calls that were logged although the item had been taken over; their results were refused. */
  lateCalls: number;
}

/**
 * Items over real processes: a server, workers, a provider with moods. Workers are killed and stopped, connections
 * are ended, jobs are paused and kicked off; all the time the counters are compared with a recount, and at the end
 * every row with the ledger of the generator and every call with the log of the provider.
 */
export async function runItemsChaos(
  sluice: CommandLine,
  database: TestDatabase,
  { quota, seed }: { quota: ItemsQuota; seed: number },
): Promise<ItemsFindings> {
  const random = seededRandom(seed);
  const moods = seededRandom(seed + 1);
  let run: ItemsRun | undefined;
  const provider = await startRuledProvider((call) =>
    moodyReply(call, { isMended: run?.isMended === true, moods }),
  );
  try {
    run = await openRun({ sluice, database, quota, random, kickRandom: seededRandom(seed + 2), provider });
    const stopProbing = repeat(() => probe(run as ItemsRun));
    const stopKicking = repeat(() => kickOffOne(run as ItemsRun));
    try {
      run.tookMs.faults = await timed(faultsWhileUploading(run));
      run.tookMs.rest = await timed(untilFinished(run));
    } finally {
      await stopKicking();
      await stopProbing();
    }
    const { reset, lateCalls } = await examineAndReprocess(run);
    const rows = run.uploaded.reduce((sum, job) => sum + job.rows.length, 0);
    return { run, rows, reset, lateCalls };
  } finally {
    for (const { running } of run?.workers ?? []) running.child.kill('SIGKILL');
    run?.server.running.child.kill('SIGKILL');
    await provider.close();
  }
}

/** The report of a run. */
export function describeItems({ run, rows, reset, lateCalls }: ItemsFindings, seed: number): string {
  const faults = itemsFaults.map((kind) => `${run.done[kind]} ${kind}`).join(', ');
  return [
    `seed ${seed}: ${run.uploaded.length} jobs, ${rows} rows, ${run.breaches.length} breaches`,
    `faults: ${faults}; ${run.killedWithItems} kills with items held, ${run.takenFromZombies} items taken from zombies`,
    `${run.kickoffs} kickoffs that processed rows, ${run.probes} recounts, ${reset} rows reprocessed`,
    `${run.provider.log.length} calls to the provider, ${lateCalls} logged by workers that came too late`,
    `milliseconds: ${JSON.stringify(run.tookMs)}`,
  ].join('\n');
}

async function openRun(parts: {
  sluice: CommandLine;
  database: TestDatabase;
  quota: ItemsQuota;
  random: SeededRandom;
  kickRandom: SeededRandom;
  provider: RuledProvider;
}): Promise<ItemsRun> {
  const { sluice, database, quota } = parts;
  const env = installationEnv(database, quota);
  const server = await startServer(sluice, env);
  const workers = Array.from({ length: quota.workers }, () => startWorker(sluice, env));
  const uploaded: UploadedJob[] = [];
  const breaches: string[] = [];
  return {
    ...parts,
    server,
    workers,
    uploaded,
    breaches,
    done: { kills: 0, zombies: 0, backends: 0, pauses: 0 },
    killedWithItems: 0,
    takenFromZombies: 0,
    kickoffs: 0,
    probes: 0,
    tookMs: { faults: 0, rest: 0, reprocess: 0 },
    isMended: false,
    replaceDead() {
      for (const [place, { isLiving }] of workers.entries()) {
        if (!isLiving) workers[place] = startWorker(sluice, env);
      }
    },
    async listOpenJobs() {
      const rows = await database.owner<{ jobId: string }>(
        `select job_id as "jobId" from ingestion_jobs
          where status in ('queued', 'running') and stage is distinct from 'ingesting'`,
      );
      const open = new Set(rows.map(({ jobId }) => jobId));
      return uploaded.filter(({ jobId }) => open.has(jobId));
    },
    async ask(tenantId, method, path, foreseen, body) {
      for (let attempt = 1; ; attempt += 1) {
        const answer = await server.call(tenantId, method, path, body);
        if (foreseen.includes(answer.status)) return answer;
        if (answer.status !== 503) breaches.push(`${method} ${path}: ${JSON.stringify(answer)}`);
        if (answer.status !== 503 || attempt === 20) return answer;
        await pause(50);
      }
    },
  };
}

/** The provider's behaviour: some rows have their own, and any call may fail at random. */
export function moodyReply(
  { sku, before }: ProductCall,
  { isMended, moods }: { isMended: boolean; moods: SeededRandom },
): ProductReply {
  const [kind] = sku.split('-', 1);
  const delayMs = 10 + moods.below(60);
  const well = { status: 200, body: productOf(sku), delayMs };
  if (isMended) return well;
  const mood = moods.next();
  if (mood < 0.01) return { status: 429, delayMs };
  if (mood < 0.02) return { status: 503, delayMs };
  if (kind === 'missing') return { status: 404, delayMs };
  if (kind === 'refused') return { status: 422, delayMs };
  if (before > 0) return well;
  if (kind === 'failing') return { status: 500, delayMs };
  if (kind === 'hanging') return { type: 'hang' };
  return kind === 'garbled' ? { type: 'garbage' } : well;
}

async function faultsWhileUploading(run: ItemsRun): Promise<void> {
  const { quota, random, uploaded } = run;
  const tenants = await Promise.all(Array.from({ length: 4 }, () => newTenant(run.database)));
  const jobs = planJobs(quota, random, run.provider.url);
  const plan = random.shuffle(itemsFaults.flatMap((kind) => Array<ItemsFault>(quota[kind]).fill(kind)));
  let reached = 0;
  // Files arrive during most of the run, so that every fault hits some in progress.
  const arriving = (async () => {
    for (const [index, job] of jobs.entries()) {
      while (reached / plan.length < (0.8 * index) / jobs.length) await pause(10);
      const tenantId = tenants[index % tenants.length] ?? '';
      const jobId = await uploadSurely(() => run.server, tenantId, job);
      uploaded.push({ ...job, jobId, tenantId });
    }
  })();
  let failure: unknown = null;
  arriving.catch((error: unknown) => {
    failure = error;
  });
  await eventually(async () => uploaded.length > 0 || failure !== null, 'the first file is in', 30_000);
  for (const kind of plan) {
    await inflict(run, kind);
    if (failure !== null) break;
    reached += 1;
    run.replaceDead();
    await pause(random.next() * quota.pauseMs);
  }
  await arriving;
}

const maxTries = 100;

/** Repeats until it has really happened: the workers may have been idle or between two claims. */
async function inflict(run: ItemsRun, kind: ItemsFault): Promise<void> {
  const before = run.done[kind];
  for (let attempt = 1; run.done[kind] === before && attempt <= maxTries; attempt += 1) {
    await itemFaults[kind](run);
    if (run.done[kind] !== before) return;
    await pause(50);
    if (attempt % 10 === 0 && (await run.listOpenJobs()).length === 0) await uploadExtra(run);
  }
}

async function uploadExtra(run: ItemsRun): Promise<void> {
  const job = planExtraJob(run.uploaded.length, run.random, run.provider.url);
  const tenantId = await newTenant(run.database);
  const jobId = await uploadSurely(() => run.server, tenantId, job);
  run.uploaded.push({ ...job, jobId, tenantId });
}

async function untilFinished(run: ItemsRun): Promise<void> {
  const countOpen = async (): Promise<number> => {
    run.replaceDead();
    const rows = await run.database.owner(`select 1 from ingestion_jobs where status <> 'success'`);
    return rows.length;
  };
  await eventually(async () => (await countOpen()) === 0, 'all jobs are DONE', 120_000);
}

/** Failed rows are reprocessed now that the provider works; then all rows are checked again. */
async function examineAndReprocess(run: ItemsRun): Promise<{ reset: number; lateCalls: number }> {
  const { breaches, uploaded } = run;
  breaches.push(...(await examineRows(run, 'first')), ...(await examineCounters(run, { all: true })));
  breaches.push(...(await examineCalls(run)));
  const lateCalls = await countLateCalls(run);
  run.isMended = true;
  let reset = 0;
  for (const { tenantId, jobId, rows } of uploaded) {
    const failed = rows.filter(({ first }) => first.status !== 'DONE').length;
    const path = `/api/jobs/${jobId}/reprocess`;
    const { body } = await run.ask(tenantId, 'POST', path, [200], { resetAttempts: true });
    if (body.reset !== failed) breaches.push(`reprocess of ${jobId} took ${body.reset} of ${failed} rows`);
    reset += failed;
  }
  const stopProbing = repeat(() => probe(run));
  run.tookMs.reprocess = await timed(untilFinished(run).finally(stopProbing));
  breaches.push(...(await examineRows(run, 'last')), ...(await examineCounters(run, { all: true })));
  breaches.push(...(await examineCalls(run)));
  return { reset, lateCalls };
}

async function probe(run: ItemsRun): Promise<void> {
  run.breaches.push(...(await examineCounters(run, { all: false })));
  run.probes += 1;
}

async function kickOffOne(run: ItemsRun): Promise<void> {
  const job = run.kickRandom.pick(await run.listOpenJobs());
  if (!job) return;
  const path = `/api/jobs/${job.jobId}/kickoff?durationMs=300`;
  const { body } = await run.ask(job.tenantId, 'POST', path, [200, 409]);
  if (typeof body.processed === 'number' && body.processed > 0) run.kickoffs += 1;
}

async function timed(work: Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work;
  return Math.round(performance.now() - startedAtMs);
}

/** Repeats until it is stopped; stopping rethrows its error. */
function repeat(work: () => Promise<void>): () => Promise<void> {
  let isStopped = false;
  const loop = (async () => {
    while (!isStopped) {
      await work();
      await pause(50);
    }
  })();
  loop.catch(() => {});
  return async () => {
    isStopped = true;
    await loop;
  };
}
