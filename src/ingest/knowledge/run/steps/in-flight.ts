import type { Chunk } from '../../chunkers/chunker.ts';
import type { GenerationKey } from '../../types.ts';

/** Null if it was not embedded after all. */
type ComingVector = Promise<Float32Array | null>;

/**
 * Texts that runs of this process are embedding, or have embedded and not committed yet. Runs of one knowledge base
 * that need the same text at the same time pay for it once.
 */
export class InFlight {
  readonly #coming = new Map<string, ComingVector>();

  /** Returns what other runs are embedding. The caller embeds the rest, and shares its vectors with `tell`. */
  reserve(space: GenerationKey, chunks: readonly Chunk[]): Reservation {
    const own = new Map<string, (vector: Float32Array | null) => void>();
    const others = new Map<string, ComingVector>();
    for (const { contentHash } of chunks) {
      const coming = this.#coming.get(nameOf(space, contentHash));
      if (coming) {
        others.set(contentHash, coming);
        continue;
      }
      const promise: ComingVector = new Promise((resolve) => own.set(contentHash, resolve));
      this.#coming.set(nameOf(space, contentHash), promise);
    }
    return {
      others,
      tell: (hash, vector) => own.get(hash)?.(vector),
      release: () => {
        for (const [hash, resolve] of own) {
          resolve(null);
          this.#coming.delete(nameOf(space, hash));
        }
        own.clear();
      },
    };
  }

  get size(): number {
    return this.#coming.size;
  }
}

export interface Reservation {
  others: ReadonlyMap<string, ComingVector>;
  tell(hash: string, vector: Float32Array | null): void;
  /** Call it once the chunks are committed, or will never be. */
  release(): void;
}

function nameOf({ tenantId, kbId, generation }: GenerationKey, contentHash: string): string {
  return JSON.stringify([tenantId, kbId, generation, contentHash]);
}
