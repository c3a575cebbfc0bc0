/** Jobs that are claimed in advance should start within this time. */
const aheadMs = 50;
const mostAhead = 250;
/** How much the newest slice counts. */
const weight = 0.1;

/** How many jobs a worker claims beyond its free slots: none, unless slices take a few milliseconds. */
export class Prefetch {
  readonly #concurrency: number;
  #sliceMs = aheadMs;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get size(): number {
    const startedInTime = (this.#concurrency * aheadMs) / this.#sliceMs;
    return Math.min(mostAhead, Math.max(0, Math.floor(startedInTime) - this.#concurrency));
  }

  observe(sliceMs: number): void {
    this.#sliceMs = Math.max(0.05, this.#sliceMs * (1 - weight) + sliceMs * weight);
  }
}
