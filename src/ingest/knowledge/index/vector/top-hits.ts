import type { VectorHit } from './types.ts';

/** The best hits so far: a heap whose root is the worst of them. Of equal scores the older chunk is the better one. */
export class TopHits {
  readonly #limit: number;
  readonly #heap: VectorHit[] = [];
  /** What a score has to reach to be worth an offer. */
  threshold = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(chunkId: number, score: number): void {
    // Nothing compares with a score that is no number: it would sit in the heap for ever.
    if (Number.isNaN(score) || this.#limit < 1) return;
    const hit = { chunkId, score };
    if (this.#heap.length < this.#limit) {
      this.#heap.push(hit);
      this.#rise();
    } else if (isWorse(this.#at(0), hit)) {
      this.#heap[0] = hit;
      this.#sink();
    }
    if (this.#heap.length === this.#limit) this.threshold = this.#at(0).score;
  }

  /** The best first, with scores that rounding cannot take out of a cosine's range. */
  sorted(): VectorHit[] {
    return this.#heap
      .toSorted((a, b) => (isWorse(a, b) ? 1 : -1))
      .map(({ chunkId, score }) => ({ chunkId, score: Math.min(1, Math.max(-1, score)) }));
  }

  #at(index: number): VectorHit {
    return this.#heap[index] as VectorHit;
  }

  #rise(): void {
    let child = this.#heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!isWorse(this.#at(child), this.#at(parent))) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  #sink(): void {
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const worst = right < this.#heap.length && isWorse(this.#at(right), this.#at(left)) ? right : left;
      if (!isWorse(this.#at(worst), this.#at(parent))) return;
      this.#swap(worst, parent);
      parent = worst;
    }
  }

  #swap(a: number, b: number): void {
    const kept = this.#at(a);
    this.#heap[a] = this.#at(b);
    this.#heap[b] = kept;
  }
}

function isWorse(a: VectorHit, b: VectorHit): boolean {
  return a.score < b.score || (a.score === b.score && a.chunkId > b.chunkId);
}
