import type { Database, Tx } from './db.ts';

const batchSize = 5_000;
/** A run ends after this many batches; what is left is for the next run. */
const maxBatches = 40;

/** Purges in batches, each in its own transaction. Returns how many rows were removed. */
export async function purgeInBatches(
  db: Database,
  purge: (tx: Tx, limit: number) => Promise<number>,
): Promise<number> {
  let removed = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const count = await db.kernel((tx) => purge(tx, batchSize));
    removed += count;
    if (count < batchSize) break;
  }
  return removed;
}
