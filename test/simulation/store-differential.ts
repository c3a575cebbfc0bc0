import { expect } from 'vitest';
import { isLegal } from '../../src/kernel/jobs/transitions.ts';
import type { Lease, Outcome } from '../../src/kernel/jobs/types.ts';
import { type SeededRandom, seededRandom } from '../chaos/seeded-random.ts';
import {
  type Claim,
  type Claimed,
  controlMoves,
  type JobState,
  type JobStore,
  leaseMs,
  pipelineNames,
  type Snapshot,
} from './job-store.ts';
import type { Breakage } from './simulated-state.ts';
import { SimulatedStore } from './simulated-store.ts';

/** A command on either store. `given` is what the real store did, where several results are allowed. */
interface Command {
  name: string;
  run(store: JobStore, given?: Given): unknown;
}

interface Given {
  answer: unknown;
  after: Snapshot;
}

const tenants = ['tenant-a', 'tenant-b', 'tenant-c'];
const workers = ['worker-a', 'worker-b', 'worker-c'];
const failure = { code: 'probe_failed', message: 'It was told to fail', class: 'probe' };

/**
 * The same random commands on both stores: their answers and everything that they remember must be equal after each.
 * Targets are chosen from the simulated store, mostly such that something happens.
 */
export async function runSideBySide({
  seed,
  commands,
  real,
  kinds,
  breakage,
}: {
  seed: number;
  commands: number;
  real: JobStore;
  kinds: Map<string, number>;
  breakage?: Breakage;
}): Promise<void> {
  const simulated = new SimulatedStore({ breakage });
  const draw = new CommandDraw(seededRandom(seed), simulated);
  for (const store of [real, simulated]) for (const tenant of tenants) await store.addTenant(tenant);
  const told: string[] = [];
  for (let n = 1; n <= commands; n += 1) {
    const command = draw.next();
    told.push(command.name);
    const answer = await command.run(real);
    const after = await real.snapshot();
    const simulatedAnswer = await command.run(simulated, { answer, after });
    const context = `seed ${seed}, command ${n}: ${told.slice(-12).join('; ')}`;
    expect(simulatedAnswer, `the answer; ${context}`).toEqual(answer);
    expect(await simulated.snapshot(), `what is remembered; ${context}`).toEqual(after);
    draw.learn(answer);
    const kind = `${command.name.split(' ')[0]} ${isSome(answer) ? 'some' : 'none'}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
}

function isSome(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.length > 0;
  if (typeof answer === 'object' && answer !== null) {
    return 'jobs' in answer ? (answer.jobs as unknown[]).length > 0 : !('refused' in answer);
  }
  return Boolean(answer);
}

class CommandDraw {
  readonly #random: SeededRandom;
  readonly #store: SimulatedStore;
  /** Every lease ever granted, so that old ones are tried too. */
  readonly #leases: (Claimed & { workerId: string })[] = [];
  #claimant = '';

  constructor(random: SeededRandom, store: SimulatedStore) {
    this.#random = random;
    this.#store = store;
  }

  learn(answer: unknown): void {
    if (this.#claimant === '' || !Array.isArray(answer)) return;
    for (const claimed of answer as Claimed[]) this.#leases.push({ ...claimed, workerId: this.#claimant });
  }

  next(): Command {
    this.#claimant = '';
    const draws: [number, () => Command][] = [
      [7, () => this.#dispatch()],
      [11, () => this.#claim()],
      [9, () => this.#settle()],
      [2, () => this.#save()],
      [2, () => this.#renew()],
      [2, () => this.#release()],
      [5, () => this.#control()],
      [3, () => this.#requeue()],
      [6, () => this.#workers()],
      [5, () => this.#rescue()],
      [3, () => this.#time()],
      [1, () => this.#limits()],
    ];
    let left = this.#random.below(draws.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, draw] of draws) {
      if (left < weight) return draw();
      left -= weight;
    }
    return this.#time();
  }

  /** One in three for a subject whose retry waits, if there is one. */
  #dispatch(): Command {
    const retries = this.#store.state.jobs.filter(({ status }) => status === 'failed');
    const retry = this.#random.below(3) === 0 ? this.#random.pick(retries) : undefined;
    const tenantId = retry?.tenantId ?? this.#pick(tenants);
    const pipeline = retry?.pipeline ?? this.#pick(pipelineNames);
    const subjectId = retry?.subjectId ?? `subject-${this.#random.below(2)}`;
    const workspaceId = this.#random.below(2) === 0 ? null : `workspace-${this.#random.below(2)}`;
    return {
      name: `dispatch ${tenantId} ${pipeline} ${subjectId}`,
      run: (store) => store.dispatch({ tenantId, pipeline, subjectId, workspaceId }),
    };
  }

  #claim(): Command {
    const workerId = this.#pick(workers);
    this.#claimant = workerId;
    const job = this.#random.below(7) === 0 ? this.#job() : undefined;
    const request = {
      workerId,
      pipelines: this.#random.below(6) === 0 ? [this.#pick(pipelineNames)] : pipelineNames,
      limit: 1 + this.#random.below(4),
      tenantLimit: 3,
      struck: this.#random.below(6) === 0,
      ...this.#scope(job),
    };
    const { limit, struck, tenantId = '', spared = [] } = request;
    return {
      name: `claim ${workerId} limit ${limit}${struck ? ' struck' : ''} ${job?.jobId ?? tenantId} ${spared.join()}`,
      run: async (store, given) => {
        const prefer = (given?.answer as Claimed[] | undefined)?.map(({ jobId }) => jobId) ?? [];
        const claimed = await store.claim({ ...request, prefer, ...lingeringAs(given) });
        // The jobs of one claim come in no order.
        return claimed.sort(byJob);
      },
    };
  }

  /** One job, one tenant, or all but some jobs. */
  #scope(job: JobState | undefined): { tenantId?: string; jobId?: string; spared?: string[] } {
    if (job) return { tenantId: job.tenantId, jobId: job.jobId };
    if (this.#random.below(10) === 0) return { tenantId: this.#pick(tenants) };
    if (this.#random.below(6) > 0) return {};
    return { spared: [this.#job(), this.#job()].flatMap((spared) => spared?.jobId ?? []) };
  }

  #settle(): Command {
    const lease = this.#lease();
    if (!lease) return this.#dispatch();
    const outcome = this.#outcome();
    const step = this.#random.below(4) === 0 ? {} : { step: lease.stepsDone + 1 };
    const settlement = { ...leaseOf(lease), outcome, ...step };
    return {
      name: `settle ${lease.jobId}/${lease.leaseEpoch} ${outcome.type}`,
      run: (store) => store.settle(settlement),
    };
  }

  #outcome(): Outcome {
    const delayMs = this.#pick([0, 3_000, 60_000]);
    const outcomes: Outcome[] = [
      { type: 'continue' },
      { type: 'done' },
      { type: 'wait', delayMs },
      { type: 'retry', delayMs, failure, notBefore: this.#random.below(2) === 0 },
      { type: 'dead', failure },
      { type: 'dead', failure },
    ];
    return this.#pick(outcomes);
  }

  #save(): Command {
    const lease = this.#lease();
    if (!lease) return this.#claim();
    const name = `save ${lease.jobId}/${lease.leaseEpoch}`;
    return { name, run: (store) => store.save(leaseOf(lease), lease.stepsDone + 1) };
  }

  #renew(): Command {
    const leases = this.#leases.slice(-4);
    const workerId = this.#pick(workers);
    const run = async (store: JobStore) => (await store.renew(workerId, leases.map(leaseOf))).sort(byJob);
    return { name: `renew ${workerId}`, run };
  }

  #release(): Command {
    const leases = this.#leases.slice(-3);
    const workerId = this.#pick(workers);
    return { name: `release ${workerId}`, run: (store) => store.release(workerId, leases.map(leaseOf)) };
  }

  #control(): Command {
    const move = this.#pick(controlMoves);
    const fit = this.#store.state.jobs.filter(({ status }) => isLegal(move, status));
    const job = this.#random.below(4) === 0 ? this.#job() : this.#random.pick(fit);
    if (!job) return this.#dispatch();
    const key = { tenantId: job.tenantId, jobId: job.jobId };
    return { name: `${move} ${job.jobId}`, run: (store) => store.control(move, key) };
  }

  #requeue(): Command {
    const dead = this.#store.state.jobs.filter(({ status }) => status === 'dead_letter');
    const job = this.#random.pick(dead) ?? this.#job();
    if (!job) return this.#dispatch();
    const key = { tenantId: job.tenantId, jobId: job.jobId };
    return { name: `requeue ${job.jobId}`, run: (store) => store.requeue(key) };
  }

  #workers(): Command {
    const holders = this.#store.state.jobs.flatMap(({ leasedBy }) => leasedBy ?? []);
    const workerId =
      this.#random.pick(holders.length > 0 && this.#random.below(2) === 0 ? holders : workers) ?? '';
    const guardedBy = this.#random.below(3) === 0 ? 'expiry' : 'lock';
    const commands: Command[] = [
      { name: `unlock ${workerId}`, run: (store) => store.unlock(workerId) },
      { name: `beat ${workerId}`, run: (store) => store.beat(workerId) },
      { name: `deregister ${workerId}`, run: (store) => store.deregister(workerId) },
    ];
    const register = async (store: JobStore) => {
      // A new lock each time, as a connection that was opened anew has it.
      await store.unlock(workerId);
      if (guardedBy === 'lock') await store.lock(workerId);
      await store.register(workerId, guardedBy);
    };
    const registration = { name: `register ${workerId} ${guardedBy}`, run: register };
    return this.#random.below(2) === 0 ? registration : this.#pick(commands);
  }

  /** Mostly after some time has passed, or most rescues would find nothing. */
  #rescue(): Command {
    const rules = { maxStrikes: 2, silentMs: leaseMs, rejoinMs: 5_000 };
    const afterMs = this.#pick([0, 6_000, leaseMs - 1_000, leaseMs + 1]);
    const run = async (store: JobStore) => {
      await store.turnClock(afterMs);
      return store.rescue(rules);
    };
    return { name: `rescue after ${afterMs}`, run };
  }

  #time(): Command {
    const byMs = this.#pick([100, 1_100, 3_000, leaseMs + 1, 61_000, -30_000]);
    return { name: `time ${byMs}`, run: (store) => store.turnClock(byMs) };
  }

  #limits(): Command {
    const tenantId = this.#pick(tenants);
    const limits = this.#pick([{}, { concurrent_jobs: 1 }, { concurrent_jobs_per_workspace: 1 }]);
    return { name: `limits ${tenantId}`, run: (store) => store.setLimits(tenantId, limits) };
  }

  #job(): JobState | undefined {
    return this.#random.pick(this.#store.state.jobs);
  }

  /** Mostly one that is held, or nothing would ever end. */
  #lease(): (Claimed & { workerId: string }) | undefined {
    const held = this.#leases.filter(({ jobId, leaseEpoch }) => {
      const job = this.#store.state.jobById.get(jobId);
      return job?.leaseEpoch === leaseEpoch && job.leasedBy !== null;
    });
    const lease = this.#random.pick(this.#random.below(4) === 0 || held.length === 0 ? this.#leases : held);
    // What a worker holds whose claim was lost in a failover: the same epoch under another name.
    return lease && this.#random.below(10) === 0 ? { ...lease, leasedBy: this.#pick(workers) } : lease;
  }

  #pick<T>(items: readonly T[]): T {
    return this.#random.pick(items) as T;
  }
}

function leaseOf({ tenantId, jobId, leaseEpoch, leasedBy }: Lease): Lease {
  return { tenantId, jobId, leaseEpoch, leasedBy };
}

function lingeringAs(given: Given | undefined): Pick<Claim, 'lingering'> {
  if (!given) return {};
  const isDue = new Set(
    given.after.lanes.flatMap((lane) => (lane.isDue ? `${lane.tenantId} ${lane.pipeline}` : [])),
  );
  return { lingering: ({ tenantId, pipeline }) => isDue.has(`${tenantId} ${pipeline}`) };
}

function byJob(a: { jobId: string }, b: { jobId: string }): number {
  return a.jobId < b.jobId ? -1 : 1;
}
