import { type FaultKind, faultKinds } from './chaos-quota.ts';
import type { ChaosStage } from './chaos-stage.ts';
import type { DispatchedJob } from './job-generator.ts';
import type { LedgerLine } from './worker-messages.ts';

export interface ChaosFindings {
  /** One sentence per row that differs from the ledgers. */
  breaches: string[];
  faults: Record<FaultKind, number>;
  cutsByKind: Record<string, number>;
  jobs: number;
  slices: number;
  /** Commits attempted after the lease was lost. None of them may have left a row. */
  lateAttempts: number;
  /** Late writes that reached the database and were refused there, as the workers' metric counts them. */
  lateWritesRefused: number;
  /** What showed that a worker was gone: of killed ones, and of stopped ones. */
  causesOfKilled: Record<string, number>;
  causesOfStopped: Record<string, number>;
  /** Killed worker → its job begins elsewhere. */
  rescueMs: number[];
  /** Killed worker of the product → its upload's lease is taken back. */
  uploadRescueMs: number[];
  /** Kills and stops by what the worker was at work on. */
  killsByTarget: Record<string, number>;
  zombiesByTarget: Record<string, number>;
  /** PostgreSQL ready again → first slice committed. */
  progressAfterRestartMs: number[];
}

interface Rescue {
  jobId: string;
  pipeline: string;
  workerId: string;
  cause: string;
  at: number;
}

type Dispatched = ReadonlyMap<string, DispatchedJob>;

/** Compares every row with the generator's ledger and the workers' ledgers. */
export async function examine(stage: ChaosStage, dispatched: Dispatched): Promise<ChaosFindings> {
  const ledger = stage.fleet.readLedger();
  const effects = await readEffects(stage);
  const rescues = await readRescues(stage);
  const late = lateAttempts(ledger, rescues);
  return {
    breaches: [
      ...(await examineJobs(stage, dispatched)),
      ...(await examineEvents(stage, dispatched)),
      ...examineEffects(effects, dispatched),
      ...examineLedger(effects, ledger),
      ...examineLate(effects, late),
      ...examineWorkers(stage),
    ],
    faults: { ...stage.done },
    cutsByKind: stage.cutsByKind,
    jobs: dispatched.size,
    slices: effects.length,
    lateAttempts: late.length,
    lateWritesRefused: stage.fleet.all.reduce((sum, { refused }) => sum + refused, 0),
    causesOfKilled: countCauses(rescues.filter((rescue) => isAfterKill(stage, rescue))),
    causesOfStopped: countCauses(rescues.filter((rescue) => isWhileStopped(stage, rescue))),
    rescueMs: rescueTimes(stage, rescues, ledger),
    uploadRescueMs: uploadRescueTimes(stage, rescues),
    killsByTarget: countBy(stage.killed.map(({ target }) => target)),
    zombiesByTarget: countBy(stage.stopped.map(({ target }) => target)),
    progressAfterRestartMs: await progressTimes(stage, effects),
  };
}

/** The report of a run. */
export function describe(findings: ChaosFindings, seed: number): string {
  const { faults, rescueMs } = findings;
  return [
    `seed ${seed}: ${findings.jobs} jobs, ${findings.slices} slices, ${findings.breaches.length} breaches`,
    `faults: ${faultKinds.map((kind) => `${faults[kind]} ${kind}`).join(', ')} ` +
      `(${JSON.stringify(findings.cutsByKind)})`,
    `late attempts ${findings.lateAttempts}, refused by the fence ${findings.lateWritesRefused}`,
    `killed workers' leases taken back by ${JSON.stringify(findings.causesOfKilled)}, ` +
      `stopped workers' by ${JSON.stringify(findings.causesOfStopped)}`,
    `kills by what was at work: ${JSON.stringify(findings.killsByTarget)}, ` +
      `zombies: ${JSON.stringify(findings.zombiesByTarget)}`,
    `killed worker → job running elsewhere: ${percentiles(rescueMs)}`,
    `killed worker → upload taken back: ${percentiles(findings.uploadRescueMs)}`,
    `PostgreSQL ready again → progress: ${findings.progressAfterRestartMs.join(', ')} ms`,
  ].join('\n');
}

