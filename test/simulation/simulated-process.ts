import type { Lease } from '../../src/kernel/jobs/types.ts';
import type { Happening, ProcessTruth } from './happening.ts';
import {
  type Claim,
  type Claimed,
  type GuardedBy,
  type JobKey,
  leaseMs,
  pipelineNames,
} from './job-store.ts';
import { drawOutcome } from './outcomes.ts';
import { maxStrikes, type SimulatedWorld } from './simulated-world.ts';

/** The rescuer's own figure: a worker that lost its guard connection tries again at least every two seconds. */
const rejoinMs = 5_000;
const tenantLimit = 4;

interface HeldSlice {
  lease: Claimed;
  /** By the process's own clock, which goes on while it is stopped. */
  renewedAtMs: number;
  clockJumps: number;
  step: number;
  isAborted: boolean;
  isPaused: boolean;
  runsAlone: boolean;
}

/** A worker process: what it holds and its next step. It may die, stop, wake, or lose its connections. */
export class SimulatedProcess implements ProcessTruth {
  readonly id: string;
  readonly guardedBy: GuardedBy;
  readonly slices: HeldSlice[] = [];
  isStopped = false;
  isDead = false;
  isMember = false;
  readonly #world: SimulatedWorld;
  readonly #concurrency: number;
  #guardIsOpen = false;
  #toRelease: Lease[] = [];
  #hasStruck = false;

  constructor(world: SimulatedWorld, process: { id: string; guardedBy: GuardedBy; concurrency: number }) {
    this.#world = world;
    this.id = process.id;
    this.guardedBy = process.guardedBy;
    this.#concurrency = process.concurrency;
  }

  get canAct(): boolean {
    return !this.isDead && !this.isStopped;
  }

  get isPresent(): boolean {
    return !this.isDead && this.isMember && (this.guardedBy === 'expiry' || this.#guardIsOpen);
  }

  join(): void {
    if (this.isMember) return;
    const { store } = this.#world;
    if (this.guardedBy === 'lock') this.#world.act(this.#happening('lock'), () => store.lock(this.id));
    this.#guardIsOpen = true;
    const registered = this.#call('register', this.guardedBy, () => store.register(this.id, this.guardedBy));
    if (registered) this.isMember = true;
    else this.#closeGuard();
  }

  /** The guard connection ends; the process learns of it now, or with its next heartbeat. */
  cut({ notices }: { notices: boolean }): void {
    if (this.guardedBy !== 'lock' || !this.#guardIsOpen) return;
    this.#world.tick('guard cut');
    this.#closeGuard();
    if (notices) this.#lose();
  }

  crash(): void {
    this.#world.tick('crash');
    this.isDead = true;
    this.slices.length = 0;
    this.#world.note('fault', this.id, 'dies');
    this.#closeGuard();
  }

  /** A clean exit: the process releases its leases and signs off. */
  leave(): void {
    const leases = this.slices.splice(0).map(({ lease }) => lease);
    this.#world.tick('leave');
    this.#release(leases);
    this.#call('deregister', '', () => this.#world.store.deregister(this.id));
    this.isDead = true;
    this.#closeGuard();
  }

  beat(): void {
    if (!this.isMember) this.join();
    else if (this.guardedBy === 'lock' && !this.#guardIsOpen) this.#lose();
    else this.#sayAlive();
  }

  #sayAlive(): void {
    const beaten = this.#call('beat', '', () => this.#world.store.beat(this.id));
    if (beaten && !beaten.answer) this.#lose();
    else if (beaten?.answer?.wasLost) this.#world.tick('given up alive');
  }

  /** The lease keeper's beat: gives back what could not be given back before, and renews the rest. */
  keep(): void {
    this.#release([]);
    if (this.slices.length > 0 && !this.#renew(this.slices)) this.#abortStale();
  }

  rescue(): void {
    const rules = { maxStrikes, silentMs: leaseMs, rejoinMs };
    const rescued = this.#call('rescue', '', () => this.#world.store.rescue(rules));
    if (!rescued) return;
    this.#hasStruck = rescued.answer.hasStruck;
    for (const { cause, struck, status } of rescued.answer.jobs) {
      this.#world.tick(`rescued by ${cause}`);
      if (struck) this.#world.tick('struck');
      if (status === 'dead_letter') this.#world.tick('poison');
    }
  }

  /** Takes what fits; a job that a worker died with only when there is nothing else in this process. */
  fill(): void {
    if (!this.isMember || this.slices.some(({ runsAlone }) => runsAlone)) return;
    if (this.#hasStruck) {
      if (this.slices.length > 0) return;
      if (this.#claim({ limit: 1, struck: true }) > 0) return;
    }
    const free = this.#concurrency - this.slices.length;
    if (free > 0) this.#claim({ limit: free });
  }

  kickOff({ tenantId, jobId }: JobKey): void {
    if (this.isMember) this.#claim({ limit: 1, tenantId, jobId });
  }

  /** One more step of one of the slices. `finish`: it succeeds, whatever it had planned. */
  work({ finish }: { finish: boolean }): void {
    const slice = this.#world.random.pick(this.slices);
    if (!slice) return;
    const choice = finish ? 9 : this.#world.random.below(10);
    if (slice.isAborted) this.#drop(slice);
    else if (choice < 2) this.#callOutside(slice);
    else if (choice < 4 && slice.lease.status !== 'canceled') this.#save(slice);
    else this.#settle(slice, finish);
  }

  #claim(wish: Pick<Claim, 'limit' | 'tenantId' | 'jobId' | 'struck'>): number {
    const claim = { workerId: this.id, pipelines: pipelineNames, tenantLimit, ...wish };
    const what = `${wish.jobId ?? `up to ${wish.limit}`}${wish.struck ? ' struck' : ''}`;
    const claimed = this.#call('claim', what, () => this.#world.store.claim(claim), { claim });
    for (const lease of claimed?.answer ?? []) {
      this.#world.tick(`claimed ${lease.was}`);
      this.slices.push({
        lease,
        renewedAtMs: this.#world.monotonicMs,
        clockJumps: this.#world.clockJumps,
        step: lease.stepsDone,
        isAborted: false,
        isPaused: false,
        runsAlone: wish.struck === true,
      });
    }
    return claimed?.answer.length ?? 0;
  }

  /** Before an outside call the lease must be certain: renewed a moment ago, or confirmed by the store now. */
  #callOutside(slice: HeldSlice): void {
    const isFresh = this.#world.monotonicMs - slice.renewedAtMs < leaseMs / 2;
    if (!isFresh && !(this.#renew([slice]) && !slice.isAborted)) {
      this.#drop(slice);
      return;
    }
    this.#world.tick('outside call');
    this.#world.checkOutsideCall(this, slice);
    this.#world.note('fault', this.id, `calls outside for ${keyOf(slice.lease)}`);
  }

  #save(slice: HeldSlice): void {
    const step = slice.step + 1;
    const { lease } = slice;
    const askedAtMs = this.#world.monotonicMs;
    const what = `${keyOf(lease)} step ${step}`;
    const saved = this.#call('save', what, () => this.#world.store.save(lease, step), { lease });
    if (!saved?.answer) {
      this.#drop(slice);
      return;
    }
    slice.step = step;
    slice.renewedAtMs = Math.max(slice.renewedAtMs, askedAtMs);
    slice.clockJumps = this.#world.clockJumps;
  }

  #settle(slice: HeldSlice, finish: boolean): void {
    const { lease } = slice;
    const { random, store } = this.#world;
    const isCleanup = lease.status === 'canceled';
    const { outcome, makesProgress } = finish
      ? { outcome: { type: 'done' } as const, makesProgress: true }
      : drawOutcome(random, {
          isCleanup,
          mustYield: slice.isPaused,
          retryCount: lease.retryCount,
          breakage: store.state.breakage,
        });
    const step = makesProgress && !isCleanup ? { step: slice.step + 1 } : {};
    const what = `${keyOf(lease)} ${outcome.type}`;
    const settle = () => store.settle({ ...lease, outcome, ...step });
    const settled = this.#call('settle', what, settle, { lease, outcome });
    // Refused, or a COMMIT without an answer: giving the lease back is right in both cases.
    if (!settled?.answer) {
      this.#drop(slice);
      return;
    }
    this.#world.tick(`settled ${isCleanup ? 'cleanup' : outcome.type}`);
    this.slices.splice(this.slices.indexOf(slice), 1);
  }

  #drop(slice: HeldSlice): void {
    this.slices.splice(this.slices.indexOf(slice), 1);
    this.#release([slice.lease]);
  }

