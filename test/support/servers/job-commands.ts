import fc from 'fast-check';
import { expect } from 'vitest';
import {
  cancel,
  dispatch,
  getJob,
  pause,
  requeue,
  resume,
} from '../../../src/kernel/jobs/dispatch/service.ts';
import { claimMany, claimOneStatement, renewStatement } from '../../../src/kernel/jobs/lease/lease-store.ts';
import type { ClaimedJob, Outcome, SliceResult } from '../../../src/kernel/jobs/types.ts';
import { isSluiceError } from '../../../src/lib/errors.ts';
import { databaseErrors } from '../../../src/lib/postgres/db-errors.ts';
import { sql } from '../../../src/lib/postgres/sql.ts';
import { type Model, type ModelJob, type ModelLease, pick, pickJob } from '../worlds/job-model.ts';
import { leaseMs, type OpenSlice, type World } from '../worlds/job-world.ts';
import {
  crashHolder,
  expireLease,
  killWorker,
  livingWorker,
  removeWorker,
  rescueAll,
  returnWorker,
} from './worker-commands.ts';

export type JobCommand = fc.AsyncCommand<Model, World>;

/** Every command may run in every state, so most illegal moves occur by themselves. */
export function jobCommands(): fc.Arbitrary<JobCommand>[] {
  // Without the bias towards 0, which would always choose the first job.
  const which = fc.noBias(fc.nat({ max: 1_000 }));
  const command = (name: string, act: Act) => which.map((n) => new Step(name, n, act));
  const settle = fc.tuple(outcomes, which).map(([outcome, n]) => {
    return new Step(`settle ${outcome.type}`, n, (model, world) => settleSlice(model, world, { n, outcome }));
  });
  const common = [
    ...times(6, command('dispatch', dispatchSubject)),
    ...times(8, command('claim', claimOne)),
    command('claim any', claimAny),
    ...times(8, settle),
    ...times(
      2,
      command('pause', (model, world, n) => controlJob(model, world, { move: 'pause', n })),
    ),
    command('resume', (model, world, n) => controlJob(model, world, { move: 'resume', n })),
    command('cancel', (model, world, n) => controlJob(model, world, { move: 'cancel', n })),
    ...times(2, command('crash', crashHolder)),
    ...times(4, command('claim and crash', claimAndCrash)),
  ];
  const rare = [
    ...times(2, command('forge', forgeSlices)),
    command('write in the middle', writeInTheMiddle),
    command('renew', renewLease),
    command('drop', dropSlice),
    ...times(3, command('requeue', requeueJob)),
    command('expire', expireLease),
    command('time passes', makeDue),
    command('rescue', rescueAll),
    command('worker dies', killWorker),
    command('worker returns', returnWorker),
    command('worker vanishes', removeWorker),
  ];
  return [...common, ...rare];
}

type Act = (model: Model, world: World, n: number) => Promise<void>;

class Step implements JobCommand {
  readonly #label: string;
  readonly #n: number;
  readonly #act: Act;

  constructor(name: string, n: number, act: Act) {
    this.#label = `${name} ${n}`;
    this.#n = n;
    this.#act = act;
  }

  check = () => true;

  async run(model: Model, world: World): Promise<void> {
    model.steps += 1;
    await this.#act(model, world, this.#n);
    expect(await world.rows(), `the rows after ${this.#label}`).toEqual(model.jobs);
  }

  toString(): string {
    return this.#label;
  }
}

const failure = { code: 'probe_failed', message: 'It was told to fail', class: 'probe' };
const delay = fc.constantFrom(0, 3_600_000);
const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ type: 'continue' }),
  fc.constant<Outcome>({ type: 'done' }),
  fc.constant<Outcome>({ type: 'dead', failure }),
  delay.map((delayMs): Outcome => ({ type: 'wait', delayMs })),
  fc.tuple(delay, fc.boolean()).map(([delayMs, notBefore]): Outcome => {
    return { type: 'retry', failure, delayMs, notBefore };
  }),
);

const everyOutcome: Outcome[] = [
  { type: 'continue' },
  { type: 'wait', delayMs: 0 },
  { type: 'done' },
  { type: 'retry', delayMs: 0, failure },
  { type: 'dead', failure },
];

function times<T>(count: number, item: T): T[] {
  return Array.from({ length: count }, () => item);
}

async function codeOf(attempt: Promise<unknown>): Promise<string | null> {
  try {
    await attempt;
    return null;
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return error.code;
  }
}

