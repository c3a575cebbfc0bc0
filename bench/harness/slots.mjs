// Times of numbered jobs, also by the part of the run that a job belongs to.
import { percentile } from './figures.mjs';

export class Slots {
  #total;
  #slots;

  constructor({ count, total }) {
    this.#total = total;
    this.#slots = Array.from({ length: count }, () => []);
  }

  /** `number` counts the jobs of the run from 0. */
  add(number, ms) {
    const slot = Math.min(this.#slots.length - 1, Math.floor((number * this.#slots.length) / this.#total));
    this.#slots[slot].push(ms);
  }

  summary() {
    return { ...figuresOf(this.#slots.flat()), slots: this.#slots.map(figuresOf) };
  }
}

/** Without a time there is no percentile. */
function figuresOf(timesMs) {
  if (timesMs.length === 0) return { count: 0, p50: null, p99: null };
  return { count: timesMs.length, p50: percentile(timesMs, 0.5), p99: percentile(timesMs, 0.99) };
}