function percentiles(values: readonly number[]): string {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(values, share));
  return `${values.length} of them, p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function examineJobs({ owner }: ChaosStage, dispatched: Dispatched): Promise<string[]> {
  const rows = await owner<{
    jobId: string;
    tenantId: string;
    status: string;
    slices: number;
    struck: number;
  }>(
    `select job_id as "jobId", tenant_id as "tenantId", status, (counters ->> 'slices')::int as slices
       from ingestion_jobs
      where pipeline = 'probe'`,
  );
  const found = new Map(rows.map((row) => [row.jobId, row]));
  const unknown = rows
    .filter((row) => !dispatched.has(row.jobId))
    .map((row) => `job ${row.jobId} is in the database, but nobody dispatched it`);
  const wrong = [...dispatched].flatMap(([jobId, { tenantId, steps }]) => {
    const row = found.get(jobId);
    if (!row) return [`job ${jobId} was acknowledged and is lost`];
    if (row.tenantId === tenantId && row.status === 'success' && row.slices === steps) return [];
    return [`job ${jobId} of ${steps} slices in ${tenantId} ended as ${JSON.stringify(row)}`];
  });
  return [...unknown, ...wrong];
}

async function examineEvents({ owner }: ChaosStage, dispatched: Dispatched): Promise<string[]> {
  const rows = await owner<{ subject: string; type: string; count: string }>(
    'select subject, type, count(*) from events group by subject, type',
  );
  const counts = new Map(rows.map(({ subject, type, count }) => [`${subject} ${type}`, Number(count)]));
  const exactlyOnce = ['job.queued', 'job.started', 'job.completed'];
  const never = ['job.failed', 'job.retry', 'job.dead_lettered', 'job.canceled', 'job.paused'];
  return [...dispatched.keys()].flatMap((jobId) => {
    const countOf = (type: string) => counts.get(`${jobId} ${type}`) ?? 0;
    return [
      ...exactlyOnce.filter((type) => countOf(type) !== 1),
      ...never.filter((type) => countOf(type) !== 0),
    ].map((type) => `job ${jobId} has ${countOf(type)} events ${type}`);
  });
}

interface Effect {
  jobId: string;
  tenantId: string;
  step: number;
  epoch: number;
  at: number;
}

async function readEffects({ owner }: ChaosStage): Promise<Effect[]> {
  const rows = await owner<Record<keyof Effect, string>>(
    `select job_id as "jobId", tenant_id as "tenantId", step, epoch,
            extract(epoch from written_at) * 1000 as at
       from probe_effects
      order by job_id, step`,
  );
  return rows.map((row) => ({
    jobId: row.jobId,
    tenantId: row.tenantId,
    step: Number(row.step),
    epoch: Number(row.epoch),
    at: Math.round(Number(row.at)),
  }));
}

async function readRescues({ owner }: ChaosStage): Promise<Rescue[]> {
  const rows = await owner<Omit<Rescue, 'at'> & { at: string }>(
    `select subject as "jobId", data ->> 'pipeline' as pipeline, data ->> 'worker_id' as "workerId",
            data ->> 'cause' as cause,
            extract(epoch from occurred_at) * 1000 as at
       from events
      where type = 'job.rescued'
      order by occurred_at`,
  );
  return rows.map((row) => ({ ...row, at: Math.round(Number(row.at)) }));
}

/** Exactly the steps 0 to n-1 of each job, in its tenant, each once. */
function examineEffects(effects: Effect[], dispatched: Dispatched): string[] {
  const found = new Map<string, string[]>();
  for (const { jobId, tenantId, step } of effects) {
    found.set(jobId, [...(found.get(jobId) ?? []), `${tenantId}/${step}`]);
  }
  const strangers = [...found.keys()].filter((jobId) => !dispatched.has(jobId));
  const wrong = [...dispatched].flatMap(([jobId, { tenantId, steps }]) => {
    const expected = Array.from({ length: steps }, (_, step) => `${tenantId}/${step}`).join(' ');
    const actual = (found.get(jobId) ?? []).join(' ');
    return actual === expected ? [] : [`job ${jobId} has the effects "${actual}" instead of "${expected}"`];
  });
  return [...strangers.map((jobId) => `effects of job ${jobId}, which nobody dispatched`), ...wrong];
}

/** Whatever is in the database, a worker has said outside it that it was about to write it. */
function examineLedger(effects: Effect[], ledger: LedgerLine[]): string[] {
  const attempted = new Set(ledger.filter(({ is }) => is === 'attempt').map(keyOf));
  return effects
    .filter((effect) => !attempted.has(keyOf(effect)))
    .map((effect) => `the effect ${keyOf(effect)} is in the database and in no worker's ledger`);
}

