import type { Chunk } from '../../chunkers/chunker.ts';
import type { GenerationKey } from '../../types.ts';

/** Null: it was not embedded after all. */
type ComingVector = Promise<Float32Array | null>;

/**
 * Texts that runs of this process are embedding at the moment, or have embedded and not yet committed. Runs of one
 * knowledge base that need the same text at the same time pay for it once.
 */
export class InFlight {
  readonly #coming = new Map<string, ComingVector>();

  /** What somebody else is embedding; what is left is the claimer's to embed, and to tell of. */
  claim(space: GenerationKey, chunks: readonly Chunk[]): Claim {
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

export interface Claim {
  others: ReadonlyMap<string, ComingVector>;
  tell(hash: string, vector: Float32Array | null): void;
  /** Once the chunks are committed, or will never be: from now on the index tells. */
  release(): void;
}

function nameOf({ tenantId, kbId, generation }: GenerationKey, contentHash: string): string {
  return JSON.stringify([tenantId, kbId, generation, contentHash]);
}
