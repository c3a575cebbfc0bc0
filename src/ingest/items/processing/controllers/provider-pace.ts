import { clamp } from '../../../../lib/numbers.ts';
import {
  countIn,
  emptyWindow,
  fewestCalls,
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

export const defaultPaceBounds: PaceBounds = { maxConcurrency: 64, maxRetryAfterMs: 24 * 3_600_000 };

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
  /** Until `untilMs` the rate is not raised, because meeting the limit is dear; a new hold may begin at `againAtMs`. */
  hold: { untilMs: number; againAtMs: number; broken: number };
  /** The last rate at which a whole window was clean; 0 is unknown. */
  safeRate: number;
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
/** In a small window, so many are chance. */
const fewThrottled = 2;
/** Shorter pauses are part of the pace; longer ones cost so much that they are worth avoiding one by one. */
const longPauseMs = 500;
/** A throttled call after so many others shows that what was saved up is used up. */
const cleanCalls = 30;
/** A call that is late, because this process was busy, is made up for within this time. */
const catchUpMs = 100;
const probeAfter = { throttled: 4, failures: 8 };
const backoff = { baseMs: 250, capMs: 5_000 };
const outage = { minMs: 500, maxMs: 60_000 };
/** A pause that shows the limit is paid for by so many times its length without another look. */
const holdFactor = 15;
const maxHoldMs = 300_000;
const maxBroken = 3;
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
    hold: { untilMs: 0, againAtMs: 0, broken: 0 },
    safeRate: 0,
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
    const met = moreMs > 0 ? metLimit(state, context) : state;
    const hold = holdAfter(state, { nowMs, untilMs, moreMs, hasMetLimit: met !== state });
    const paused = pause({ ...met, hold }, untilMs);
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
  const { safeRate } = state;
  // Between what has come through, pauses included, and what was never throttled, but may have been saved up.
  const most = clamp(safeRate > 0 ? safeRate * 0.98 : rate, { min: rate * 0.6, max: rate * 0.95 });
  const lower = clamp((shown * most * most) ** (1 / 3), { min: rate * 0.6, max: most });
  const reason = `throttled after ${clean.calls} calls`;
  const slowed = { ...state, knownRate: Math.max(lower, shown), cleanWindows: 0, isFresh: false, reason };
  return { ...slowed, delayMs: 1000 / lower, window: { ...emptyWindow(nowMs), stale: state.inFlight } };
}

/**
 * A look above the limit costs the whole pause, so the next one is left until that has paid off. Calls that are
 * throttled all the same show that the rate is not the reason.
 */
function holdAfter(
  { hold, resumeAtMs }: PaceState,
  met: { nowMs: number; untilMs: number; moreMs: number; hasMetLimit: boolean },
): PaceState['hold'] {
  const { nowMs, untilMs, moreMs, hasMetLimit } = met;
  // Calls that were on their way when the pause began show nothing.
  if (nowMs < resumeAtMs) return hold;
  const broken = nowMs < hold.untilMs ? hold.broken + 1 : nowMs < hold.againAtMs ? hold.broken : 0;
  const endMs = untilMs + Math.min(moreMs * holdFactor, maxHoldMs);
  if (hasMetLimit && broken < maxBroken) return { untilMs: endMs, againAtMs: endMs, broken };
  return { ...hold, untilMs: nowMs, broken };
}

function pause(state: PaceState, untilMs: number): PaceState {
  const resumeAtMs = Math.max(state.resumeAtMs, untilMs);
  // Nothing is made up for after a pause: a provider may not take more than a few calls at once.
  const dueAtMs = state.delayMs > 0 ? Math.max(state.dueAtMs, resumeAtMs) : state.dueAtMs;
  return { ...state, resumeAtMs, dueAtMs, window: { ...state.window, hadPause: true } };
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
  const areFew = throttled <= fewThrottled || throttled / calls <= pausedShareLimit;
  if (askedPauseMs > 0 && areFew) return speedUp(fresh, state.window, nowMs);
  return slowDown({ ...fresh, isFresh: false }, state.window, nowMs);
}

