import { parkJob } from '../../../../kernel/jobs/shared/shared-store.ts';
import type { TurnResult } from '../../../../kernel/jobs/types.ts';
import { isSluiceError } from '../../../../lib/errors.ts';
import { newId } from '../../../../lib/ids.ts';
import { clamp } from '../../../../lib/numbers.ts';
import { Bell } from '../../../../lib/timing/bell.ts';
import { longestWaitMs, type ProviderWait } from '../../providers/provider-limiter.ts';
import type { ClaimedItem, ItemChange, Wait } from '../../types.ts';
import { maxParkMs, parkUntilDue } from '../batch.ts';
import { type HeldLocks, holdOn, renewWhileWorking } from '../item-locks.ts';
import { type JobWatch, watchJob } from '../job-watch.ts';
import { changesOf, contextFor, contextOf, type Opened, reportOf, type TurnDeps } from '../opened-turn.ts';
import { givenBack } from '../outcomes.ts';
import { type ProviderPace, shortWaitMs } from '../pacing.ts';
import { fitting } from '../processing.ts';
import { CallNotBegun, isOurTrouble } from '../processors/outcomes.ts';
import type { ProviderCall } from '../processors/types.ts';
import { noteJobWait } from '../store.ts';
import { Answers } from './answers.ts';
import { claimRows } from './claims.ts';

/** A turn that holds no slot may last so long; then it makes room for those that have none. */
const waitingTurnMs = 60_000;
/** A turn looks for rows to claim at least this often. */
const lookMs = 1_000;
const troubleDelayMs = 500;
const sayFromMs = 500;
/** Between two rows that are claimed alone, others have their time. */
const betweenAloneMs = 1_000;

/**
 * One turn of a job whose rows are worked on outside of any transaction. Rows are claimed as the provider can take
 * them, calls run side by side, and answers are committed as they come: nothing waits for the slowest of a batch.
 */
export class Flight {
  readonly #deps: TurnDeps;
  readonly #opened: Opened;
  readonly #locks: HeldLocks;
  readonly #answers: Answers;
  readonly #watch: JobWatch;
  readonly #bell = new Bell();
  /** Aborted when no further call may begin, not even one that waits for its turn with the provider. */
  readonly #landing = new AbortController();
  readonly #size: number;
  #untilMs: number;
  readonly #isByCall: boolean;
  #queue: ClaimedItem[] = [];
  #open = 0;
  #claimAtMs = 0;
  #isDry = false;
  #hasCrashed = false;
  #hasFreed = false;
  #hasClaimed = false;
  #aloneAtMs = performance.now() - betweenAloneMs;
  /** Until then no other row is expected, and those that are claimed alone follow each other at once. */
  #othersDryUntilMs = 0;
  #wait: ProviderWait | null = null;
  #saidUntilMs = 0;

  constructor(deps: TurnDeps, opened: Opened) {
    const { job, processor, options, turn, paces } = opened;
    this.#deps = deps;
    this.#opened = opened;
    this.#isByCall = processor.itemsPerCall !== undefined;
    this.#size = processor.itemsPerCall?.(options) ?? processor.itemsAtOnce ?? paces.entry.concurrency * 4;
    const holdsSlot = !this.#isByCall || turn.leaveSlot?.() !== true;
    this.#untilMs = performance.now() + (holdsSlot ? deps.bounds.targetSliceMs : waitingTurnMs);
    const { lockMs } = deps.pacing.claimOf(job.jobId);
    this.#locks = { lockToken: newId(), lockMs, renewal: { atMs: 0 } };
    this.#answers = new Answers(deps, opened, { locks: this.#locks, onCommit: () => this.#bell.ring() });
    this.#watch = watchJob(deps, opened);
    this.#watch.ending.addEventListener('abort', () => this.#landing.abort(), { once: true });
  }

