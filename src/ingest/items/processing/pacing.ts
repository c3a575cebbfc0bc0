import type { FetchAnswer, FetchOptions, GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../../lib/fetch/retry-after.ts';
import type { ProviderLimiter, ProviderWait } from '../providers/provider-limiter.ts';
import { hostOf, type ProviderKey } from '../providers/types.ts';
import type { JobKey } from '../types.ts';
import {
  type ClaimBounds,
  type ClaimSignal,
  type ClaimState,
  initialClaimState,
  nextClaimState,
} from './controllers/claim-size.ts';
import {
  type CallEnd,
  callEnded,
  callStarted,
  defaultPaceBounds,
  initialPace,
  isFailing,
  type PaceState,
  waitBeforeCall,
} from './controllers/provider-pace.ts';
import { PressureMeter } from './pressure.ts';
import { CallNotBegun } from './processors/outcomes.ts';

const maxRemembered = 1_000;
const longPauseMs = 800;
/** For a shorter wait, a turn keeps its rows. */
export const shortWaitMs = 2_000;
const lookAgainMs = 4_000;

/** What the controllers decided, and why, as people see it. */
export interface ControllerView {
  claim: Omit<ClaimState, 'pressureFactor' | 'failureFactor'> & {
    /** How long all items of a claim should take together. */
    targetMs: number;
  };
  providers: { provider: string; concurrency: number; delayMs: number; reason: string }[];
}

interface PacedJob {
  claim: ClaimState;
  /** The last pressure reading that the claim was adjusted by. */
  readingNo: number;
  providers: Set<string>;
  seenAtMs: number;
}

/** The saved state of other processes is never older than this while they work. */
const liveMs = 2_000;

/** The controllers of this process: the claim size of each job and the pace of each provider. */
export class Pacing {
  readonly #bounds: ClaimBounds;
  readonly #jobs = new Map<string, PacedJob>();
  readonly #providers = new Map<string, ProviderPace>();
  readonly #pressure: PressureMeter;
  readonly #onThrottled: (provider: string) => void;
  readonly #limiterOf: ((key: ProviderKey) => ProviderLimiter) | undefined;

  constructor(options: {
    bounds: ClaimBounds;
    onThrottled: (provider: string) => void;
    pressure?: PressureMeter;
    limiterOf?: (key: ProviderKey) => ProviderLimiter;
  }) {
    this.#bounds = options.bounds;
    this.#onThrottled = options.onThrottled;
    this.#limiterOf = options.limiterOf;
    this.#pressure = options.pressure ?? new PressureMeter();
  }

  claimOf(jobId: string): ClaimState {
    return this.#jobs.get(jobId)?.claim ?? initialClaimState(this.#bounds);
  }

  observe(jobId: string, signal: Pick<ClaimSignal, 'items' | 'elapsedMs' | 'failures'>): ClaimState {
    const job = this.#open(jobId);
    const { readingNo, ...pressure } = this.#pressure.read();
    const isOldReading = readingNo === job.readingNo;
    job.claim = nextClaimState(job.claim, { ...signal, ...pressure, isOldReading }, this.#bounds);
    job.readingNo = readingNo;
    job.seenAtMs = performance.now();
    return job.claim;
  }

  /** The pace of a job's provider. Tenants have separate ones: bad credentials of one must not slow the others. */
  providerFor({ tenantId, jobId }: JobKey, name: string): ProviderPace {
    const key = `${tenantId}/${name}`;
    this.#open(jobId).providers.add(key);
    const known = this.#providers.get(key);
    if (known) return known;
    forgetOldest(this.#providers);
    const host = hostOf(name);
    const limiter = host === null ? undefined : this.#limiterOf?.({ tenantId, host });
    const made = new ProviderPace(() => this.#onThrottled(name), limiter);
    this.#providers.set(key, made);
    return made;
  }

  /** Null: this process never worked on the job. */
  describe(jobId: string): ControllerView | null {
    const job = this.#jobs.get(jobId);
    if (!job) return null;
    const { items, lockMs, spacingMs, avgItemMs, failureRate, reason } = job.claim;
    return {
      claim: {
        items,
        lockMs,
        spacingMs,
        avgItemMs: avgItemMs === null ? null : Math.round(avgItemMs * 1000) / 1000,
        targetMs: this.#bounds.targetSliceMs,
        failureRate: Math.round(failureRate * 1000) / 1000,
        reason,
      },
      providers: [...job.providers].flatMap((key) => {
        const pace = this.#providers.get(key);
        return pace?.wasCalled ? [{ provider: key.slice(key.indexOf('/') + 1), ...pace.describe() }] : [];
      }),
    };
  }

  /** Null: this process did not work on the job recently. */
  describeLive(jobId: string): ControllerView | null {
    const seenAtMs = this.#jobs.get(jobId)?.seenAtMs ?? 0;
    return seenAtMs > 0 && performance.now() - seenAtMs < liveMs ? this.describe(jobId) : null;
  }

  #open(jobId: string): PacedJob {
    const known = this.#jobs.get(jobId);
    if (known) return known;
    forgetOldest(this.#jobs);
    const made: PacedJob = {
      claim: initialClaimState(this.#bounds),
      readingNo: 0,
      providers: new Set(),
      seenAtMs: 0,
    };
    this.#jobs.set(jobId, made);
    return made;
  }
}

interface Stops {
  signal: AbortSignal | undefined;
  ending?: AbortSignal | undefined;
  /** A call that would have to wait longer is not begun. */
  mostWaitMs?: number;
  /** The call that was expected has its turn. */
  onTurn?: (() => void) | undefined;
}

/** A call that is about to be made; it counts like one that runs. */
export interface ExpectedCall {
  begun(): void;
}

/** Starts calls to one provider only as fast as it accepts them. */
export class ProviderPace {
  #state: PaceState = initialPace(performance.now(), defaultPaceBounds);
  readonly #onThrottled: () => void;
  readonly #waiting = new Set<() => void>();
  readonly #listeners = new Set<() => void>();
  readonly #limiter: ProviderLimiter | undefined;
  /** What the settings, the budget or another process keep back. */
  #hold: { untilMs: number; lookAgainMs: number; waitingFor: ProviderWait['waitingFor'] } | null = null;
  #publishedMs = 0;
  #expected = 0;
  #wasCalled = false;

  constructor(onThrottled: () => void, limiter?: ProviderLimiter) {
    this.#onThrottled = onThrottled;
    this.#limiter = limiter;
  }

  get inFlight(): number {
    return this.#state.inFlight;
  }

  /** Reads the settings, and what other processes know; cheap when that was done a moment ago. */
  async refresh(): Promise<void> {
    const wait = await this.#limiter?.refresh();
    if (wait) this.#holdFor(wait);
  }

  get concurrency(): number {
    return Math.max(1, Math.floor(this.#state.concurrency));
  }

  get wasCalled(): boolean {
    return this.#wasCalled;
  }

  /** How many calls could start now. */
  get room(): number {
    if (this.startsInMs > 0) return 0;
    const allowed = isFailing(this.#state) ? 1 : this.concurrency;
    const soon = this.#state.delayMs > 0 ? Math.max(1, Math.ceil(100 / this.#state.delayMs)) : allowed;
    return Math.max(0, Math.min(soon, allowed - this.#state.inFlight) - this.#expected);
  }

  /** How many calls it will take within a second, as far as that is known. */
  get perSecond(): number {
    return this.#state.delayMs > 0 ? 1000 / this.#state.delayMs : this.concurrency * 4;
  }

  /** When there may be room without a call ending before: for a timer. */
  get startsInMs(): number {
    const now = performance.now();
    return Math.max(waitBeforeCall(this.#state, now), (this.#hold?.lookAgainMs ?? 0) - now);
  }

  /** Null: calls may start, or do so in a moment. */
  get wait(): ProviderWait | null {
    const now = performance.now();
    const waitMs = this.#state.resumeAtMs - now;
    const hold = this.#hold;
    if (hold !== null && hold.lookAgainMs > now && hold.untilMs - now >= waitMs) {
      return { waitMs: hold.untilMs - now, waitingFor: hold.waitingFor };
    }
    if (waitMs <= 0) return null;
    return { waitMs, waitingFor: isFailing(this.#state) ? 'provider_down' : 'provider_pause' };
  }

  /** Before a call is prepared, which takes a moment: otherwise too many would be. */
  expect(): ExpectedCall {
    let isExpected = true;
    this.#expected += 1;
    return {
      begun: () => {
        if (isExpected) this.#expected -= 1;
        isExpected = false;
      },
    };
  }

  /** Calls back whenever there may be room; returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  describe(): { concurrency: number; delayMs: number; reason: string } {
    const { concurrency, delayMs, reason } = this.#state;
    return { concurrency: Math.round(concurrency * 10) / 10, delayMs: Math.round(delayMs), reason };
  }

  /** The same fetch, limited to the provider's pace. Once `ending` aborts, waiting calls are not started. */
  pace(fetch: GuardedFetch, stops: Omit<Stops, 'signal'> = {}): GuardedFetch {
    const paced = async (url: string, options?: FetchOptions) =>
      this.#call({ ...stops, signal: options?.signal }, () => fetch(url, this.#inTime(options)));
    return Object.assign(paced, {
      stream: (url: string, options?: FetchOptions) =>
        this.#call({ ...stops, signal: options?.signal }, () => fetch.stream(url, this.#inTime(options))),
      close: () => fetch.close(),
    });
  }

  async #call<Body>(stops: Stops, start: () => Promise<FetchAnswer<Body>>): Promise<FetchAnswer<Body>> {
    await this.#turn(stops);
    stops.onTurn?.();
    this.#wasCalled = true;
    let end: CallEnd = { outcome: 'failed' };
    try {
      const answer = await start();
      end = endOf(answer);
      return answer;
    } finally {
      this.#state = callEnded(this.#state, end, performance.now(), defaultPaceBounds);
      if (end.outcome === 'throttled') this.#onThrottled();
      this.#publish();
      for (const wake of this.#waiting) wake();
      for (const listener of this.#listeners) listener();
    }
  }

  /** Whether the settings allow the call that has just been counted; if not, it is not counted any more. */
  async #isAllowed(): Promise<boolean> {
    try {
      const wait = (await this.#limiter?.take(this.#state.inFlight - 1)) ?? null;
      if (wait === null) return true;
      this.#holdFor(wait);
    } catch (error) {
      this.#state = { ...this.#state, inFlight: this.#state.inFlight - 1 };
      throw error;
    }
    this.#state = { ...this.#state, inFlight: this.#state.inFlight - 1 };
    return false;
  }

  #holdFor({ waitMs, waitingFor }: ProviderWait): void {
    const now = performance.now();
    // Somebody may raise the budget meanwhile.
    this.#hold = { untilMs: now + waitMs, lookAgainMs: now + Math.min(waitMs, lookAgainMs), waitingFor };
  }

  #inTime(options: FetchOptions | undefined): FetchOptions | undefined {
    const most = this.#limiter?.timeoutMs ?? null;
    return most === null ? options : { ...options, timeoutMs: Math.min(options?.timeoutMs ?? most, most) };
  }

  /** A longer pause is for all processes. */
  #publish(): void {
    const untilMs = this.#state.resumeAtMs;
    const waitMs = untilMs - performance.now();
    if (!this.#limiter || waitMs < longPauseMs || untilMs <= this.#publishedMs) return;
    this.#publishedMs = untilMs;
    const waitingFor = isFailing(this.#state) ? 'provider_down' : 'provider_pause';
    // If the database is away, the others find out by themselves.
    this.#limiter.publish({ waitMs, waitingFor }).catch(() => {});
  }

  async #turn({ signal, ending, mostWaitMs = Number.POSITIVE_INFINITY }: Stops): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      if (ending?.aborted || (this.wait?.waitMs ?? 0) > mostWaitMs) throw new CallNotBegun();
      const waitMs = this.startsInMs;
      if (waitMs <= 0) {
        // Started in the same step: otherwise all waiting calls would pass at once.
        this.#state = callStarted(this.#state, performance.now());
        if (await this.#isAllowed()) return;
        continue;
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          signal?.removeEventListener('abort', wake);
          ending?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.min(waitMs, 1_000));
        this.#waiting.add(wake);
        signal?.addEventListener('abort', wake, { once: true });
        ending?.addEventListener('abort', wake, { once: true });
      });
    }
  }
}

function endOf<Body>({ status, headers }: FetchAnswer<Body>): CallEnd {
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers.date);
  const more = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === 429 || (status === 503 && retryAfterMs !== undefined))
    return { outcome: 'throttled', ...more };
  return { outcome: status >= 500 ? 'failed' : 'success' };
}

function forgetOldest<Key, Value>(map: Map<Key, Value>): void {
  if (map.size < maxRemembered) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
