import { clamp, ewma } from '../../../../lib/numbers.ts';

/**
 * How fast one provider (one domain) may be called. Two controls, both AIMD: how many calls run at once, and the delay
 * between two starts. The delay finds a provider's rate: one call at a time can already be too many.
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
  lastStartAtMs: number;
  troublesInARow: number;
  backoffLevel: number;
  /** Starts per second that the provider let through when it last throttled us. */
  knownRate: number;
  cleanWindows: number;
  throttling: ThrottleMemory;
  window: PaceWindow;
}

/** Decisions are made per window of calls: a single response says little. */
interface PaceWindow {
  startedAtMs: number;
  calls: number;
  throttled: number;
  failed: number;
  /** Calls were held back for a while, so the window shows less than the allowed rate. */
  hadPause: boolean;
  /** It was the provider that asked for a pause. */
  hadRetryAfter: boolean;
  /** Calls that began at the previous rate; what they show is known already. */
  stale: number;
}

/** Whether slowing down has helped so far. */
interface ThrottleMemory {
  /** Calls per second when the slowing down began; 0 is "not throttled". */
  startRate: number;
  /** Windows at about the same rate, combined: a single one is too noisy to compare. */
  segment: { callRate: number; calls: number; passed: number } | null;
  /** The share of calls that got through in the previous segment. */
  passedShare: number | null;
  /** How often a much lower rate was throttled equally often. */
  unmoved: number;
  /** While the rate is held because lowering does not help: the throttled share then, and its average since. */
  held: { share: number; average: number } | null;
}

const noThrottling: ThrottleMemory = {
  startRate: 0,
  segment: null,
  passedShare: null,
  unmoved: 0,
  held: null,
};
const startConcurrency = 4;
const windowSize = { calls: 20, minMs: 500, slowCalls: 4, slowMs: 5_000, troubles: 8, troubledMs: 100 };
const throttledShareLimit = 0.05;
const failedShareLimit = 0.2;
const probeAfterTroubles = 4;
const backoff = { baseMs: 250, capMs: 5_000 };
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
    lastStartAtMs: Number.NEGATIVE_INFINITY,
    troublesInARow: 0,
    backoffLevel: 0,
    knownRate: 0,
    cleanWindows: 0,
    throttling: noThrottling,
    window: emptyWindow(nowMs),
  };
}

/** Milliseconds until the next call may start; 0 is now, Infinity is "when a running call has ended". */
export function waitBeforeCall(state: PaceState, nowMs: number): number {
  // After several failures in a row, one call at a time checks whether the provider is back.
  const allowed = isProbing(state) ? 1 : Math.floor(state.concurrency);
  if (state.inFlight >= allowed) return Number.POSITIVE_INFINITY;
  return Math.max(0, state.resumeAtMs - nowMs, state.lastStartAtMs + state.delayMs - nowMs);
}

export function callStarted(state: PaceState, nowMs: number): PaceState {
  return { ...state, inFlight: state.inFlight + 1, lastStartAtMs: nowMs };
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
    window: countIn(state.window, end, nowMs),
  };
  const answered =
    end.outcome === 'success'
      ? afterSuccess(counted, { wasFull: state.inFlight >= Math.floor(state.concurrency) }, bounds)
      : afterTrouble(counted, end, { nowMs, random, bounds });
  return isOver(answered.window, nowMs) ? closeWindow(answered, nowMs) : answered;
}

/** Additive increase: one more per round of calls, and only when all that is allowed was in use. */
function afterSuccess(state: PaceState, { wasFull }: { wasFull: boolean }, bounds: PaceBounds): PaceState {
  const grown = wasFull ? state.concurrency + 1 / state.concurrency : state.concurrency;
  const concurrency = clamp(grown, { min: 1, max: bounds.maxConcurrency });
  return { ...state, concurrency, troublesInARow: 0, backoffLevel: 0 };
}

interface TroubleContext {
  nowMs: number;
  random: () => number;
  bounds: PaceBounds;
}

function afterTrouble(state: PaceState, end: CallEnd, { nowMs, random, bounds }: TroubleContext): PaceState {
  const troubled = { ...state, troublesInARow: state.troublesInARow + 1 };
  if (end.retryAfterMs !== undefined) {
    const waitMs = clamp(end.retryAfterMs, { min: 0, max: bounds.maxRetryAfterMs });
    const paused = pause(troubled, nowMs + waitMs);
    return { ...paused, window: { ...paused.window, hadRetryAfter: true } };
  }
  // Calls that were on their way when the pause began must not lengthen it.
  if (!isProbing(troubled) || nowMs < state.resumeAtMs) return troubled;
  const fullMs = Math.min(backoff.baseMs * 2 ** state.backoffLevel, backoff.capMs);
  const waitMs = fullMs * (0.5 + 0.5 * random());
  return pause({ ...troubled, backoffLevel: state.backoffLevel + 1 }, nowMs + waitMs);
}

function pause(state: PaceState, untilMs: number): PaceState {
  const resumeAtMs = Math.max(state.resumeAtMs, untilMs);
  return { ...state, resumeAtMs, window: { ...state.window, hadPause: true } };
}

/** With many calls at once, a few bad responses in a row are chance; a whole round of them is not. */
function isProbing({ troublesInARow, concurrency }: PaceState): boolean {
  return troublesInARow >= Math.max(probeAfterTroubles, Math.floor(concurrency));
}

