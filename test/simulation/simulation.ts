import { isLegal } from '../../src/kernel/jobs/transitions.ts';
import { Violation } from './happening.ts';
import { isEnded } from './invariants.ts';
import { controlMoves, type JobState, pipelineNames, type TenantLimits } from './job-store.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { Breakage } from './simulated-state.ts';
import { SimulatedWorld, type Tally } from './simulated-world.ts';

export interface SimulationReport {
  seed: number;
  events: number;
  jobs: number;
  hash: string;
  /** Which rule was broken, or null. */
  violation: string | null;
  lastEvents: string[];
  tally: Tally;
  longestWait: number;
}

/** The rest, up to about a thousand, happens while everything recovers and every job ends. */
const eventsBeforeHealing = 900;
/** Enough for several per subject; the checks read all of them after every event. */
const maxJobs = 90;
const maxHealingRounds = 300;

/** One seed: random events under faults, then all faults stop, and every job has to come to its end. */
export function simulate({ seed, breakage }: { seed: number; breakage?: Breakage }): SimulationReport {
  const simulation = new Simulation(seed, breakage);
  let violation: string | null = null;
  try {
    simulation.run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    violation = error instanceof Violation ? error.message : (error.stack ?? error.message);
  }
  return simulation.report(seed, violation);
}

interface Choice {
  weight: number;
  act: () => void;
}

class Simulation {
  readonly #world: SimulatedWorld;
  readonly #processes: SimulatedProcess[] = [];
  readonly #tenants: string[];
  readonly #workers: number;
  readonly #choices: Choice[];
  #started = 0;

