interface RunningTurn {
  readonly jobId: string;
  shouldYield(): boolean;
  /** Whether it may go on without its slot. */
  leaveSlot(): boolean;
  /** With more to do, the job may have another turn when nobody else wants the slot. */
  end(hasMore: boolean): void;
}

/** Turns that wait for a provider hold memory and row locks, so their number has a limit too. */
const mostWaiting = 64;
/** A job gets a further turn at the same time only when its last one has run for so long: small jobs end before. */
const nextTurnAfterMs = 10;

/**
 * The turns that shared jobs take in this process. A shared job is never leased, so every claim could take it again:
 * one that runs here, or just ran, is spared while other jobs wait.
 */
export class SharedTurns {
  readonly #running: { jobId: string; beganAtMs: number }[] = [];
  readonly #rested = new Set<string>();
  /** Jobs whose turns wait without a slot. */
  readonly #waiting: string[] = [];

  get running(): number {
    return this.#running.length;
  }

  /** The jobs that others come before. */
  get spared(): string[] {
    return [...new Set([...this.#running.map(({ jobId }) => jobId), ...this.#rested, ...this.#waiting])];
  }

  /** The jobs that need no further turn, even when nobody else wants the slot. */
  get waiting(): string[] {
    return [...new Set(this.#waiting)];
  }

  /** Whether a job could have a further turn. */
  get hasRepeatable(): boolean {
    return this.#running.length > 0 || this.#rested.size > 0;
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
    let isWaiting = false;
    this.#running.push(turn);
    return {
      jobId,
      shouldYield: () => !isWaiting && isCrowded() && this.#newestOfSeveral() === turn,
      leaveSlot: () => {
        if (isWaiting || this.#waiting.length >= mostWaiting) return false;
        isWaiting = true;
        remove(this.#running, turn);
        this.#waiting.push(jobId);
        return true;
      },
      end: (hasMore) => {
        if (isWaiting) remove(this.#waiting, jobId);
        else remove(this.#running, turn);
        if (hasMore) this.#rested.add(jobId);
      },
    };
  }

  #newestOfSeveral(): { jobId: string } | undefined {
    const turnsOf = (jobId: string) => this.#running.filter((turn) => turn.jobId === jobId).length;
    return this.#running.findLast(({ jobId }) => turnsOf(jobId) > 1);
  }
}

function remove<One>(list: One[], one: One): void {
  list.splice(list.indexOf(one), 1);
}