/** The provider has shown its rate: what it let through, in all the time that it took, with the pause to come. */
function toShownRate(state: PaceState, window: PaceWindow, nowMs: number): PaceState {
  const { calls, throttled, startedAtMs } = window;
  const passed = calls - throttled;
  const concurrency = Math.max(1, state.concurrency * 0.7);
  const reason = `${throttled} of ${calls} calls throttled`;
  const slowed = { ...state, concurrency, cleanWindows: 0, safeRate: 0, isFresh: false, reason };
  // Nothing got through: an outage, which the pauses take care of, and no rate.
  if (passed === 0) return slowed;
  const shown = (passed * 1000) / Math.max(1, Math.max(nowMs, state.resumeAtMs) - startedAtMs);
  const active = perSecond(calls, window, nowMs);
  const before = state.delayMs === 0 ? Number.POSITIVE_INFINITY : 1000 / state.delayMs;
  const rate =
    clamp(shown, { min: before === Number.POSITIVE_INFINITY ? minRate : before / 2, max: before }) * 0.95;
  return {
    ...slowed,
    delayMs: 1000 / Math.max(rate, minRate),
    // The limit lies between this rate and that of the calls that were too many.
    knownRate: Math.max(state.delayMs === 0 ? Math.sqrt(shown * active) : shown, state.knownRate * 0.8),
    window: { ...state.window, stale: state.inFlight },
  };
}

/** Multiplicative decrease, unless a lower rate turns out not to help. */
function slowDown(state: PaceState, window: PaceWindow, nowMs: number): PaceState {
  const { calls, throttled } = window;
  const passed = calls - throttled;
  const slowed = {
    ...state,
    cleanWindows: 0,
    safeRate: 0,
    reason: `${throttled} of ${calls} calls throttled`,
  };
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
  // Pauses are not for want of calls.
  const openMs = Math.max(1, nowMs - window.startedAtMs - window.askedPauseMs);
  if ((window.calls * 1000) / openMs < rate * 0.5) {
    // The delay is not the limit now. Keep it for a while: demand may return.
    return cleanWindows < forgetAfterWindows
      ? clean
      : { ...clean, delayMs: 0, safeRate: 0, reason: 'no limit met' };
  }
  const careful = state.knownRate * 0.8;
  if (nowMs < state.hold.untilMs && rate >= careful) {
    const reason = `${rate.toFixed(1)} calls per second, just below the limit that was met`;
    return { ...clean, cleanWindows: state.cleanWindows, reason };
  }
  // The known rate is out of date after so many increases without meeting a limit.
  const isLost = cleanWindows > (state.hold.againAtMs > 0 ? 10 : 4);
  const step = isLost ? rate * 0.25 : state.knownRate * 0.03 * Math.min(cleanWindows, 4);
  const raised = rate < careful ? Math.min(rate * 1.5, careful) : rate + step;
  const reason = `${raised.toFixed(1)} calls per second, growing`;
  return { ...clean, safeRate: rate, delayMs: 1000 / raised, reason };
}

function isOver({ window, inFlight, resumeAtMs }: PaceState, nowMs: number): boolean {
  const { startedAtMs, calls, throttled, askedPauseMs } = window;
  const tookMs = nowMs - startedAtMs;
  // All that was on its way when the provider asked for a pause has come back.
  const isPaused = askedPauseMs > 0 && resumeAtMs > nowMs;
  if (throttled >= 2 && calls >= fewestCalls && isPaused && inFlight === 0) return true;
  if (throttled >= windowSize.troubles && tookMs >= windowSize.troubledMs) return true;
  if (calls >= windowSize.calls && tookMs >= windowSize.minMs) return true;
  if (throttled === 0 && calls >= windowSize.slowCalls && tookMs >= windowSize.cleanMs) return true;
  return calls >= windowSize.slowCalls && tookMs - askedPauseMs >= windowSize.slowMs;
}
