import { clamp } from '../../../../lib/numbers.ts';
import {
  countIn,
  emptyWindow,
  isLimit,
  type PaceWindow,
  passedSinceLimit,
  perSecond,
} from './pace-window.ts';
import { noThrottling, remember, stillHeld, type ThrottleMemory } from './throttle-memory.ts';

/**
 * How fast one provider (one domain) may be called. Two controls, both AIMD: how many calls run at once, and the delay
 * between two starts. The delay finds a provider's rate: one call at a time can already be too many. Only throttling
 * slows calls down. A failure is the row's, which is tried again; only a run of them shows that the provider is down.
 * Pure: the caller keeps the state, asks `waitBeforeCall`, and reports `callStarted` and `callEnded`.
 */
export interface PaceBounds {
  maxConcurrency: number;
  /** The longest wait for a Retry-After; then the provider is tried again. */
  maxRetryAfterMs: number;
}

export const defaultPaceBounds: PaceBounds = { maxConcurrency: 64, maxRetryAfterMs: 300_000 };

/** `failed` is a 5xx, a timeout or a broken connection; a definite response such as 404 is a success here. */
export interface CallEnd {
  outcome: 'success' | 'throttled' | 'failed';
  retryAfterMs?: number;
}

export interface PaceState {
  /** Calls that may run at once; grows by fractions, so round it down. */
  concurrency: number;
  inFlight: number;
  /** Between the starts of two calls; 0 while no limit is known. */
  delayMs: number;
  /** No call starts before this time. */
  resumeAtMs: number;
  /** Why the pace is what it is, for the log and the console. */
  reason: string;
  /** When the next call is due by the delay alone. */
  dueAtMs: number;
  throttledInARow: number;
  failuresInARow: number;
  failingSinceMs: number | null;
  backoffLevel: number;
  /** No limit was met yet: with every round of answers twice as many calls run at once. */
  isFresh: boolean;
  /** All answers so far. */
  answered: number;
  /** Answers since the last throttled call, and when that was. */
  clean: { calls: number; sinceMs: number };
  /** Starts per second that the provider let through when it last throttled us. */
  knownRate: number;
  cleanWindows: number;
  throttling: ThrottleMemory;
  window: PaceWindow;
}

const startConcurrency = 8;
/** After so many calls, a provider without a limit is called more boldly. */
const freshCalls = 32;
const windowSize = {
  calls: 20,
  minMs: 500,
  slowCalls: 4,
  slowMs: 5_000,
  cleanMs: 1_000,
  troubles: 8,
  troubledMs: 100,
};
const throttledShareLimit = 0.05;
const pausedShareLimit = 0.2;
/** Shorter pauses are part of the pace; longer ones cost so much that they are worth avoiding one by one. */
const longPauseMs = 500;
/** A throttled call after so many others shows that what was saved up is used up. */
const cleanCalls = 30;
/** A call that is late, because this process was busy, is made up for within this time. */
const catchUpMs = 100;
const probeAfter = { throttled: 4, failures: 8 };
const backoff = { baseMs: 250, capMs: 5_000 };
const outage = { minMs: 500, maxMs: 60_000 };
/** Slower than one start per minute is a matter for Retry-After, not for the delay. */
const minRate = 1 / 60;
/** Clean windows, far below the allowed rate, after which the delay is dropped. */
const forgetAfterWindows = 10;

export function initialPace(nowMs: number, bounds: PaceBounds): PaceState {
  return {
    concurrency: Math.min(startConcurrency, bounds.maxConcurrency),
    inFlight: 0,
    delayMs: 0,
    resumeAtMs: nowMs,
    reason: 'start',
    dueAtMs: nowMs,
    throttledInARow: 0,
    failuresInARow: 0,
    failingSinceMs: null,
    backoffLevel: 0,
    isFresh: true,
    answered: 0,
    clean: { calls: 0, sinceMs: nowMs },
    knownRate: 0,
    cleanWindows: 0,
    throttling: noThrottling,
    window: emptyWindow(nowMs),
  };
}

/** Milliseconds until the next call may start; 0 is now, Infinity is "when a running call has ended". */
export function waitBeforeCall(state: PaceState, nowMs: number): number {
  // While nothing but throttling or failures comes back, one call at a time finds out when that is over.
  const allowed = isProbing(state) || isFailing(state) ? 1 : Math.floor(state.concurrency);
  if (state.inFlight >= allowed) return Number.POSITIVE_INFINITY;
  return Math.max(0, state.resumeAtMs - nowMs, state.dueAtMs - nowMs);
}