/** Slices that began before their lease was taken away and came to write after it. */
function lateAttempts(ledger: LedgerLine[], rescues: Rescue[]): LedgerLine[] {
  const begunAt = new Map(ledger.filter(({ is }) => is === 'begin').map((line) => [keyOf(line), line.at]));
  const rescuesOf = groupByJob(rescues);
  return ledger.filter((line) => {
    const begun = begunAt.get(keyOf(line)) ?? Number.POSITIVE_INFINITY;
    const taken = (rescuesOf.get(line.jobId) ?? []).filter(({ workerId }) => workerId === line.workerId);
    return line.is === 'attempt' && taken.some(({ at }) => begun < at && at < line.at);
  });
}

function examineLate(effects: Effect[], late: LedgerLine[]): string[] {
  const written = new Set(effects.map(keyOf));
  return late
    .filter((line) => written.has(keyOf(line)))
    .map((line) => `the late write ${keyOf(line)} of worker ${line.workerId} was not refused`);
}

/** A worker may exit by itself only when it could not start because the database was away. */
function examineWorkers({ fleet }: ChaosStage): string[] {
  return fleet.all
    .filter(
      ({ workerId, killedAt, child }) => workerId !== null && killedAt === null && child.exitCode !== null,
    )
    .map(({ workerId, child }) => `worker ${workerId} ended by itself with exit code ${child.exitCode}`);
}

/** PostgreSQL ready again → something committed: a slice of the probe, or any event of the product. */
async function progressTimes(
  { owner, product, readyAgainAt }: ChaosStage,
  effects: Effect[],
): Promise<number[]> {
  if (readyAgainAt.length === 0) return [];
  const events = product === null ? [] : await owner<{ at: string }>(progressQuery);
  const committed = [...effects, ...events.map(({ at }) => ({ at: Number(at) }))];
  return readyAgainAt.map((at) => smallest(committed, (one) => one.at - at));
}

const progressQuery = `
  select round(extract(epoch from occurred_at) * 1000) as at
    from events
   where type like 'upload.%' or type like 'items.%' or type like 'job.%'`;

function isAfterKill({ killed }: ChaosStage, rescue: Rescue): boolean {
  return killed.some(({ workerId, at }) => workerId === rescue.workerId && rescue.at >= at);
}

function isWhileStopped({ stopped }: ChaosStage, rescue: Rescue): boolean {
  return stopped.some(
    ({ workerId, at, wokenAt }) => workerId === rescue.workerId && rescue.at >= at && rescue.at <= wokenAt,
  );
}

function countCauses(rescues: Rescue[]): Record<string, number> {
  return countBy(rescues.map(({ cause }) => cause));
}

function countBy(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function uploadRescueTimes({ killed }: ChaosStage, rescues: Rescue[]): number[] {
  const killedAt = new Map(killed.map(({ workerId, at }) => [workerId, at]));
  return rescues.flatMap(({ pipeline, workerId, at }) => {
    const from = killedAt.get(workerId) ?? Number.POSITIVE_INFINITY;
    return pipeline === 'uploads' && at >= from ? [at - from] : [];
  });
}

function rescueTimes({ killed }: ChaosStage, rescues: Rescue[], ledger: LedgerLine[]): number[] {
  const killedAt = new Map(killed.map(({ workerId, at }) => [workerId, at]));
  const begins = groupByJob(ledger.filter(({ is }) => is === 'begin'));
  return rescues.flatMap(({ jobId, pipeline, workerId, at }) => {
    const from = killedAt.get(workerId) ?? Number.POSITIVE_INFINITY;
    if (at < from || pipeline !== 'probe') return [];
    const elsewhere = (begins.get(jobId) ?? []).filter((line) => line.workerId !== workerId);
    return [smallest(elsewhere, (line) => line.at - from)];
  });
}

function groupByJob<T extends { jobId: string }>(items: T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.jobId);
    if (group) group.push(item);
    else groups.set(item.jobId, [item]);
  }
  return groups;
}

/** The smallest value that is not negative; infinite when there is none. */
function smallest<T>(items: T[], measure: (item: T) => number): number {
  return items.reduce((least, item) => {
    const value = measure(item);
    return value >= 0 && value < least ? value : least;
  }, Number.POSITIVE_INFINITY);
}

function keyOf({ jobId, step, epoch }: { jobId: string; step: number; epoch: number }): string {
  return `${jobId}/${step}/${epoch}`;
}
