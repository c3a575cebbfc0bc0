/**
 * Limits how many turns of one job run at once in this process. Batches of a pure processor are work for the database
 * alone: more than a few in parallel only wait for each other there, at the row of the job's counts and for a CPU
 * (eight instead of two cost a quarter of the throughput of two processes).
 */
export class Lanes {
  readonly #width: number;
  readonly #jobs = new Map<string, { working: number; waiting: Set<() => void> }>();

  constructor({ width }: { width: number }) {
    this.#width = width;
  }

  /** Returns a function that frees the lane, or null when no lane became free in time. */
  async enter(jobId: string, waitMs: number): Promise<(() => void) | null> {
    const job = this.#jobs.get(jobId) ?? { working: 0, waiting: new Set<() => void>() };
    this.#jobs.set(jobId, job);
    const untilMs = performance.now() + waitMs;
    while (job.working >= this.#width) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return null;
      await untilWoken(job.waiting, leftMs);
    }
    job.working += 1;
    return () => this.#leave(jobId, job);
  }

  #leave(jobId: string, job: { working: number; waiting: Set<() => void> }): void {
    job.working -= 1;
    const [next] = job.waiting;
    if (next) next();
    else if (job.working === 0) this.#jobs.delete(jobId);
  }
}

function untilWoken(waiting: Set<() => void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      waiting.delete(wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    waiting.add(wake);
  });
}
