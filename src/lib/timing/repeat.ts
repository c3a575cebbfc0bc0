/** Runs the work again and again, each time after a pause. Returns how to stop; a run in progress still ends. */
export function repeat(
  work: () => Promise<unknown>,
  pauseMs: () => number,
  firstPauseMs = pauseMs(),
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const runAfter = (ms: number): void => {
    timer = setTimeout(() => {
      void work().finally(() => {
        if (!isStopped) runAfter(pauseMs());
      });
    }, ms);
  };
  runAfter(firstPauseMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Around this time, so that many processes do not all act at the same moment. */
export function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}
