import { setImmediate } from 'node:timers/promises';

/** How long an export may keep the event loop busy before other work may run. */
const busyLimitMs = 15;

/**
 * Awaiting something that is already there runs as a microtask, so a fast source and a fast reader together
 * would starve every other request of the process. Call this between chunks.
 */
export function createTurns(
  now: () => number = performance.now.bind(performance),
): () => Promise<void> | undefined {
  let since = now();
  return () => {
    if (now() - since < busyLimitMs) return undefined;
    return setImmediate().then(() => {
      since = now();
    });
  };
}
