/** How long one task may keep the event loop busy before other work may run. */
export const busyLimitMs = 5;

interface Waiting {
  /** How many turns the task has had. */
  turns: number;
  goOn(): void;
}

/** Tasks that wait for their next turn, over the whole process, the oldest first. */
const waiting: Waiting[] = [];
let isTurnOfOldest = false;

/**
 * Awaiting something that is already there runs as a microtask, so a fast source and a fast reader together
 * would starve every other request of the process. Call this between chunks.
 *
 * Only one task of the process goes on in each round of the event loop. If all did, a tenant with eight files would
 * keep every request waiting for eight turns. Every other turn goes to the task that has had the fewest: a small file
 * does not wait for a turn of each large one. The turns between go to whoever waits longest, so that nobody starves.
 */
export function createTurns(
  now: () => number = performance.now.bind(performance),
): () => Promise<void> | undefined {
  let since = now();
  let turns = 0;
  return () => {
    if (now() - since < busyLimitMs) return undefined;
    return nextTurn(turns).then(() => {
      turns += 1;
      since = now();
    });
  };
}

function nextTurn(turns: number): Promise<void> {
  return new Promise((resolve) => {
    waiting.push({ turns, goOn: resolve });
    if (waiting.length === 1) setImmediate(letOneGoOn);
  });
}

/** What is scheduled here runs in the next round, after requests that have arrived meanwhile. */
function letOneGoOn(): void {
  isTurnOfOldest = !isTurnOfOldest;
  const [next] = waiting.splice(isTurnOfOldest ? 0 : leastServed(), 1);
  if (waiting.length > 0) setImmediate(letOneGoOn);
  next?.goOn();
}

function leastServed(): number {
  const fewest = Math.min(...waiting.map(({ turns }) => turns));
  return waiting.findIndex(({ turns }) => turns === fewest);
}