async function dispatchSubject(model: Model, world: World, n: number): Promise<void> {
  const subject = `subject-${n % 3}`;
  const job = { pipeline: 'probe', subjectId: subject, maxRetries: 5, createdBy: 'tester' };
  const refusal = model.refuseDispatch(subject);
  const waiting = model.waitingRetryOf(subject);
  const attempt = dispatch(world.deps, world.tenantId, job);
  expect(await codeOf(attempt), `dispatch of ${subject}`).toBe(refusal);
  if (refusal) return;
  const { jobId } = await attempt;
  if (waiting) {
    expect(jobId, 'the oldest waiting retry').toBe(waiting.jobId);
    model.bringForward(waiting);
  } else {
    model.add(jobId, subject);
  }
}

function claimIn(
  world: World,
  { workerId, limit, jobId }: { workerId: string; limit: number; jobId?: string },
) {
  const { tenantId, deps } = world;
  const terms = { workerId, leaseMs, tenantLimit: 1_000, tenantId };
  return deps.db.kernel((tx) =>
    jobId === undefined
      ? claimMany(tx, { ...terms, pipelines: ['probe'], limit })
      : tx.rows<ClaimedJob>(claimOneStatement({ ...terms, jobId })),
  );
}

async function claimOne(model: Model, world: World, n: number): Promise<void> {
  const canBe = (job: ModelJob) => model.isClaimable(job, job.strikes.length > 0);
  const job = pickJob(model, n, canBe);
  if (!job) return;
  const { id: workerId } = await livingWorker(model, world, n);
  const claimed = await claimIn(world, { workerId, limit: 1, jobId: job.jobId });
  if (!canBe(job)) {
    expect(claimed, 'a job that cannot be claimed').toEqual([]);
    model.refuseClaim(job);
    return;
  }
  take(model, world, claimed, workerId);
  expect(claimed).toHaveLength(1);
}

async function claimAny(model: Model, world: World, n: number): Promise<void> {
  const { id: workerId } = await livingWorker(model, world, n);
  const limit = 1 + (n % 3);
  const claimable = model.jobs.filter((job) => model.isClaimable(job, false));
  const claimed = await claimIn(world, { workerId, limit });
  expect(claimed).toHaveLength(Math.min(limit, claimable.length));
  for (const { jobId } of claimed) expect(claimable.map((job) => job.jobId)).toContain(jobId);
  take(model, world, claimed, workerId);
}

function take(model: Model, world: World, claimed: ClaimedJob[], workerId: string): void {
  for (const row of claimed) {
    const job = model.get(row.jobId);
    expect(row.was).toBe(job.status);
    model.claim(job, workerId);
    expect(row).toMatchObject({ leaseEpoch: job.epoch, leasedBy: workerId, status: job.status });
    world.slices.push(world.start(row, workerId));
  }
}

let nextEffect = 1;

function leaseOf({ job, workerId }: OpenSlice): ModelLease {
  return { jobId: job.jobId, epoch: job.leaseEpoch, workerId };
}

/** Mostly a slice whose lease is held, seldom any other, even a zombie's. */
function pickSlice(model: Model, world: World, n: number): OpenSlice | undefined {
  const held = world.slices.filter((open) => model.isHeld(leaseOf(open)));
  return pick(n % 5 === 0 || held.length === 0 ? world.slices : held, n);
}

async function settleSlice(
  model: Model,
  world: World,
  { n, outcome }: { n: number; outcome: Outcome },
): Promise<void> {
  const open = pickSlice(model, world, n);
  if (!open) return;
  world.slices.splice(world.slices.indexOf(open), 1);
  await endSlice(model, open, outcome);
}

/** Tries to settle, with every outcome, knowing the epoch but holding no lease. */
async function forgeSlices(model: Model, world: World, n: number): Promise<void> {
  const job = pickJob(model, n, ({ status }) => n % 2 === 0 || status === 'failed');
  const [worker] = model.workers;
  if (!job || !worker || job.leasedBy !== null) return;
  const row = await getJob(world.deps, { tenantId: world.tenantId, jobId: job.jobId });
  for (const outcome of everyOutcome) {
    await endSlice(model, world.start({ ...row, was: 'running' }, worker.id), outcome);
  }
}

async function endSlice(model: Model, open: OpenSlice, outcome: Outcome): Promise<void> {
  const job = model.get(open.job.jobId);
  const effect = nextEffect++;
  const isHeld = model.isHeld(leaseOf(open));
  open.finish(resultOf(open, outcome, effect));
  const end = await open.end;
  if (!isHeld) {
    expect(end, 'a late settle').toEqual({ type: 'dropped', reason: 'lease_lost' });
    model.refuseSettle(job, outcome);
    return;
  }
  model.settle(job, outcome);
  job.effects.push(effect);
  job.checkpoint = effect;
  expect(end).toMatchObject({
    type: 'settled',
    job: { jobId: job.jobId, status: job.status, cleanupOpen: job.cleanupOpen },
  });
}

