import { Bell } from '../../../lib/timing/bell.ts';
import { jittered } from '../../../lib/timing/repeat.ts';
import type { KernelParts } from '../kernel.ts';
import type { TakenJob } from '../lease/claimer.ts';
import type { HeldLease } from '../lease/lease-keeper.ts';
import { SharedTurns } from '../shared/shared-turns.ts';
import type { HandOver } from '../store.ts';
import type { JobId } from '../types.ts';
import { Prefetch } from './prefetch.ts';
import { isShared, type RunOptions, type SliceEnd } from './slice-runner.ts';

export type WorkerDeps = Pick<
  KernelParts,
  | 'claimer'
  | 'keeper'
  | 'membership'
  | 'runner'
  | 'wake'
  | 'logger'
  | 'concurrency'
  | 'pollMs'
  | 'workerId'
  | 'leaseMs'
  | 'tenantLimit'
> & {
  /** Whether this process is the one that runs jobs which a worker died with. */
  runsStruck: () => boolean;
};

/** A slot that waits for the job which is being dispatched in this process. */
export interface Seat extends HandOver {
  /** The job was leased to this process with its dispatch. */
  take(taken: TakenJob): void;
  leave(): void;
}

interface Ready {
  taken: TakenJob;
  /** A shared job has none. */
  held: HeldLease | null;
}

/** How long a job may wait here for a slot before it is given back. */
const maxReadyMs = 1_000;
const struckEveryMs = 500;
/** How many slices may run or wait for their settlement before slots stay taken until then. */
const mostUnsettled = 500;

