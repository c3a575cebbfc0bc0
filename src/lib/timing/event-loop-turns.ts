/** How long one task may keep the event loop busy before other work may run. */
const busyLimitMs = 5;

/** Tasks that wait for their next turn, over the whole process. */
const waiting: (() => void)[] = [];

/**
 * Awaiting something that is already there runs as a microtask, so a fast source and a fast reader together
 * would starve every other request of the process. Call this between chunks.
 *
 * Only one task of the process goes on in each round of the event loop. If all did, a tenant with eight files would
 * keep every request waiting for eight turns.
 */
export function createTurns(
  now: () => number = performance.now.bind(performance),
): () => Promise<void> | undefined {
  let since = now();
  return () => {
    if (now() - since < busyLimitMs) return undefined;
    return nextTurn().then(() => {
      since = now();
    });
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(letOneGoOn);
  });
}

/** What is scheduled here runs in the next round, after requests that have arrived meanwhile. */
function letOneGoOn(): void {
  const goOn = waiting.shift();
  if (waiting.length > 0) setImmediate(letOneGoOn);
  goOn?.();
}
