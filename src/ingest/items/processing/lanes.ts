interface Turns {
  working: number;
  /** The last claim was full, so there is more to do than the working turns have taken. */
  hasMore: boolean;
  waiting: Set<() => void>;
}

/** The place of one turn. */
export interface Lane {
  /** Whether other turns would find something to do. */
  share(hasMore: boolean): void;
  /** A second call does nothing. */
  leave(): void;
}

/**
 * Limits how many turns of one job run at once in this process. Batches of a pure processor are work for the database
 * alone: more than a few in parallel only wait for each other there, at the row of the job's counts and for a CPU
 * (eight instead of two cost a quarter of the throughput of two processes). A further turn begins only when the claims
 * of the others were full: of a job with one row it would cost as much as the first, and find nothing.
 */
export class Lanes {
  readonly #width: number;
  readonly #jobs = new Map<string, Turns>();

  constructor({ width }: { width: number }) {
    this.#width = width;
  }

  /** Null when no lane became free in time, or the other turns have left nothing to do. */
  async enter(jobId: string, waitMs: number): Promise<Lane | null> {
    const turns = this.#jobs.get(jobId) ?? { working: 0, hasMore: true, waiting: new Set<() => void>() };
    this.#jobs.set(jobId, turns);
    const untilMs = performance.now() + waitMs;
    while (turns.working >= (turns.hasMore ? this.#width : 1)) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return null;
      await untilWoken(turns.waiting, leftMs);
    }
    if (turns.working === 0 && !turns.hasMore) {
      this.#forget(jobId, turns);
      return null;
    }
    turns.working += 1;
    // Until its first claim says otherwise.
    turns.hasMore = false;
    return this.#laneOf(jobId, turns);
  }

  #laneOf(jobId: string, turns: Turns): Lane {
    let isHere = true;
    return {
      share: (hasMore) => {
        turns.hasMore = hasMore;
        const [next] = turns.waiting;
        if (hasMore) next?.();
      },
      leave: () => {
        if (!isHere) return;
        isHere = false;
        turns.working -= 1;
        const woken = [...turns.waiting];
        for (const wake of woken) wake();
        if (woken.length === 0) this.#forget(jobId, turns);
      },
    };
  }

  #forget(jobId: string, turns: Turns): void {
    const isCurrent = this.#jobs.get(jobId) === turns;
    if (isCurrent && turns.working === 0 && turns.waiting.size === 0) this.#jobs.delete(jobId);
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
