import type { EmbedderLimits } from '../../embedders/embedder.ts';

/** The most chunks in one transaction. */
const most = 64;
const least = 4;
const first = 16;
/** A faster call could have been larger; a slower one holds up everything else. */
const fastMs = 1_000;
const slowMs = 4_000;

/** How many chunks are embedded with one call: more while calls are fast, half as many when they are slow or fail. */
export class GroupSize {
  readonly maxTokens: number;
  readonly #most: number;
  #chunks: number;

  constructor({ textsPerCall, tokensPerCall }: EmbedderLimits, { maxTokens }: { maxTokens: number }) {
    this.#most = Math.max(1, Math.min(most, textsPerCall));
    this.#chunks = Math.min(first, this.#most);
    this.maxTokens = Math.max(1, Math.min(tokensPerCall, maxTokens));
  }

  get maxChunks(): number {
    return this.#chunks;
  }

  noteCall({ texts, tookMs }: { texts: number; tookMs: number }): void {
    if (tookMs > slowMs) this.noteFailure();
    else if (tookMs < fastMs && texts >= this.#chunks) this.#chunks = Math.min(this.#most, this.#chunks * 2);
  }

  noteFailure(): void {
    this.#chunks = Math.max(Math.min(least, this.#most), Math.floor(this.#chunks / 2));
  }
}