function closeWindow(state: PaceState, nowMs: number): PaceState {
  const { calls, throttled, failed } = state.window;
  const throttling = stillHeld(state.throttling, state.window);
  const window = { ...emptyWindow(nowMs), hadPause: state.resumeAtMs > nowMs };
  const fresh = { ...state, throttling, window };
  if (throttling.held !== null) return fresh;
  if (throttled / calls > throttledShareLimit) return slowDown(fresh, state.window, nowMs);
  if (failed / calls > failedShareLimit) {
    const reason = `${failed} of ${calls} calls failed`;
    return { ...fresh, concurrency: Math.max(1, state.concurrency / 2), cleanWindows: 0, reason };
  }
  return speedUp(fresh, state.window, nowMs);
}

/** Multiplicative decrease, unless a lower rate turns out not to help. */
function slowDown(state: PaceState, window: PaceWindow, nowMs: number): PaceState {
  const { calls, throttled, failed } = window;
  const passed = calls - throttled - failed;
  const slowed = { ...state, cleanWindows: 0, reason: `${throttled} of ${calls} calls throttled` };
  // Nothing got through: this shows an outage, not a rate. The pause between probes takes care of it.
  if (passed === 0) return { ...slowed, concurrency: Math.max(1, state.concurrency / 2) };

  const throttling = remember(state.throttling, window, nowMs);
  if (throttling.held !== null) return holdRate({ ...slowed, throttling });
  const throughput = perSecond(passed, window, nowMs);
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

/** Adds the window to its segment, or ends the segment when the rate has become much lower. */
function remember(memory: ThrottleMemory, window: PaceWindow, nowMs: number): ThrottleMemory {
  const { calls, throttled, failed, hadPause } = window;
  const passed = calls - throttled - failed;
  const callRate = perSecond(calls, window, nowMs);
  const { segment } = memory;
  const begun = { callRate, calls, passed };
  if (segment === null) return { ...memory, startRate: callRate, segment: begun };
  if (callRate > segment.callRate * 0.6) {
    return {
      ...memory,
      segment: { ...segment, calls: segment.calls + calls, passed: segment.passed + passed },
    };
  }
  const passedShare = segment.passed / segment.calls;
  const unmoved = memory.unmoved + evidence(memory.passedShare, passedShare, hadPause);
  const share = 1 - passedShare;
  return {
    ...memory,
    segment: begun,
    passedShare,
    unmoved: Math.max(0, unmoved),
    held: unmoved >= 2 ? { share, average: share } : null,
  };
}

/**
 * A real limit lets twice the share through at half the rate. A provider that lets the same share of ever fewer calls
 * through throttles at random, and going slower still would only cost throughput. Less than before is no sign of
 * either: a burst allowance was used up. Pauses set the pace too, so they halve the evidence.
 */
function evidence(before: number | null, now: number, hadPause: boolean): number {
  if (before === null || now < before * 0.7) return 0;
  if (now > before * 1.3) return -1;
  return hadPause ? 0.5 : 1;
}

/** Undoes most of the slowdown that did not help. */
function holdRate(state: PaceState): PaceState {
  const reason = `${state.reason}, no fewer when called more slowly`;
  const rate = Math.max(1000 / state.delayMs, state.throttling.startRate * 0.5);
  return { ...state, delayMs: 1000 / rate, knownRate: Math.max(state.knownRate, rate), reason };
}

/** Small windows are noisy, so the share has to change over several of them before the rate moves again. */
function stillHeld(memory: ThrottleMemory, { calls, throttled }: PaceWindow): ThrottleMemory {
  if (memory.held === null) return memory;
  const { share } = memory.held;
  const average = ewma(memory.held.average, throttled / calls, calls / (calls + 60));
  const isSame = average > share * 0.4 && average < share + 0.4;
  return isSame ? { ...memory, held: { share, average } } : noThrottling;
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
  const step = cleanWindows > 6 ? rate * 0.25 : state.knownRate * 0.03 * cleanWindows;
  const raised = rate < careful ? Math.min(rate * 1.5, careful) : rate + step;
  return { ...clean, delayMs: 1000 / raised, reason: `${raised.toFixed(1)} calls per second, growing` };
}

function countIn(window: PaceWindow, { outcome }: CallEnd, nowMs: number): PaceWindow {
  if (window.stale > 0) return { ...window, startedAtMs: nowMs, stale: window.stale - 1 };
  return {
    ...window,
    calls: window.calls + 1,
    throttled: window.throttled + (outcome === 'throttled' ? 1 : 0),
    failed: window.failed + (outcome === 'failed' ? 1 : 0),
  };
}

function isOver({ startedAtMs, calls, throttled, failed }: PaceWindow, nowMs: number): boolean {
  const tookMs = nowMs - startedAtMs;
  if (throttled + failed >= windowSize.troubles && tookMs >= windowSize.troubledMs) return true;
  if (calls >= windowSize.calls && tookMs >= windowSize.minMs) return true;
  return calls >= windowSize.slowCalls && tookMs >= windowSize.slowMs;
}

function emptyWindow(nowMs: number): PaceWindow {
  return {
    startedAtMs: nowMs,
    calls: 0,
    throttled: 0,
    failed: 0,
    hadPause: false,
    hadRetryAfter: false,
    stale: 0,
  };
}

function perSecond(calls: number, { startedAtMs }: PaceWindow, nowMs: number): number {
  return (calls * 1000) / Math.max(1, nowMs - startedAtMs);
}