/**
 * The work loop: claims as many jobs as fit, runs their slices side by side, and claims again when work was announced,
 * a slice ended, or the poll interval has passed. It claims a few more than it can start at once only while slices
 * take so little time that they start within a moment.
 */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #running = new Set<Promise<void>>();
  readonly #turns = new SharedTurns();
  readonly #prefetch: Prefetch;
  #freeSlots: number;
  #ready: Ready[] = [];
  /** A job whose worker died runs alone, so that no other job gets a strike if it happens again. */
  #alone = false;
  /** Such a job waits for the others to end, so no further one may start. */
  #makesRoom = false;
  #lookForStruckAtMs = 0;
  #stopping = false;
  readonly #bell = new Bell();
  #loop: Promise<void> | null = null;
  #unlisten: () => void = () => {};

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#freeSlots = deps.concurrency;
    this.#prefetch = new Prefetch(deps.concurrency);
  }

  start(): void {
    this.#unlisten = this.#deps.wake.on('jobs', () => this.#onWork());
    this.#loop = this.#run();
  }

  /** Stops claiming, lets slices end within the deadline, then gives back what is left. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#unlisten();
    this.#deps.runner.drain();
    this.#bell.ring();
    await this.#loop;
    await this.#giveBack(this.#ready.splice(0));
    const ended = Promise.all(this.#running);
    await Promise.race([ended, timeout(graceMs)]);
    if (this.#running.size > 0) {
      this.#deps.keeper.abortAll('the worker is stopping');
      this.#deps.runner.abortTurns('the worker is stopping');
      await Promise.race([ended, timeout(1_000)]);
      if (this.#running.size > 0) await this.#deps.keeper.releaseAll();
    }
    // Others may take what this worker gives back.
    this.#deps.wake.announce('jobs');
  }

  /** A free slot for a job that is about to be dispatched here; null when there is none, or others come first. */
  reserve(): Seat | null {
    const isOpen = this.#loop !== null && !this.#stopping && this.#deps.membership.isMember;
    const isSpokenFor = this.#alone || this.#makesRoom || this.#ready.length > 0;
    if (!isOpen || isSpokenFor || this.#freeSlots < 1) return null;
    this.#freeSlots -= 1;
    const leave = () => {
      this.#freeSlots += 1;
      if (this.#makesRoom) this.#bell.ring();
    };
    const { workerId, leaseMs, tenantLimit } = this.#deps;
    return {
      workerId,
      leaseMs,
      tenantLimit,
      take: (taken) => {
        leave();
        this.#admit([taken]);
        // The worker stopped while the job was dispatched: it must not wait for its lease to expire.
        if (this.#stopping) void this.#giveBack(this.#ready.splice(0));
      },
      leave,
    };
  }

  /** A worker without a free slot passes the word on. */
  #onWork(): void {
    if (this.#freeSlots > 0 && !this.#alone) this.#bell.ring();
    else this.#deps.wake.passOn();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        await this.#giveBackStale();
        await this.#fill();
      } catch (error) {
        this.#deps.logger.warn({ err: error }, 'jobs could not be claimed; trying again');
      }
      if (!this.#stopping) await this.#bell.wait(jittered(this.#pollMs()));
    }
  }

  #pollMs(): number {
    const pollMs = this.#deps.pollMs * this.#deps.wake.crowd;
    return this.#deps.runsStruck() ? Math.min(pollMs, struckEveryMs) : pollMs;
  }

  async #fill(): Promise<void> {
    while (!this.#stopping && this.#deps.membership.isMember) {
      if (await this.#preferStruck()) return;
      const room = this.#freeSlots + this.#prefetch.size - this.#ready.length;
      // In few large claims: the next one when half of what was taken in advance has started.
      if (room < 1 || (this.#freeSlots < 1 && this.#ready.length > this.#prefetch.size / 2)) return;
      const taken = await this.#deps.claimer.claim({ limit: room, spared: this.#turns.spared });
      if (taken.length === 0) {
        if (!(await this.#fillWithTurns())) return;
        continue;
      }
      this.#turns.forgetRested();
      this.#admit(taken);
      // As much as there was room for: there may be more than this worker can do.
      if (taken.length >= room) this.#deps.wake.passOn();
    }
  }

  /** With nothing else to do, shared jobs get further slots, but one stays free for whoever comes next. */
  async #fillWithTurns(): Promise<boolean> {
    if (!this.#turns.hasRepeatable) return false;
    if (this.#turns.running > 0 && this.#freeSlots < 2) return false;
    const waitMs = this.#turns.waitMs(performance.now());
    if (waitMs > 0) {
      setTimeout(() => this.#turns.running > 0 && this.#bell.ring(), waitMs).unref();
      return false;
    }
    const limit = Math.max(1, this.#freeSlots - 1);
    const taken = await this.#deps.claimer.claim({ limit, spared: this.#turns.waiting });
    this.#turns.forgetRested();
    this.#admit(taken);
    return taken.length > 0;
  }

  #admit(taken: TakenJob[]): void {
    for (const one of taken) {
      const held = isShared(one.job) ? null : this.#deps.keeper.hold(one.job, one.askedAtMs);
      this.#ready.push({ taken: one, held });
    }
    this.#startReady();
  }

  #startReady(): void {
    while (this.#freeSlots > 0 && !this.#stopping) {
      const next = this.#ready.shift();
      if (!next) return;
      this.#start(next);
    }
  }

  #start({ taken, held }: Ready): void {
    const { job } = taken;
    const turn = held ? null : this.#turns.begin(job.jobId, () => this.#freeSlots === 0);
    const startedAtMs = performance.now();
    this.#freeSlots -= 1;
    let holdsSlot = true;
    let hasMore = true;
    const freeSlot = () => {
      if (!holdsSlot) return;
      holdsSlot = false;
      this.#freeSlots += 1;
      if (!turn) this.#prefetch.observe(performance.now() - startedAtMs);
      this.#startReady();
      this.#bell.ring();
    };
    const leaveSlot = () => {
      if (!turn?.leaveSlot()) return false;
      freeSlot();
      return true;
    };
    const options: RunOptions = {
      ...(held ? { held } : {}),
      // A job that has to run alone waits for the turns without a slot, too.
      ...(turn ? { shouldYield: () => turn.shouldYield() || this.#makesRoom, leaveSlot } : {}),
      // Slices that wait for their settlement do no work: the more of them, the fewer commits.
      onAdvanced: () => {
        if (this.#running.size < mostUnsettled) freeSlot();
      },
    };
    const running = this.#deps.runner
      .run(taken, options)
      .then((end) => {
        hasMore = end.type !== 'turn' || end.result.state === 'more';
        this.#expectDue(end);
      })
      .catch((error: unknown) =>
        this.#deps.logger.error(
          { err: error, job_id: job.jobId, correlation_id: job.correlationId },
          'a slice ended in an unforeseen way',
        ),
      )
      .finally(() => {
        this.#running.delete(running);
        turn?.end(hasMore);
        freeSlot();
        this.#bell.ring();
      });
    this.#running.add(running);
  }

  /**
   * Whether this worker waits for its slices to end, or runs a job alone. Only one process of the fleet does so, and
   * only for a job that it can claim.
   */
  async #preferStruck(): Promise<boolean> {
    if (this.#alone) return true;
    const struck = await this.#findStruck();
    this.#makesRoom = struck !== null;
    if (!struck) return false;
    await this.#giveBack(this.#ready.splice(0));
    // Slots of running slices and of jobs that are being dispatched, and slices that wait for their settlement.
    if (this.#freeSlots < this.#deps.concurrency || this.#running.size > 0) return true;
    const taken = await this.#deps.claimer.claimOne(struck);
    this.#makesRoom = false;
    if (!taken) {
      this.#lookForStruckAtMs = performance.now() + struckEveryMs;
      return false;
    }
    this.#alone = true;
    this.#admit([taken]);
    await Promise.all(this.#running);
    this.#alone = false;
    return false;
  }

  async #findStruck(): Promise<JobId | null> {
    if (!this.#deps.runsStruck() || performance.now() < this.#lookForStruckAtMs) return null;
    const struck = await this.#deps.claimer.findStruck();
    if (!struck) this.#lookForStruckAtMs = performance.now() + struckEveryMs;
    return struck;
  }

  async #giveBackStale(): Promise<void> {
    const isStale = ({ taken }: Ready) => performance.now() - taken.askedAtMs > maxReadyMs;
    if (!this.#ready.some(isStale)) return;
    const stale = this.#ready.filter(isStale);
    this.#ready = this.#ready.filter((ready) => !isStale(ready));
    await this.#giveBack(stale);
    this.#deps.wake.passOn();
  }

  async #giveBack(ready: Ready[]): Promise<void> {
    const leases = ready.flatMap(({ held }) => held ?? []);
    for (const held of leases) this.#deps.keeper.drop(held);
    if (leases.length > 0) await this.#deps.keeper.release(...leases);
  }

  /** A short wait ends before the next poll: wake up at that time. */
  #expectDue(end: SliceEnd): void {
    if (end.type !== 'settled' || !('delayMs' in end.outcome)) return;
    const { delayMs } = end.outcome;
    if (delayMs < this.#pollMs()) {
      setTimeout(() => this.#bell.ring(), delayMs + 1).unref();
    }
  }
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
