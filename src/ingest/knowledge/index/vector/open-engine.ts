import type { Logger } from '../../../../lib/log.ts';
import type { Database, Tx } from '../../../../lib/postgres/db.ts';
import type { VectorEngine } from './engine.ts';
import { ExactEngine } from './exact.ts';
import { PgvectorEngine } from './pgvector.ts';
import { findVectorTable, insertVectors, listChunksWithoutRow } from './pgvector-store.ts';
import type { VectorTable } from './types.ts';
import { readVector } from './vector-bytes.ts';

export interface EngineOptions {
  db: Pick<Database, 'kernel'>;
  logger: Logger;
  /** How much memory the exact engine may keep vectors in. */
  cacheBytes: number;
  /** How long a start may wait until the table of pgvector is filled with older vectors. */
  fillMs?: number;
}

/** Uses pgvector if its table exists and holds every chunk; otherwise the exact scan. */
export async function openVectorEngine(options: EngineOptions): Promise<VectorEngine> {
  const { db, logger, cacheBytes, fillMs = 60_000 } = options;
  const table = await db.kernel(findVectorTable);
  if (table === null) return new ExactEngine({ cacheBytes });
  const isComplete = await fillVectorTable(db, table, performance.now() + fillMs);
  if (isComplete) return new PgvectorEngine({ table });
  logger.warn(
    'Not all vectors are in the table of pgvector yet; the next start continues. Until then searches scan them.',
  );
  return new ExactEngine({ cacheBytes });
}

const rowsPerBatch = 500;

/** A chunk that is deleted between reading and writing fails its batch; the next attempt no longer reads it. */
const triesPerBatch = 5;

interface ChunkKey {
  tenantId: string;
  chunkId: number;
}

/** All processes write new chunks into the table, whatever their engine; only older chunks are missing. */
async function fillVectorTable(
  db: EngineOptions['db'],
  table: VectorTable,
  deadline: number,
): Promise<boolean> {
  let after: ChunkKey = { tenantId: '', chunkId: 0 };
  let failures = 0;
  for (;;) {
    try {
      const last = await db.kernel((tx) => fillBatch(tx, table, after));
      if (last === null) return true;
      after = last;
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === triesPerBatch) throw error;
    }
    if (performance.now() > deadline) return false;
  }
}

/** Returns the last chunk of a full batch; null if there are no more. */
async function fillBatch(tx: Tx, table: VectorTable, after: ChunkKey): Promise<ChunkKey | null> {
  const chunks = await listChunksWithoutRow(tx, { after, limit: rowsPerBatch });
  const rows = chunks.map(({ bytes, ...chunk }) => {
    const vector = readVector(bytes);
    return { ...chunk, vector, dimensions: vector.length };
  });
  if (rows.length > 0) await insertVectors(tx, table, rows);
  const last = rows.at(-1);
  return last === undefined || rows.length < rowsPerBatch ? null : last;
}
