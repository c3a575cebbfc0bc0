interface RunningTurn {
  readonly jobId: string;
  shouldYield(): boolean;
  end(): void;
}

/**
 * The turns that shared jobs take in this process. A shared job is never leased, so every claim could take it again:
 * one that runs here, or just ran, is spared while other jobs wait.
 */
export class SharedTurns {
  readonly #running: { jobId: string }[] = [];
  readonly #rested = new Set<string>();

  get running(): number {
    return this.#running.length;
  }

  /** The jobs that others come before. */
  get spared(): string[] {
    return [...new Set([...this.#running.map(({ jobId }) => jobId), ...this.#rested])];
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
    const turn = { jobId };
    this.#running.push(turn);
    return {
      jobId,
      shouldYield: () => isCrowded() && this.#newestOfSeveral() === turn,
      end: () => {
        this.#running.splice(this.#running.indexOf(turn), 1);
        this.#rested.add(jobId);
      },
    };
  }

  #newestOfSeveral(): { jobId: string } | undefined {
    const turnsOf = (jobId: string) => this.#running.filter((turn) => turn.jobId === jobId).length;
    return this.#running.findLast(({ jobId }) => turnsOf(jobId) > 1);
  }
}