export function callStarted(state: PaceState, nowMs: number): PaceState {
  const dueAtMs = Math.max(state.dueAtMs, nowMs - catchUpMs) + state.delayMs;
  return { ...state, inFlight: state.inFlight + 1, dueAtMs };
}

export function callEnded(
  state: PaceState,
  end: CallEnd,
  nowMs: number,
  bounds: PaceBounds,
  random: () => number = Math.random,
): PaceState {
  const counted = {
    ...state,
    inFlight: Math.max(0, state.inFlight - 1),
    ...runsAfter(state, end, nowMs),
    window: countIn(state.window, end, nowMs),
  };
  const context = { nowMs, random, bounds, clean: state.clean };
  const wasFull = state.inFlight >= Math.floor(state.concurrency);
  const answered =
    end.outcome === 'success'
      ? afterSuccess(counted, { wasFull }, bounds)
      : end.outcome === 'failed'
        ? afterFailure(counted, context)
        : afterThrottling(counted, end, context);
  return isOver(answered, nowMs) ? closeWindow(answered, nowMs) : answered;
}

/** The provider is down: so many calls in a row have failed that it is no longer chance. */
export function isFailing({ failuresInARow, concurrency }: PaceState): boolean {
  return failuresInARow >= Math.max(probeAfter.failures, Math.floor(concurrency));
}

function runsAfter(state: PaceState, { outcome }: CallEnd, nowMs: number) {
  const isFailed = outcome === 'failed';
  const isThrottled = outcome === 'throttled';
  return {
    answered: state.answered + 1,
    failuresInARow: isFailed ? state.failuresInARow + 1 : 0,
    failingSinceMs: isFailed ? (state.failingSinceMs ?? nowMs) : null,
    throttledInARow: isThrottled ? state.throttledInARow + 1 : isFailed ? state.throttledInARow : 0,
    clean: isThrottled ? { calls: 0, sinceMs: nowMs } : { ...state.clean, calls: state.clean.calls + 1 },
  };
}

/** Additive increase: one more per round of calls, and only when all that is allowed was in use. */
function afterSuccess(state: PaceState, { wasFull }: { wasFull: boolean }, bounds: PaceBounds): PaceState {
  const step = state.isFresh && state.answered > freshCalls ? 1 : 1 / state.concurrency;
  const grown = wasFull ? state.concurrency + step : state.concurrency;
  const concurrency = clamp(grown, { min: 1, max: bounds.maxConcurrency });
  return { ...state, concurrency, backoffLevel: 0 };
}

interface TroubleContext {
  nowMs: number;
  random: () => number;
  bounds: PaceBounds;
  /** Before this call. */
  clean: PaceState['clean'];
}

/** A quarter of the outage so far: its end is noticed soon, and a long one costs few calls. */
function afterFailure(state: PaceState, { nowMs, random }: TroubleContext): PaceState {
  // Calls that were on their way when the pause began must not lengthen it.
  if (!isFailing(state) || nowMs < state.resumeAtMs) return state;
  const outageMs = nowMs - (state.failingSinceMs ?? nowMs);
  const fullMs = clamp(outageMs / 4, { min: outage.minMs, max: outage.maxMs });
  const reason = `${state.failuresInARow} calls in a row have failed`;
  return pause({ ...state, reason }, nowMs + fullMs * (0.75 + 0.25 * random()));
}

function afterThrottling(state: PaceState, end: CallEnd, context: TroubleContext): PaceState {
  const { nowMs, random, bounds } = context;
  if (end.retryAfterMs !== undefined) {
    const waitMs = clamp(end.retryAfterMs, { min: 0, max: bounds.maxRetryAfterMs });
    const untilMs = nowMs + waitMs;
    const moreMs = waitMs < longPauseMs ? 0 : Math.max(0, untilMs - Math.max(nowMs, state.resumeAtMs));
    const paused = pause(moreMs > 0 ? metLimit(state, context) : state, untilMs);
    const askedPauseMs = paused.window.askedPauseMs + moreMs;
    return { ...paused, window: { ...paused.window, hadRetryAfter: true, askedPauseMs } };
  }
  if (!isProbing(state) || nowMs < state.resumeAtMs) return state;
  const fullMs = Math.min(backoff.baseMs * 2 ** state.backoffLevel, backoff.capMs);
  const waitMs = fullMs * (0.5 + 0.5 * random());
  return pause({ ...state, backoffLevel: state.backoffLevel + 1 }, nowMs + waitMs);
}

