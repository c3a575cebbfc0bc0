interface RunningTurn {
  readonly jobId: string;
  shouldYield(): boolean;
  /** With more to do, the job may have another turn when nobody else wants the slot. */
  end(hasMore: boolean): void;
}

/** A job gets a further turn at the same time only when its last one has run for so long: small jobs end before. */
const nextTurnAfterMs = 10;

/**
 * The turns that shared jobs take in this process. A shared job is never leased, so every claim could take it again:
 * one that runs here, or just ran, is spared while other jobs wait.
 */
export class SharedTurns {
  readonly #running: { jobId: string; beganAtMs: number }[] = [];
  readonly #rested = new Set<string>();

  get running(): number {
    return this.#running.length;
  }

  /** The jobs that others come before. */
  get spared(): string[] {
    return [...new Set([...this.#running.map(({ jobId }) => jobId), ...this.#rested])];
  }

  /** How long further turns beside the running ones have to wait. */
  waitMs(nowMs: number): number {
    const newest = this.#running.at(-1);
    return newest ? Math.max(0, newest.beganAtMs + nextTurnAfterMs - nowMs) : 0;
  }

  /** Another job was taken, or there is none: those that just ran may have their next turn. */
  forgetRested(): void {
    this.#rested.clear();
  }

  /**
   * `isCrowded`: no slot is free. Then one turn ends early, to make room: the newest of those whose job has several,
   * however many jobs with a single turn have come since.
   */
  begin(jobId: string, isCrowded: () => boolean): RunningTurn {
    const turn = { jobId, beganAtMs: performance.now() };
    this.#running.push(turn);
    return {
      jobId,
      shouldYield: () => isCrowded() && this.#newestOfSeveral() === turn,
      end: (hasMore) => {
        this.#running.splice(this.#running.indexOf(turn), 1);
        if (hasMore) this.#rested.add(jobId);
      },
    };
  }

  #newestOfSeveral(): { jobId: string } | undefined {
    const turnsOf = (jobId: string) => this.#running.filter((turn) => turn.jobId === jobId).length;
    return this.#running.findLast(({ jobId }) => turnsOf(jobId) > 1);
  }
}
