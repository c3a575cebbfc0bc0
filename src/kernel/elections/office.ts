/** Starts work and returns how to stop it. */
export type BeginDuty = () => () => void;

/**
 * One kind of work that one process of all does. Being elected saves work and nothing else: after a crash of the
 * database, two processes may believe for the rest of a term that they hold an office. So the work itself must be safe
 * to do twice.
 */
export interface Office {
  readonly name: string;
  readonly isHeld: boolean;
  /** How many processes would do this work, at the last look. */
  readonly candidates: number;
  /** Does the work whenever this process holds the office. Returns how to end that, and with it the candidacy. */
  whileHeld(begin: BeginDuty): () => void;
}

/** An office as the elections see it. */
export class OfficeSeat implements Office {
  readonly name: string;
  readonly #onLeave: () => void;
  readonly #duties = new Map<BeginDuty, (() => void) | null>();
  candidates = 1;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #isAtWork = false;
  #expiry: NodeJS.Timeout | undefined;

  constructor(name: string, onLeave: () => void) {
    this.name = name;
    this.#onLeave = onLeave;
  }

  /** By this process's clock: a process that was stopped must not go on where it left off. */
  get isHeld(): boolean {
    return performance.now() < this.#heldUntilMs;
  }

  whileHeld(begin: BeginDuty): () => void {
    this.#duties.set(begin, this.isHeld ? begin() : null);
    return () => {
      const stop = this.#duties.get(begin);
      if (!this.#duties.delete(begin)) return;
      stop?.();
      if (this.#duties.size === 0) this.#onLeave();
    };
  }

  /** Elected, or elected again, until then. */
  holdUntil(untilMs: number): void {
    this.#heldUntilMs = untilMs;
    clearTimeout(this.#expiry);
    if (!this.isHeld) {
      this.lose();
      return;
    }
    this.#expiry = setTimeout(() => this.lose(), untilMs - performance.now());
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    for (const begin of this.#duties.keys()) this.#duties.set(begin, begin());
  }

  lose(): void {
    clearTimeout(this.#expiry);
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    if (!this.#isAtWork) return;
    this.#isAtWork = false;
    for (const [begin, stop] of this.#duties) {
      this.#duties.set(begin, null);
      stop?.();
    }
  }
}
