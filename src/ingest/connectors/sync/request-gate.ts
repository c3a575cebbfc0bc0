export interface GateOptions {
  /** How many may be inside at a time. */
  concurrency: number;
  perSecond: number;
  nowMs?: () => number;
}

export type GateAnswer = { granted: true } | { granted: false; retryInMs: number };

/** Nobody is sent away for longer than this, however many wait. */
const maxWaitMs = 5 * 60_000;

/**
 * How much of Airbyte one process may use: so many slices at a time, and so many per second. Whoever is turned away is
 * told to come back one after the other, so that thousands of syncs do not all ask again at once. Nothing is kept of
 * those who wait, so the memory is the same for ten syncs and for ten thousand.
 */
export class RequestGate {
  readonly #concurrency: number;
  readonly #spacingMs: number;
  readonly #nowMs: () => number;
  #inside = 0;
  /** Starts that may be made at once; grows with time up to the concurrency. */
  #tokens: number;
  #countedAtMs: number;
  /** When the last of those who were turned away comes back. */
  #lineEndMs = 0;
  #closedUntilMs = 0;

  constructor({ concurrency, perSecond, nowMs = () => performance.now() }: GateOptions) {
    this.#concurrency = concurrency;
    this.#spacingMs = 1000 / perSecond;
    this.#nowMs = nowMs;
    this.#tokens = concurrency;
    this.#countedAtMs = nowMs();
  }

  /** Whoever is granted leaves again. */
  enter(): GateAnswer {
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

  /** Airbyte counts requests per user: when it says stop to one sync, it means all. */
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
