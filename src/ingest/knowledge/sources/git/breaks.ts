import { setImmediate as nextTurn } from 'node:timers/promises';

const turnMs = 8;

/** Lets the process do other things at least every few milliseconds; throws when the work is to stop. */
export type Breaks = () => Promise<void>;

export function takeBreaks(signal: AbortSignal): Breaks {
  let turnFrom = performance.now();
  return async () => {
    if (performance.now() - turnFrom < turnMs) return;
    await nextTurn();
    signal.throwIfAborted();
    turnFrom = performance.now();
  };
}
