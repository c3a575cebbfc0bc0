import { setImmediate } from 'node:timers/promises';
import { TenantSlots } from '../../../../kernel/limits/tenant-slots.ts';
import type { Tx } from '../../../../lib/postgres/db.ts';
import { busyLimitMs } from '../../../../lib/timing/event-loop-turns.ts';
import { assertDimensions } from './dimensions.ts';
import type { VectorEngine, VectorQuery } from './engine.ts';
import { findSpaceState, listChunkIds, listVectors, listVectorsAfter } from './exact-store.ts';
import { toRows } from './pgvector.ts';
import { findVectorTable, insertVectors } from './pgvector-store.ts';
import { createTurns, scanSegment } from './scan.ts';
import { bytesPerRow, compareSegments, rowsPerSegment, type Segment, SegmentWriter } from './segments.ts';
import { TopHits } from './top-hits.ts';
import type { ChunkVector, StoredVector, VectorHit, VectorSpace } from './types.ts';
import { VectorCache } from './vector-cache.ts';

const idsPerPage = 10_000;

/**
 * Compares the query with every vector of the space. Vectors are kept in memory, and what changed is read when the
 * space's version says so; a space that does not fit into the cache is read page by page for each search.
 */
export class ExactEngine implements VectorEngine {
  readonly name = 'exact';
  readonly #cache: VectorCache;
  readonly #scans = createScanTurns();

  constructor(options: { cacheBytes: number }) {
    this.#cache = new VectorCache(options.cacheBytes);
  }

  /** Memory used by the cached vectors. */
  get cachedBytes(): number {
    return this.#cache.bytes;
  }

  /**
   * The bytes in embeddings_index are all that this engine needs. Another process may have found pgvector in the
   * database since this one looked, and then counts on its table.
   */
  async add(tx: Tx, space: VectorSpace, chunks: readonly ChunkVector[]): Promise<void> {
    for (const { vector } of chunks) assertDimensions(space, vector.length);
    if (chunks.length === 0) return;
    const table = await findVectorTable(tx);
    if (table !== null) await insertVectors(tx, table, toRows(space, chunks));
  }

  async search(tx: Tx, space: VectorSpace, query: VectorQuery): Promise<VectorHit[]> {
    assertDimensions(space, query.vector.length);
    query.signal.throwIfAborted();
    const state = await findSpaceState(tx, space);
    if (state === null) return [];
    const best = new TopHits(query.limit);
    // What this transaction has written must not get into the cache: it may still be rolled back.
    const segments = state.hasWritten
      ? null
      : await this.#cache.get(space, state, (old) => this.#refresh(tx, space, old, query.signal));
    if (segments === null) await scanPages(tx, space, query, best);
    else await this.#scanSegments(segments, { ...query, tenantId: space.tenantId, best });
    return best.sorted();
  }

  /** One scan at a time, each for some milliseconds and by turns between tenants: all of them share one thread. */
  async #scanSegments(
    segments: readonly Segment[],
    { vector, eligible, signal, tenantId, best }: VectorQuery & { tenantId: string; best: TopHits },
  ): Promise<void> {
    let at = 0;
    while (at < segments.length) {
      await this.#scans.run(
        tenantId,
        async () => {
          at = scanFor(busyLimitMs, segments, { at, vector, eligible, best });
          // Whoever waits for the next turn must not run before the event loop has.
          await setImmediate();
        },
        signal,
      );
    }
  }

  /** Null if the cache cannot hold them all. */
  async #refresh(
    tx: Tx,
    space: VectorSpace,
    segments: readonly Segment[],
    signal: AbortSignal,
  ): Promise<Segment[] | null> {
    const { dimensions } = space;
    const takeTurn = createTurns(signal);
    const most = Math.floor(this.#cache.maxBytes / bytesPerRow(dimensions));
    const wanted = await readChunkIds(tx, space, { most, takeTurn });
    if (wanted === null) return null;
    const { kept, loose, missing } = await compareSegments(segments, wanted, { dimensions, takeTurn });
    const writer = new SegmentWriter(dimensions, loose.length + missing.length);
    for (const { segment, row } of loose) writer.copy(segment, row);
    const perPage = rowsPerSegment(dimensions);
    for (let from = 0; from < missing.length; from += perPage) {
      await takeTurn();
      const stored = await listVectors(tx, space, missing.slice(from, from + perPage));
      pushAll(writer, space, stored);
    }
    return [...kept, ...writer.finish()];
  }
}

/** Scans for about this long. Returns the first segment that is left. */
function scanFor(
  limitMs: number,
  segments: readonly Segment[],
  { at, vector, eligible, best }: Pick<VectorQuery, 'vector' | 'eligible'> & { at: number; best: TopHits },
): number {
  const untilMs = performance.now() + limitMs;
  let next = at;
  do {
    const segment = segments[next];
    if (segment) scanSegment(segment, vector, best, eligible);
    next += 1;
  } while (next < segments.length && performance.now() < untilMs);
  return next;
}

function createScanTurns(): TenantSlots {
  return new TenantSlots({
    what: 'scans',
    setting: 'TENANT_CONCURRENT_SEARCHES',
    perTenant: 1,
    total: 1,
    maxWaiting: 10_000,
  });
}

async function readChunkIds(
  tx: Tx,
  space: VectorSpace,
  { most, takeTurn }: { most: number; takeTurn: () => Promise<void> },
): Promise<Set<number> | null> {
  const ids = new Set<number>();
  let after = 0;
  for (;;) {
    const page = await listChunkIds(tx, space, { after, limit: idsPerPage });
    for (const id of page) ids.add(id);
    if (ids.size > most) return null;
    if (page.length < idsPerPage) return ids;
    after = page.at(-1) ?? after;
    await takeTurn();
  }
}

async function scanPages(tx: Tx, space: VectorSpace, query: VectorQuery, best: TopHits): Promise<void> {
  const takeTurn = createTurns(query.signal);
  const limit = rowsPerSegment(space.dimensions);
  let after = 0;
  for (;;) {
    const stored = await listVectorsAfter(tx, space, { after, limit });
    const writer = new SegmentWriter(space.dimensions, stored.length);
    pushAll(writer, space, stored);
    for (const segment of writer.finish()) scanSegment(segment, query.vector, best, query.eligible);
    if (stored.length < limit) return;
    after = stored.at(-1)?.chunkId ?? after;
    await takeTurn();
  }
}

function pushAll(writer: SegmentWriter, space: VectorSpace, stored: readonly StoredVector[]): void {
  for (const { chunkId, bytes } of stored) {
    assertDimensions(space, bytes.length / Float32Array.BYTES_PER_ELEMENT);
    writer.push(chunkId, bytes);
  }
}
