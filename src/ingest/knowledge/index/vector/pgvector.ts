import type { Tx } from '../../../../lib/postgres/db.ts';
import { assertDimensions } from './dimensions.ts';
import type { VectorEngine, VectorQuery } from './engine.ts';
import {
  countVectors,
  insertVectors,
  listNearest,
  listNearestInGraph,
  listNearestOf,
  setGraphSearch,
  unsetGraphSearch,
} from './pgvector-store.ts';
import { isAtLeast } from './prepare-pgvector.ts';
import {
  type ChunkVector,
  type VectorHit,
  type VectorSpace,
  type VectorTable,
  vectorIndexDimensions,
} from './types.ts';

/** Up to this size comparing all vectors is fast, and exact. */
const defaultExactUpTo = 20_000;

/** pgvector's own limit. */
const maxEfSearch = 1_000;

/**
 * Searches vectors in a table of pgvector's type. All tenants share the graphs, so their results are filtered; if too
 * few are left, all vectors of the space are compared.
 */
export class PgvectorEngine implements VectorEngine {
  readonly name = 'pgvector';
  readonly #table: VectorTable;
  readonly #exactUpTo: number;

  constructor(options: { table: VectorTable; exactUpTo?: number }) {
    this.#table = options.table;
    this.#exactUpTo = options.exactUpTo ?? defaultExactUpTo;
  }

  async add(tx: Tx, space: VectorSpace, chunks: readonly ChunkVector[]): Promise<void> {
    for (const { vector } of chunks) assertDimensions(space, vector.length);
    if (chunks.length === 0) return;
    await insertVectors(tx, this.#table, toRows(space, chunks));
  }

  async search(tx: Tx, space: VectorSpace, query: VectorQuery): Promise<VectorHit[]> {
    assertDimensions(space, query.vector.length);
    query.signal.throwIfAborted();
    const { vector, limit, eligible = null } = query;
    if (eligible !== null) {
      // A graph over all tenants would meet few of them.
      const chunkIds = [...eligible];
      return (await listNearestOf(tx, this.#table, space, { vector, limit, chunkIds })).map(withinRange);
    }
    const isGraphUseful =
      vectorIndexDimensions.has(space.dimensions) &&
      (await countVectors(tx, space, this.#exactUpTo + 1)) > this.#exactUpTo;
    if (isGraphUseful) {
      const hits = await this.#searchGraph(tx, space, { vector, limit });
      if (hits.length >= limit) return hits;
      query.signal.throwIfAborted();
    }
    return (await listNearest(tx, this.#table, space, { vector, limit })).map(withinRange);
  }

  async #searchGraph(
    tx: Tx,
    space: VectorSpace,
    { vector, limit }: { vector: Float32Array; limit: number },
  ): Promise<VectorHit[]> {
    const candidates = Math.max(100, 2 * limit);
    await setGraphSearch(tx, {
      efSearch: Math.min(maxEfSearch, candidates),
      isIterative: isAtLeast(this.#table.version, '0.8'),
    });
    const hits = await listNearestInGraph(tx, this.#table, space, { vector, limit, candidates });
    await unsetGraphSearch(tx);
    return hits.map(withinRange);
  }
}

export function toRows(space: VectorSpace, chunks: readonly ChunkVector[]) {
  return chunks.map(({ chunkId, vector }) => ({ ...space, chunkId, vector }));
}

/** Rounding must not move a score out of the range of a cosine. */
function withinRange({ chunkId, score }: VectorHit): VectorHit {
  return { chunkId, score: Math.min(1, Math.max(-1, score)) };
}
