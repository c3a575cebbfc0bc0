import { expect } from 'vitest';

/** Counts what a generated suite really checked: one that checks nothing passes too. */
export class Tally {
  readonly quota: number;
  readonly #what: string;
  #count = 0;

  constructor(what: string, quota: number) {
    this.#what = what;
    this.quota = quota;
  }

  equal(actual: unknown, expected: unknown): void {
    this.#count += 1;
    expect(actual).toEqual(expected);
  }

  ok(condition: boolean, otherwise: string): void {
    this.#count += 1;
    expect(condition, otherwise).toBe(true);
  }

  /** Counts a check that is asserted together with others. */
  count(): void {
    this.#count += 1;
  }

  /** Prints and returns the number of assertions. */
  report(): number {
    console.log(`${this.#what}: ${this.#count} assertions, at least ${this.quota} are due`);
    return this.#count;
  }
}