function resultOf({ job }: OpenSlice, outcome: Outcome, effect: number): SliceResult {
  return {
    outcome,
    checkpoint: { n: effect },
    effects: async (tx) => {
      await tx.run(effectRow(job, effect));
    },
  };
}

function effectRow(job: ClaimedJob, effect: number) {
  return sql`
    insert into probe_effects (tenant_id, job_id, step, worker, epoch)
    values (${job.tenantId}, ${job.jobId}, ${effect}, 'model', ${job.leaseEpoch})`;
}

async function writeInTheMiddle(model: Model, world: World, n: number): Promise<void> {
  const open = pickSlice(model, world, n);
  if (!open) return;
  const effect = nextEffect++;
  const isHeld = model.isHeld(leaseOf(open));
  const attempt = open.slice.transaction((tx) => tx.run(effectRow(open.job, effect)), {
    checkpoint: { n: effect },
  });
  expect(await codeOf(attempt), 'a write in the middle of a slice').toBe(isHeld ? null : 'lease_lost');
  if (!isHeld) return;
  const job = model.get(open.job.jobId);
  job.effects.push(effect);
  job.checkpoint = effect;
  job.strikes = [];
  job.expired = false;
}

async function renewLease(model: Model, world: World, n: number): Promise<void> {
  const open = pickSlice(model, world, n);
  if (!open) return;
  const job = model.get(open.job.jobId);
  const isHeld = job.epoch === open.job.leaseEpoch && job.leasedBy === open.workerId;
  const renewed = await world.deps.db.kernel((tx) =>
    tx.rows(renewStatement({ workerId: open.workerId, leases: [open.job], leaseMs })),
  );
  expect(renewed).toHaveLength(isHeld ? 1 : 0);
  if (isHeld) job.expired = false;
}

/** The database was away when the slice wanted to commit: it gives its lease back. */
async function dropSlice(model: Model, world: World, n: number): Promise<void> {
  const open = pickSlice(model, world, n);
  if (!open) return;
  world.slices.splice(world.slices.indexOf(open), 1);
  open.fail(databaseErrors.raise.database_unavailable('The connection was cut'));
  expect(await open.end).toEqual({ type: 'dropped', reason: 'database_unavailable' });
  model.release(leaseOf(open));
}

async function controlJob(
  model: Model,
  world: World,
  { move, n }: { move: 'pause' | 'resume' | 'cancel'; n: number },
): Promise<void> {
  const job = pickJob(model, n);
  if (!job) return;
  const call = { pause, resume, cancel }[move];
  const code = await codeOf(call(world.deps, { tenantId: world.tenantId, jobId: job.jobId }));
  expect(code, `${move} of a ${job.status} job`).toBe(model.control(move, job));
}

async function requeueJob(model: Model, world: World, n: number): Promise<void> {
  const job = pickJob(model, n, ({ status }) => status === 'dead_letter');
  if (!job) return;
  const { deps, tenantId } = world;
  const refusal = model.refuseRequeue(job);
  const attempt = requeue(deps, { tenantId, jobId: job.jobId }, { requestedBy: 'support' });
  expect(await codeOf(attempt), `requeue of a ${job.status} job`).toBe(refusal);
  if (refusal) return;
  model.add((await attempt).jobId, job.subject, job.jobId);
}

async function makeDue(model: Model, world: World, n: number): Promise<void> {
  const job = pick(
    model.jobs.filter(({ due }) => !due),
    n,
  );
  if (!job) return;
  await world.meddle('update ingestion_jobs set run_at = clock_timestamp() where job_id = $1', job.jobId);
  job.due = true;
}

/** A poison job; the one with the most strikes, otherwise hardly any would get its third. */
async function claimAndCrash(model: Model, world: World, n: number): Promise<void> {
  const claimable = model.jobs.filter((job) => model.isClaimable(job, job.strikes.length > 0));
  const worst = claimable.sort((a, b) => b.strikes.length - a.strikes.length)[0];
  if (!worst) return;
  const { id: workerId } = await livingWorker(model, world, n);
  take(model, world, await claimIn(world, { workerId, limit: 1, jobId: worst.jobId }), workerId);
  await crashHolder(model, world, 1);
}
