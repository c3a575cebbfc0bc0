export interface RequestLimits {
  /** How many slices may call Airbyte at a time. */
  concurrency: number;
  perSecond: number;
  nowMs?: () => number;
}

export type Admission = { granted: true } | { granted: false; retryInMs: number };

/** The longest time for which a caller is turned away, however many wait. */
const maxWaitMs = 5 * 60_000;

/**
 * Limits one process's use of Airbyte: so many slices at a time, and so many per second. Callers that are turned away
 * are told when to come back, one after the other, so that thousands of syncs do not all return at once. Callers are
 * not stored, so memory is the same for ten syncs and for ten thousand.
 */
export class RequestLimiter {
  readonly #concurrency: number;
  readonly #spacingMs: number;
  readonly #nowMs: () => number;
  #inside = 0;
  /** Starts that are allowed at once; grows with time up to the concurrency. */
  #tokens: number;
  #countedAtMs: number;
  /** When the last caller that was turned away comes back. */
  #lineEndMs = 0;
  #closedUntilMs = 0;

  constructor({ concurrency, perSecond, nowMs = () => performance.now() }: RequestLimits) {
    this.#concurrency = concurrency;
    this.#spacingMs = 1000 / perSecond;
    this.#nowMs = nowMs;
    this.#tokens = concurrency;
    this.#countedAtMs = nowMs();
  }

  /** A caller that got in must call `leave`. */
  enter(): Admission {
    const nowMs = this.#nowMs();
    this.#refill(nowMs);
    const isOpen = nowMs >= this.#closedUntilMs;
    if (isOpen && this.#inside < this.#concurrency && this.#tokens >= 1) {
      this.#tokens -= 1;
      this.#inside += 1;
      return { granted: true };
    }
    this.#lineEndMs = Math.max(this.#lineEndMs, nowMs, this.#closedUntilMs) + this.#spacingMs;
    return { granted: false, retryInMs: Math.min(this.#lineEndMs - nowMs, maxWaitMs) };
  }

  leave(): void {
    this.#inside -= 1;
  }

  /** Airbyte counts requests per user: when it throttles one sync, it means all. */
  closeFor(ms: number): void {
    const untilMs = this.#nowMs() + Math.min(ms, maxWaitMs);
    this.#closedUntilMs = Math.max(this.#closedUntilMs, untilMs);
  }

  #refill(nowMs: number): void {
    const grown = (nowMs - this.#countedAtMs) / this.#spacingMs;
    this.#tokens = Math.min(this.#concurrency, this.#tokens + grown);
    this.#countedAtMs = nowMs;
  }
}
