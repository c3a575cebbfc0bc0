/** Which vectors are searched. */
export interface VectorSpace {
  tenantId: string;
  kbId: string;
  generation: number;
  dimensions: number;
}

export interface VectorHit {
  chunkId: number;
  /** Cosine similarity, from -1 to 1. */
  score: number;
}

/** A chunk's vector has length 1, so that the cosine of two is their product. */
export interface ChunkVector {
  chunkId: number;
  vector: Float32Array;
}

/** As embeddings_index keeps it. */
export interface StoredVector {
  chunkId: number;
  /** Float32, little-endian. */
  bytes: Buffer;
}

/**
 * Where pgvector gets a graph, and of which type: the local embedder's dimensions and those of usual models. Above
 * 2,000 a graph takes only numbers of half the precision; what it finds is then compared in full.
 */
export const vectorIndexDimensions: ReadonlyMap<number, 'vector' | 'halfvec'> = new Map([
  [384, 'vector'],
  [512, 'vector'],
  [768, 'vector'],
  [1024, 'vector'],
  [1536, 'vector'],
  [3072, 'halfvec'],
]);

/** Where the extension is, and what it can do. */
export interface VectorTable {
  schema: string;
  version: string;
}

export interface VectorRow extends VectorSpace, ChunkVector {}
