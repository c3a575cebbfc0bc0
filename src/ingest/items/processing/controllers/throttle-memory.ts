import { ewma } from '../../../../lib/numbers.ts';
import { type PaceWindow, perSecond } from './pace-window.ts';

/** Whether slowing down has helped so far. */
export interface ThrottleMemory {
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

export const noThrottling: ThrottleMemory = {
  startRate: 0,
  segment: null,
  passedShare: null,
  unmoved: 0,
  held: null,
};
/** Adds the window to its segment, or ends the segment when the rate has become much lower. */
export function remember(memory: ThrottleMemory, window: PaceWindow, nowMs: number): ThrottleMemory {
  const { calls, throttled, hadPause } = window;
  const passed = calls - throttled;
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

/** Small windows are noisy, so the share has to change over several of them before the rate moves again. */
export function stillHeld(memory: ThrottleMemory, { calls, throttled }: PaceWindow): ThrottleMemory {
  if (memory.held === null) return memory;
  const { share } = memory.held;
  const average = ewma(memory.held.average, throttled / calls, calls / (calls + 60));
  const isSame = average > share * 0.4 && average < share + 0.4;
  return isSame ? { ...memory, held: { share, average } } : noThrottling;
}