/**
 * The first throttled call after many others, and a long pause: what the provider had saved up is used up, and the rate
 * is above its limit. Two in short order say nothing of the kind.
 */
function metLimit(state: PaceState, { nowMs, clean }: TroubleContext): PaceState {
  if (clean.calls < cleanCalls || state.delayMs === 0) return state;
  const shown = (clean.calls * 1000) / Math.max(1, nowMs - clean.sinceMs);
  const rate = 1000 / state.delayMs;
  const lower = clamp(shown, { min: rate * 0.7, max: rate * 0.95 });
  const reason = `throttled after ${clean.calls} calls`;
  const slowed = { ...state, knownRate: Math.max(lower, shown), cleanWindows: 0, isFresh: false, reason };
  return { ...slowed, delayMs: 1000 / lower, window: { ...emptyWindow(nowMs), stale: state.inFlight } };
}

function pause(state: PaceState, untilMs: number): PaceState {
  const resumeAtMs = Math.max(state.resumeAtMs, untilMs);
  return { ...state, resumeAtMs, window: { ...state.window, hadPause: true } };
}

/** With many calls at once, a few bad responses in a row are chance; a whole round of them is not. */
function isProbing({ throttledInARow, concurrency }: PaceState): boolean {
  return throttledInARow >= Math.max(probeAfter.throttled, Math.floor(concurrency));
}

function closeWindow(state: PaceState, nowMs: number): PaceState {
  const { calls, throttled, askedPauseMs } = state.window;
  const throttling = stillHeld(state.throttling, state.window);
  const window = { ...emptyWindow(Math.max(nowMs, askedPauseMs > 0 ? state.resumeAtMs : 0)) };
  const fresh = { ...state, throttling, window: { ...window, hadPause: state.resumeAtMs > nowMs } };
  if (throttling.held !== null) return fresh;
  if (throttled / calls <= throttledShareLimit) return speedUp(fresh, state.window, nowMs);
  if (askedPauseMs > 0 && isLimit(state.window)) return toShownRate(fresh, state.window, nowMs);
  // Pauses slow calls down already: with them, a few throttled ones need nothing more.
  if (askedPauseMs > 0 && throttled / calls <= pausedShareLimit) return speedUp(fresh, state.window, nowMs);
  return slowDown({ ...fresh, isFresh: false }, state.window, nowMs);
}

/** The provider has shown its rate: what it let through, in all the time that it took, with the pause to come. */
function toShownRate(state: PaceState, window: PaceWindow, nowMs: number): PaceState {
  const { calls, throttled, startedAtMs } = window;
  const passed = calls - throttled;
  const concurrency = Math.max(1, state.concurrency * 0.7);
  const reason = `${throttled} of ${calls} calls throttled`;
  const slowed = { ...state, concurrency, cleanWindows: 0, isFresh: false, reason };
  // Nothing got through: this shows an outage, not a rate. The pauses take care of it.
  if (passed === 0) return slowed;
  const shown = (passed * 1000) / Math.max(1, Math.max(nowMs, state.resumeAtMs) - startedAtMs);
  const before = state.delayMs === 0 ? Number.POSITIVE_INFINITY : 1000 / state.delayMs;
  const rate =
    clamp(shown, { min: before === Number.POSITIVE_INFINITY ? minRate : before / 2, max: before }) * 0.95;
  return {
    ...slowed,
    delayMs: 1000 / Math.max(rate, minRate),
    knownRate: Math.max(shown, state.knownRate * 0.8),
    window: { ...state.window, stale: state.inFlight },
  };
}

