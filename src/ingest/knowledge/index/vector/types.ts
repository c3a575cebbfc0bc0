import type { GenerationKey } from '../../types.ts';

export interface VectorSpace extends GenerationKey {
  dimensions: number;
}

export interface VectorHit {
  chunkId: number;
  /** Cosine similarity, from -1 to 1. */
  score: number;
}

/** Vectors have length 1, so the cosine of two vectors is their product. */
export interface ChunkVector {
  chunkId: number;
  vector: Float32Array;
}

/** As stored in embeddings_index. */
export interface StoredVector {
  chunkId: number;
  /** Float32, little-endian. */
  bytes: Buffer;
}

/**
 * The dimensions for which pgvector gets a graph, and its type: those of the local embedder and of common models. Above
 * 2,000 dimensions a graph needs half precision; its results are then compared in full precision.
 */
export const vectorIndexDimensions: ReadonlyMap<number, 'vector' | 'halfvec'> = new Map([
  [384, 'vector'],
  [512, 'vector'],
  [768, 'vector'],
  [1024, 'vector'],
  [1536, 'vector'],
  [3072, 'halfvec'],
]);

export interface VectorTable {
  schema: string;
  version: string;
}

export interface VectorRow extends VectorSpace, ChunkVector {}
