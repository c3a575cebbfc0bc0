import type { CallEnd } from './provider-pace.ts';

/** Decisions are made per window of calls: a single response says little. */
export interface PaceWindow {
  startedAtMs: number;
  calls: number;
  throttled: number;
  failed: number;
  /** What came after the first throttled call: a limit refuses most of it, chance does not. */
  after: { calls: number; throttled: number; sinceMs: number };
  /** In pauses of half a second or more that the provider has asked for. */
  askedPauseMs: number;
  /** Calls were held back for a while, so the window shows less than the allowed rate. */
  hadPause: boolean;
  /** It was the provider that asked for a pause. */
  hadRetryAfter: boolean;
  /** Calls that began at the previous rate; what they show is known already. */
  stale: number;
}

const limitShare = 0.55;
/** Fewer show no rate. */
export const fewestCalls = 8;

export function countIn(window: PaceWindow, { outcome }: CallEnd, nowMs: number): PaceWindow {
  if (window.stale > 0) {
    return { ...window, startedAtMs: Math.max(nowMs, window.startedAtMs), stale: window.stale - 1 };
  }
  const { after } = window;
  const isThrottled = outcome === 'throttled' ? 1 : 0;
  return {
    ...window,
    calls: window.calls + 1,
    throttled: window.throttled + isThrottled,
    failed: window.failed + (outcome === 'failed' ? 1 : 0),
    after:
      window.throttled === 0
        ? { ...after, sinceMs: nowMs }
        : { ...after, calls: after.calls + 1, throttled: after.throttled + isThrottled },
  };
}

/** A limit, once it is reached, refuses most of what follows. Chance refuses no more than before, and the pauses do. */
export function isLimit({ calls, throttled, after }: PaceWindow): boolean {
  if (after.calls < 4) return throttled / calls >= 0.5;
  return after.throttled >= 3 && after.throttled / after.calls >= limitShare;
}

/** What came through before the limit was met was saved up, and says nothing about the rate. */
export function passedSinceLimit({ after, ...window }: PaceWindow, nowMs: number): number {
  if (after.calls < fewestCalls || !isLimit({ after, ...window })) return Number.POSITIVE_INFINITY;
  return (Math.max(1, after.calls - after.throttled) * 1000) / Math.max(1, nowMs - after.sinceMs);
}

export function emptyWindow(nowMs: number): PaceWindow {
  return {
    startedAtMs: nowMs,
    calls: 0,
    throttled: 0,
    failed: 0,
    after: { calls: 0, throttled: 0, sinceMs: nowMs },
    askedPauseMs: 0,
    hadPause: false,
    hadRetryAfter: false,
    stale: 0,
  };
}

export function perSecond(calls: number, { startedAtMs }: PaceWindow, nowMs: number): number {
  return (calls * 1000) / Math.max(1, nowMs - startedAtMs);
}
