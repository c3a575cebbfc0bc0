interface Sample {
  atMs: number;
  done: number;
}

const windowMs = 60_000;
const leastSpanMs = 8_000;
const leastEstimates = 5;
/** How far the last estimates of the end may lie apart, as a share of the time that is left. */
const tolerance = 0.25;

/** Estimates rate and end time; gives the end time only when it is stable. */
export class Eta {
  #samples: Sample[] = [];
  #ends: number[] = [];

  /** A new count; one that goes backwards (reprocessed rows) starts again. */
  add(done: number, { total, atMs }: { total: number | null; atMs: number }): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && done < last.done) this.#forget();
    if (last !== undefined && atMs <= last.atMs) return;
    this.#samples.push({ atMs, done });
    this.#samples = this.#samples.filter((sample) => atMs - sample.atMs <= windowMs);
    const rate = this.perSecond;
    if (total === null || rate === null || rate <= 0) {
      this.#ends = [];
      return;
    }
    this.#ends.push(atMs + ((total - done) / rate) * 1_000);
    this.#ends = this.#ends.slice(-leastEstimates);
  }

  /** Per second over the last minute; null before there is enough to tell. */
  get perSecond(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs - first.atMs < leastSpanMs / 4) return null;
    return ((last.done - first.done) / (last.atMs - first.atMs)) * 1_000;
  }

  /** When it ends, in ms since 1970; null while the estimate is not stable. */
  get endsAtMs(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs - first.atMs < leastSpanMs) return null;
    if (this.#ends.length < leastEstimates) return null;
    const latest = this.#ends.at(-1) ?? 0;
    const spread = Math.max(...this.#ends) - Math.min(...this.#ends);
    return spread <= Math.max(2_000, (latest - last.atMs) * tolerance) ? latest : null;
  }

  #forget(): void {
    this.#samples = [];
    this.#ends = [];
  }
}
