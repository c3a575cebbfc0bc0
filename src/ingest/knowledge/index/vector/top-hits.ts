import type { VectorHit } from './types.ts';

/** The best hits so far, the best first. Of equal scores the older chunk is the better one. */
export class TopHits {
  readonly #limit: number;
  readonly #hits: VectorHit[] = [];
  /** What a score has to reach to be worth an offer. */
  threshold = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(chunkId: number, score: number): void {
    // A score that is not a number compares with nothing, and would never leave the list.
    if (Number.isNaN(score) || this.#limit < 1) return;
    const hit = { chunkId, score };
    let place = this.#hits.length;
    for (; place > 0 && isWorse(this.#hits[place - 1] as VectorHit, hit); place -= 1);
    if (place >= this.#limit) return;
    this.#hits.splice(place, 0, hit);
    if (this.#hits.length > this.#limit) this.#hits.pop();
    if (this.#hits.length === this.#limit) this.threshold = this.#hits.at(-1)?.score ?? this.threshold;
  }

  /** With scores that rounding cannot take out of a cosine's range. */
  sorted(): VectorHit[] {
    return this.#hits.map(({ chunkId, score }) => ({ chunkId, score: Math.min(1, Math.max(-1, score)) }));
  }
}

function isWorse(a: VectorHit, b: VectorHit): boolean {
  return a.score < b.score || (a.score === b.score && a.chunkId > b.chunkId);
}