  async run(): Promise<TurnResult> {
    const { paces } = this.#opened;
    const stopRenewing = renewWhileWorking(this.#deps, this.#opened, this.#locks);
    const stopListening = paces.onChange(() => this.#bell.ring());
    try {
      await paces.refresh();
      while (!this.#mustEnd()) {
        if (this.#needsRows()) await this.#claim();
        this.#start();
        this.#sayWait();
        if (this.#isDone()) break;
        await this.#bell.wait(this.#waitMs());
      }
    } finally {
      stopListening();
      await this.#land();
      stopRenewing();
      this.#watch.stop();
    }
    return this.#result();
  }

  #mustEnd(): boolean {
    const { turn, paces } = this.#opened;
    const { signal, ending } = this.#watch;
    if (signal.aborted || ending.aborted || turn.shouldYield() || this.#answers.isOver) return true;
    if (performance.now() > this.#untilMs) return true;
    const { wait } = paces.entry;
    // Rows and a place among the turns are not held for a provider that will not be called for a while.
    this.#wait = this.#isByCall && wait !== null && wait.waitMs > shortWaitMs ? wait : null;
    return this.#wait !== null;
  }

  /** A shorter wait is not worth leaving for, but rows are to say what they wait for. */
  #sayWait(): void {
    const { job, paces } = this.#opened;
    const { wait } = paces.entry;
    const untilMs = performance.now() + (wait?.waitMs ?? 0);
    if (
      !this.#isByCall ||
      wait === null ||
      wait.waitMs < sayFromMs ||
      untilMs < this.#saidUntilMs + sayFromMs
    )
      return;
    this.#saidUntilMs = untilMs;
    // If the database is away, nobody reads it either.
    this.#deps.db.tenant(job.tenantId, (tx) => noteJobWait(tx, job, wait)).catch(() => {});
  }

  #needsRows(): boolean {
    const now = performance.now();
    if (this.#answers.isStuck || now < Math.min(this.#claimAtMs, this.#answers.nextRetryAtMs)) return false;
    if (this.#wantsAlone()) return this.#open === 0 && this.#queue.length === 0;
    return this.#queue.length < Math.max(this.#size, this.#wanted() / 2);
  }

  #wantsAlone(): boolean {
    const now = performance.now();
    return this.#hasCrashed && (now < this.#othersDryUntilMs || now > this.#aloneAtMs + betweenAloneMs);
  }

  /**
   * Of calls, what can be started within about a second: rows that are claimed earlier would only be locked for longer.
   * Failures make no difference there, because the provider's pace and its breaker see to them.
   */
  #wanted(): number {
    const { paces, job } = this.#opened;
    const { items, pressureFactor } = this.#deps.pacing.claimOf(job.jobId);
    if (!this.#isByCall) return items;
    const { claimMin, claimMax } = this.#deps.bounds;
    const soon = Math.ceil(paces.entry.perSecond * pressureFactor) * this.#size;
    return Math.max(this.#size, clamp(soon, { min: claimMin, max: claimMax }));
  }

  get #spacingMs(): number {
    return this.#isByCall ? 0 : this.#deps.pacing.claimOf(this.#opened.job.jobId).spacingMs;
  }

  async #claim(): Promise<void> {
    const alone = this.#wantsAlone();
    const limit = Math.max(1, this.#wanted() - this.#queue.length);
    this.#answers.nextRetryAtMs = Number.POSITIVE_INFINITY;
    try {
      await this.#opened.paces.refresh();
      const { items, hasCrashed, freed } = await claimRows(this.#deps, this.#opened, {
        locks: this.#locks,
        limit,
        alone,
      });
      this.#queue.push(...items);
      if (freed > 0 && this.#hasClaimed) this.#leaveFreed();
      this.#hasClaimed ||= items.length > 0;
      this.#hasCrashed = hasCrashed && !this.#hasFreed;
      const now = performance.now();
      if (alone) this.#aloneAtMs = now;
      this.#isDry = items.length === 0 || (!alone && items.length < limit);
      if (this.#isDry && !alone) this.#othersDryUntilMs = now + lookMs;
      const spacingMs = Math.min(this.#spacingMs, maxParkMs);
      this.#claimAtMs = now + (this.#isDry && !(this.#hasCrashed && !alone) ? lookMs : spacingMs);
    } catch (error) {
      if (isSluiceError(error) && error.code === 'lease_lost') throw error;
      if (!isOurTrouble(error)) throw error;
      // Nothing is lost: what was claimed before goes on.
      this.#claimAtMs = performance.now() + troubleDelayMs;
    }
  }

  /** Rows that a worker died with are for the next turn, which comes soon: perhaps this worker was the late one. */
  #leaveFreed(): void {
    this.#hasFreed = true;
    this.#untilMs = Math.min(this.#untilMs, performance.now() + this.#deps.bounds.targetSliceMs);
  }

  /** A row does not hold its lock for a later provider that will not be called for a while. */
  #giveBackWaiting(): void {
    const { paces } = this.#opened;
    if (paces.all.length === 1) return;
    const changes = this.#queue.flatMap((item) => {
      const pace = paces.ofItem(item);
      const wait = pace === paces.entry ? null : pace.wait;
      return wait === null || wait.waitMs <= shortWaitMs ? [] : [givenBack(item, lookAgain(wait))];
    });
    const ids = new Set(changes.map(({ id }) => id));
    this.#queue = this.#queue.filter(({ id }) => !ids.has(id));
    this.#answers.add({ changes, calls: [] });
  }

  #start(): void {
    this.#giveBackWaiting();
    const alone = this.#wantsAlone() || this.#queue.some(({ crashes }) => crashes > 0);
    while (this.#queue.length > 0 && !this.#answers.isStuck) {
      if (alone && this.#open > 0) return;
      const pace = this.#freePace();
      if (pace === null) return;
      void this.#runUnit(this.#takeUnit(pace), pace);
      if (!this.#isByCall) return;
    }
  }

  /** A provider that a row in the queue needs, and that takes a call now. */
  #freePace(): ProviderPace | null {
    const { paces } = this.#opened;
    if (!this.#isByCall) return this.#open === 0 ? paces.entry : null;
    const free = paces.all.filter((pace) => paces.room(pace, this.#open) > 0);
    if (free.length === 0 || paces.all.length === 1) return free[0] ?? null;
    const item = this.#queue.find((one) => free.includes(paces.ofItem(one)));
    return item === undefined ? null : paces.ofItem(item);
  }

  /** Rows that are asked for in one way: those of another strategy or provider need a call of their own. */
  #takeUnit(pace: ProviderPace): ClaimedItem[] {
    const { paces } = this.#opened;
    const isFor = (item: ClaimedItem) => paces.all.length === 1 || paces.ofItem(item) === pace;
    const strategy = this.#queue.find(isFor)?.strategy;
    const chosen = this.#isByCall
      ? this.#queue.filter((item) => item.strategy === strategy && isFor(item))
      : this.#queue;
    const unit = fitting(chosen.slice(0, this.#size));
    const taken = new Set(unit);
    this.#queue = this.#queue.filter((item) => !taken.has(item));
    return unit;
  }

  async #runUnit(items: ClaimedItem[], pace: ProviderPace): Promise<void> {
    this.#open += 1;
    const expected = pace.expect();
    const calls: ProviderCall[] = [];
    const context = contextOf(this.#deps, this.#opened, {
      log: (call) => void calls.push(call),
      keep: (progress) => this.#answers.keep(progress, calls.splice(0)),
      assertHeld: () => this.#assertHeld(),
      signal: this.#watch.signal,
      ending: this.#landing.signal,
      onTurn: () => expected.begun(),
    });
    let changes: ItemChange[];
    try {
      const made = await changesOf(this.#deps, this.#opened, { items, context });
      // What was stopped before its call has no outcome, and no error to show.
      changes = made.map((change) => (isUntouched(change) ? givenBack(change) : change));
    } catch (error) {
      changes = this.#withoutFault(items, error);
    }
    expected.begun();
    this.#open -= 1;
    this.#answers.add({ changes, calls });
    this.#bell.ring();
  }

  #withoutFault(items: ClaimedItem[], error: unknown): ItemChange[] {
    const { job, turn } = this.#opened;
    if (!(error instanceof CallNotBegun) && !this.#watch.signal.aborted) {
      const line = { err: error, job_id: job.jobId, correlation_id: turn.job.correlationId };
      this.#deps.logger.warn(line, 'rows are given back: the trouble is not theirs');
    }
    const wait = error instanceof CallNotBegun ? null : { delayMs: troubleDelayMs, waitingFor: null };
    return items.map((item) => givenBack(item, wait));
  }

  /** Before every outside call. */
  async #assertHeld(): Promise<void> {
    if (this.#opened.turn.shouldYield() && !this.#watch.signal.aborted) throw new CallNotBegun();
    await holdOn(this.#deps, this.#opened, this.#locks);
  }

  #isDone(): boolean {
    if (this.#open > 0 || this.#queue.length > 0 || this.#answers.isBusy) return false;
    if (!this.#isDry || this.#hasCrashed) return false;
    return this.#answers.nextRetryAtMs - performance.now() > lookMs;
  }

  #waitMs(): number {
    const now = performance.now();
    const startsInMs = this.#queue.length > 0 ? this.#opened.paces.startsInMs : lookMs;
    const claimInMs = Math.min(this.#answers.nextRetryAtMs, this.#claimAtMs) - now;
    return Math.max(1, Math.min(lookMs, startsInMs, claimInMs > 0 ? claimInMs : lookMs));
  }

  /**
   * No further call begins; those that run are waited for, and what was not begun is given back. It is due at once: the
   * job as a whole waits, and if somebody raises a limit meanwhile, no row is left behind.
   */
  async #land(): Promise<void> {
    this.#landing.abort();
    const left = this.#queue.splice(0);
    this.#answers.add({ changes: left.map((item) => givenBack(item)), calls: [] });
    while (this.#open > 0) await this.#bell.wait(lookMs);
    await this.#answers.close();
  }

  async #result(): Promise<TurnResult> {
    const { processed, isLast, isOver } = this.#answers;
    const { job, turn } = this.#opened;
    if (this.#answers.lost !== null) throw this.#answers.lost;
    if (isLast) return { processed, state: 'finished' };
    if (this.#wait !== null) return this.#park(Math.min(this.#wait.waitMs, maxParkMs), this.#wait);
    if (isOver) return { processed, state: 'idle' };
    // While many items fail, the next claim waits.
    if (this.#spacingMs > 0 && !this.#isDry) return this.#park(Math.min(this.#spacingMs, maxParkMs));
    const hasMore = !this.#isDry || this.#answers.nextRetryAtMs <= performance.now();
    if (turn.shouldYield() || hasMore) return { processed, state: 'more' };
    const report = reportOf(this.#deps, this.#opened);
    const state = await this.#deps.db.transaction(contextFor(job), (tx) => parkUntilDue(tx, report));
    return { processed, state };
  }

  async #park(delayMs: number, wait: ProviderWait | null = null): Promise<TurnResult> {
    const { job } = this.#opened;
    await this.#deps.db.tenant(job.tenantId, async (tx) => {
      if (wait !== null) await noteJobWait(tx, job, wait);
      await parkJob(tx, job, delayMs);
    });
    return { processed: this.#answers.processed, state: 'idle' };
  }
}

/** Somebody may raise a limit meanwhile, so a row looks again before its wait is over. */
function lookAgain({ waitMs, waitingFor }: ProviderWait): { delayMs: number; waitingFor: Wait } {
  return { delayMs: Math.min(waitMs, longestWaitMs), waitingFor };
}

function isUntouched({ status, givesAttemptBack, waitingFor }: ItemChange): boolean {
  return status === 'PENDING' && givesAttemptBack && waitingFor === null;
}
