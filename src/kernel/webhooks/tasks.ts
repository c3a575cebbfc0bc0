import type { Database, Tx } from '../../lib/postgres/db.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import { deleteDeliveriesOf, listUnwanted, purgeFinished } from './deliveries/delivery-store.ts';

const batchSize = 5_000;
/** A run ends after this many batches; what is left is for the next run. */
const maxBatches = 40;

export function webhookTasks({
  db,
  retentionDays: days,
}: {
  db: Database;
  retentionDays: number;
}): UpkeepTask[] {
  return [
    {
      name: 'purge_webhook_deliveries',
      everyMs: 3_600_000,
      run: async () => ({
        finished: await inBatches(db, (tx) => purgeFinished(tx, { days, limit: batchSize })),
        unwanted: await purgeUnwanted(db, days),
      }),
    },
  ];
}

/** Of endpoints that are gone, and what one that was disabled for so long has not got. */
async function purgeUnwanted(db: Database, days: number): Promise<number> {
  let removed = 0;
  for (const { isGone, ...key } of await db.kernel((tx) => listUnwanted(tx, { days }))) {
    removed += await inBatches(db, (tx) =>
      deleteDeliveriesOf(tx, { ...key, onlyPending: !isGone, limit: batchSize }),
    );
  }
  return removed;
}

async function inBatches(db: Database, purge: (tx: Tx) => Promise<number>): Promise<number> {
  let removed = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const count = await db.kernel(purge);
    removed += count;
    if (count < batchSize) break;
  }
  return removed;
}
