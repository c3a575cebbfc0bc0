import type { Tx } from '../../../../lib/postgres/db.ts';
import type { ChunkVector, VectorHit, VectorSpace } from './types.ts';

export type { VectorHit, VectorSpace } from './types.ts';

/**
 * Finds the nearest chunks. Two engines under one contract: the extension pgvector where the database has it, and an
 * exact scan everywhere. Chunks themselves, with their vectors as bytes, are written by the store for both. Deleting
 * them needs no engine: a foreign key deletes rows of pgvector, and an exact scan notices the new version of the index.
 */
export interface VectorEngine {
  readonly name: 'exact' | 'pgvector';
  /** In the transaction that wrote these chunks, after it wrote them. */
  add(tx: Tx, space: VectorSpace, chunks: readonly ChunkVector[]): Promise<void>;
  /** The nearest first; at most `limit`, and as many as there are below it. */
  search(tx: Tx, space: VectorSpace, query: VectorQuery): Promise<VectorHit[]>;
}

export interface VectorQuery {
  vector: Float32Array;
  limit: number;
  /** Only these chunks count; null: all of them. */
  eligible?: ReadonlySet<number> | null;
  signal: AbortSignal;
}