  #release(leases: readonly Lease[]): void {
    this.#toRelease.push(...leases);
    if (this.#toRelease.length === 0) return;
    const all = this.#toRelease;
    const what = all.map(keyOf).join(' ');
    if (this.#call('release', what, () => this.#world.store.release(this.id, all))) this.#toRelease = [];
  }

  #renew(slices: readonly HeldSlice[]): boolean {
    const askedAtMs = this.#world.monotonicMs;
    const leases = slices.map(({ lease }) => lease);
    const renewed = this.#call('renew', `${leases.length}`, () => this.#world.store.renew(this.id, leases));
    if (!renewed) return false;
    const statusOf = new Map(renewed.answer.map((lease) => [keyOf(lease), lease.status]));
    for (const slice of slices) {
      const status = statusOf.get(keyOf(slice.lease));
      if (status === undefined) {
        slice.isAborted = true;
        continue;
      }
      slice.renewedAtMs = askedAtMs;
      slice.clockJumps = this.#world.clockJumps;
      slice.isPaused = status === 'paused';
    }
    return true;
  }

  /** With the store away a lease ends by the process's own clock. */
  #abortStale(): void {
    for (const slice of this.slices) {
      if (this.#world.monotonicMs - slice.renewedAtMs > leaseMs) slice.isAborted = true;
    }
  }

  /** Other workers may be taking over our leases: no slice continues. */
  #lose(): void {
    this.isMember = false;
    for (const slice of this.slices) slice.isAborted = true;
    this.#world.note('fault', this.id, 'knows that it is cut off');
    this.#closeGuard();
  }

  #closeGuard(): void {
    this.#guardIsOpen = false;
    if (this.guardedBy === 'lock') {
      this.#world.act(this.#happening('unlock'), () => this.#world.store.unlock(this.id));
    }
  }

  #call<T>(
    kind: Happening['kind'],
    what: string,
    run: () => T,
    more: Pick<Happening, 'lease' | 'claim' | 'outcome'> = {},
  ): { answer: T } | null {
    return this.#world.call({ kind, who: this.id, what, ...more }, run);
  }

  #happening(kind: Happening['kind']): Happening {
    return { kind, who: this.id, what: '' };
  }
}

/** With the epoch: a process may still hold an old slice of a job that it has claimed anew. */
function keyOf({ jobId, leaseEpoch }: Pick<Lease, 'jobId' | 'leaseEpoch'>): string {
  return `${jobId}/${leaseEpoch}`;
}