  constructor(seed: number, breakage: Breakage | undefined) {
    this.#world = new SimulatedWorld({ seed, breakage, processes: () => this.#processes });
    const { random, store } = this.#world;
    this.#tenants = Array.from({ length: 2 + random.below(4) }, (_, n) => `tenant-${n + 1}`);
    this.#workers = 2 + random.below(3);
    this.#world.lossRate = random.pick([0, 0.01, 0.05, 0.2]) ?? 0;
    for (const tenantId of this.#tenants) store.addTenant(tenantId, this.#drawLimits());
    this.#choices = this.#drawWeights();
  }

  run(): void {
    const { random, trace } = this.#world;
    const total = this.#choices.reduce((sum, { weight }) => sum + weight, 0);
    while (trace.events < eventsBeforeHealing) {
      let left = random.next() * total;
      const choice = this.#choices.find(({ weight }) => {
        left -= weight;
        return left < 0;
      });
      choice?.act();
    }
    this.#heal();
  }

  report(seed: number, violation: string | null): SimulationReport {
    const { trace, tally, store, invariants } = this.#world;
    return {
      seed,
      events: trace.events,
      jobs: store.state.jobs.length,
      hash: trace.hash,
      violation,
      lastEvents: trace.lastLines,
      tally,
      longestWait: invariants.fairness.longestWait,
    };
  }

  /** Every seed has its own mixture and omits some kinds of faults: rare combinations become common in some seed. */
  #drawWeights(): Choice[] {
    const { random } = this.#world;
    const usual: [number, () => void][] = [
      [5, () => this.#dispatch()],
      [0.5, () => this.#flood()],
      [14, () => this.#someProcess()?.fill()],
      [30, () => this.#someProcess()?.work({ finish: false })],
      [6, () => this.#someProcess()?.keep()],
      [4, () => this.#someProcess()?.beat()],
      [6, () => this.#someProcess()?.rescue()],
      [5, () => this.#startProcess()],
      [11, () => this.#passTime()],
      [3, () => this.#control()],
      [1, () => this.#requeue()],
      [1, () => this.#kickOff()],
    ];
    const faults: [number, () => void][] = [
      [1.5, () => this.#someProcess()?.crash()],
      [0.4, () => this.#someProcess()?.leave()],
      [1.5, () => this.#stopProcess()],
      [2, () => this.#wakeProcess()],
      [1.5, () => this.#cutProcess()],
      [2, () => this.#world.deliver()],
      [0.3, () => this.#world.setClock(Math.round((random.next() - 0.4) * 3_600_000))],
      [0.3, () => this.#changeLimits()],
    ];
    const drawn = faults.filter(() => random.below(4) > 0);
    return [...usual, ...drawn].map(([weight, act]) => ({
      weight: weight * (0.3 + random.next() * 1.7),
      act,
    }));
  }

  #drawLimits(): TenantLimits {
    const limits: TenantLimits[] = [
      {},
      {},
      { concurrent_jobs: 1 },
      { concurrent_jobs: 2 },
      { concurrent_jobs_per_workspace: 1 },
      { concurrent_jobs: 3, concurrent_jobs_per_workspace: 2 },
    ];
    return this.#world.random.pick(limits) ?? {};
  }

  #someProcess(): SimulatedProcess | undefined {
    return this.#world.random.pick(this.#processes.filter(({ canAct }) => canAct));
  }

  #startProcess(): void {
    const { random } = this.#world;
    if (this.#processes.filter(({ isDead }) => !isDead).length >= this.#workers) return;
    this.#started += 1;
    const process = new SimulatedProcess(this.#world, {
      id: `worker-${this.#started}`,
      guardedBy: random.below(4) === 0 ? 'expiry' : 'lock',
      concurrency: 1 + random.below(4),
    });
    this.#processes.push(process);
    process.join();
  }

  #stopProcess(): void {
    const process = this.#someProcess();
    if (!process) return;
    process.isStopped = true;
    this.#world.tick('stopped');
    this.#world.note('fault', process.id, 'is stopped');
  }

  /** A zombie: its jobs may have continued elsewhere. */
  #wakeProcess(): void {
    const { random } = this.#world;
    const process = random.pick(this.#processes.filter(({ isStopped, isDead }) => isStopped && !isDead));
    if (!process) return;
    process.isStopped = false;
    this.#world.note('fault', process.id, 'wakes');
  }

  #cutProcess(): void {
    const living = this.#processes.filter(({ isDead }) => !isDead);
    const process = this.#world.random.pick(living);
    process?.cut({ notices: !process.isStopped && this.#world.random.below(3) > 0 });
  }

  #dispatch(tenant?: string): void {
    const { random, store } = this.#world;
    if (store.state.jobs.length >= maxJobs) return;
    const tenantId = tenant ?? random.pick(this.#tenants) ?? '';
    // The first tenant has many subjects and can flood; the others have few, where jobs meet.
    const subjectId = `subject-${random.below(tenantId === 'tenant-1' ? 12 : 3)}`;
    const pipeline = random.pick(pipelineNames) ?? 'probe';
    const workspaceId = random.below(2) === 0 ? null : `workspace-${random.below(2)}`;
    const job = { tenantId, pipeline, subjectId, workspaceId };
    const what = `${tenantId} ${pipeline} ${subjectId}`;
    this.#world.call({ kind: 'dispatch', who: 'client', what }, () => store.dispatch(job));
  }

  #flood(): void {
    this.#world.tick('flood');
    for (let n = this.#world.random.below(10); n >= 0; n -= 1) this.#dispatch('tenant-1');
  }

  #control(): void {
    const { random, store } = this.#world;
    const move = random.pick(controlMoves) ?? 'pause';
    const fit = store.state.jobs.filter(({ status }) => isLegal(move, status));
    const job = random.pick(random.below(5) === 0 ? store.state.jobs : fit);
    if (job) this.#world.call({ kind: move, who: 'client', what: job.jobId }, () => store.control(move, job));
  }

  #requeue(): void {
    const { random, store } = this.#world;
    const dead = store.state.jobs.filter(({ status }) => status === 'dead_letter');
    const job = random.pick(random.below(5) === 0 ? store.state.jobs : dead);
    if (!job || store.state.jobs.length >= maxJobs) return;
    this.#world.call({ kind: 'requeue', who: 'client', what: job.jobId }, () => store.requeue(job));
  }

  #kickOff(): void {
    const job = this.#world.random.pick(this.#world.store.state.jobs.filter((row) => !isEnded(row)));
    if (job) this.#someProcess()?.kickOff(job);
  }

  #changeLimits(): void {
    const { random, store } = this.#world;
    const tenantId = random.pick(this.#tenants) ?? '';
    const limits = this.#drawLimits();
    this.#world.act({ kind: 'limits', who: 'operator', what: tenantId }, () =>
      store.setLimits(tenantId, limits),
    );
  }

  #passTime(): void {
    const { random } = this.#world;
    const choice = random.below(20);
    if (choice < 8) this.#world.passTime(1 + random.below(50));
    else if (choice < 16) this.#world.passTime(1 + random.below(2_000));
    else if (choice < 19) this.#world.passTime(1 + random.below(15_000));
    else this.#world.passTime(this.#untilNextMs());
  }

  /** Until something is due or runs out. */
  #untilNextMs(): number {
    const { nowMs, jobs } = this.#world.store.state;
    const moments = jobs
      .filter((job) => !isEnded(job) && job.status !== 'paused')
      .map((job) => (job.leaseExpiresAtMs === null ? job.runAtMs : job.leaseExpiresAtMs + 1))
      .filter((moment) => moment > nowMs);
    return moments.length === 0 ? 1 : Math.min(...moments) - nowMs;
  }

  /** Without further faults every job must come to its end. */
  #heal(): void {
    const world = this.#world;
    world.lossRate = 0;
    while (world.lateRequests.length > 0) world.deliver();
    for (const process of this.#processes) process.isStopped = false;
    this.#startProcess();
    let open: JobState[] = [];
    let quietRounds = 0;
    for (let round = 1; round <= maxHealingRounds; round += 1) {
      open = world.store.state.jobs.filter((job) => !isEnded(job));
      if (open.length === 0) break;
      for (const job of open.filter(({ status }) => status === 'paused')) {
        world.act({ kind: 'resume', who: 'client', what: job.jobId }, () =>
          world.store.control('resume', job),
        );
      }
      quietRounds = this.#healingRound() ? 0 : quietRounds + 1;
      // A clock that was set back makes some things wait for as long again, so the steps grow.
      if (quietRounds > 0) world.passTime(Math.max(this.#untilNextMs(), 2 ** Math.min(quietRounds, 21)));
    }
    if (open.length === 0) {
      this.#checkTotals();
      return;
    }
    const left = open.map(({ jobId, status }) => `${jobId} (${status})`).join(', ');
    throw new Violation(`With all faults gone these jobs never ended: ${left}`);
  }

  /** Returns whether any slice ran: if not, only time can help. */
  #healingRound(): boolean {
    let ran = 0;
    for (const process of this.#processes.filter(({ isDead }) => !isDead)) {
      process.beat();
      process.keep();
      process.rescue();
      process.fill();
      ran += process.slices.length;
      while (process.slices.length > 0) process.work({ finish: true });
    }
    return ran > 0;
  }

  #checkTotals(): void {
    const { jobs } = this.#world.store.state;
    const count = (type: string) =>
      jobs.flatMap(({ events }) => events).filter((event) => event === type).length;
    const ended = (status: JobState['status']) => jobs.filter((job) => job.status === status).length;
    const sums: [string, number, number][] = [
      ['made', jobs.length, count('job.queued')],
      ['requeued', jobs.filter((job) => job.requeuedFrom !== null).length, count('job.requeued')],
      ['completed', ended('success'), count('job.completed')],
      ['dead letters', ended('dead_letter'), count('job.dead_lettered')],
      ['canceled', ended('canceled'), count('job.canceled')],
      ['retries', jobs.reduce((sum, job) => sum + job.retryCount, 0), count('job.failed')],
      ['ended', ended('success') + ended('dead_letter') + ended('canceled'), jobs.length],
    ];
    for (const [what, rows, events] of sums) {
      if (rows !== events) throw new Violation(`${what}: ${rows} by the rows, ${events} by the events`);
    }
  }
}