/** Multiplicative decrease, unless a lower rate turns out not to help. */
function slowDown(state: PaceState, window: PaceWindow, nowMs: number): PaceState {
  const { calls, throttled } = window;
  const passed = calls - throttled;
  const slowed = { ...state, cleanWindows: 0, reason: `${throttled} of ${calls} calls throttled` };
  // Nothing got through: this shows an outage, not a rate. The pause between probes takes care of it.
  if (passed === 0) return { ...slowed, concurrency: Math.max(1, state.concurrency / 2) };

  const throttling = remember(state.throttling, window, nowMs);
  if (throttling.held !== null) return holdRate({ ...slowed, throttling });
  const throughput = Math.min(perSecond(passed, window, nowMs), passedSinceLimit(window, nowMs));
  const factor = decreaseFactor(window);
  // If the delay already limits us, the number of concurrent calls is not the problem.
  const concurrencyFactor = state.delayMs === 0 || factor < 0.8 ? 0.7 : 0.95;
  const rate = state.delayMs === 0 ? throughput * 0.95 : effectiveRate(state.delayMs, window, nowMs) * factor;
  return {
    ...slowed,
    throttling,
    concurrency: Math.max(1, state.concurrency * concurrencyFactor),
    delayMs: 1000 / Math.max(rate, minRate),
    knownRate: Math.max(throughput, state.knownRate * 0.7),
    window: { ...state.window, stale: state.inFlight },
  };
}

/** If Retry-After set the pace, the delay had no effect and has to catch up, in steps that an outage cannot abuse. */
function effectiveRate(delayMs: number, window: PaceWindow, nowMs: number): number {
  const rate = 1000 / delayMs;
  if (!window.hadRetryAfter) return rate;
  return clamp(perSecond(window.calls, window, nowMs), { min: rate / 2, max: rate });
}

/**
 * Up to half of the calls are throttled as soon as the rate is slightly above what a provider without burst allows, so
 * that share alone calls for a small step. A larger share means a rate far too high, unless a pause distorts it.
 */
function decreaseFactor({ calls, throttled, hadPause }: PaceWindow): number {
  const passedShare = 1 - throttled / calls;
  if (passedShare < 0.4) return clamp(passedShare, { min: hadPause ? 0.5 : 0.3, max: 1 });
  return clamp(passedShare, { min: 0.85, max: 0.95 });
}

/** Undoes most of the slowdown that did not help. */
function holdRate(state: PaceState): PaceState {
  const reason = `${state.reason}, no fewer when called more slowly`;
  const rate = Math.max(1000 / state.delayMs, state.throttling.startRate * 0.5);
  return { ...state, delayMs: 1000 / rate, knownRate: Math.max(state.knownRate, rate), reason };
}

/** Additive increase of the rate, in larger steps the longer all goes well; fast while far below the known rate. */
function speedUp(state: PaceState, window: PaceWindow, nowMs: number): PaceState {
  const cleanWindows = state.cleanWindows + 1;
  // One clean window among throttled ones is chance; it must not wipe out what has been learnt.
  const clean = { ...state, cleanWindows, throttling: cleanWindows > 1 ? noThrottling : state.throttling };
  if (state.delayMs === 0) return { ...clean, reason: 'no limit met' };
  const rate = 1000 / state.delayMs;
  if (perSecond(window.calls, window, nowMs) < rate * 0.5) {
    // The delay is not the limit now. Keep it for a while: demand may return.
    return cleanWindows < forgetAfterWindows ? clean : { ...clean, delayMs: 0, reason: 'no limit met' };
  }
  const careful = state.knownRate * 0.8;
  // The known rate is out of date after so many increases without meeting a limit.
  const step = cleanWindows > 4 ? rate * 0.25 : state.knownRate * 0.03 * cleanWindows;
  const raised = rate < careful ? Math.min(rate * 1.5, careful) : rate + step;
  return { ...clean, delayMs: 1000 / raised, reason: `${raised.toFixed(1)} calls per second, growing` };
}

function isOver({ window, inFlight, resumeAtMs }: PaceState, nowMs: number): boolean {
  const { startedAtMs, calls, throttled, askedPauseMs } = window;
  const tookMs = nowMs - startedAtMs;
  // All that was on its way when the provider asked for a pause has come back.
  if (throttled >= 2 && askedPauseMs > 0 && resumeAtMs > nowMs && inFlight === 0) return true;
  if (throttled >= windowSize.troubles && tookMs >= windowSize.troubledMs) return true;
  if (calls >= windowSize.calls && tookMs >= windowSize.minMs) return true;
  if (throttled === 0 && calls >= windowSize.slowCalls && tookMs >= windowSize.cleanMs) return true;
  return calls >= windowSize.slowCalls && tookMs - askedPauseMs >= windowSize.slowMs;
}
