import type { Database } from '../../lib/postgres/db.ts';
import { purgeInBatches } from '../upkeep/batches.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import { deleteDeliveriesOf, listUnwanted, purgeFinished } from './deliveries/delivery-store.ts';

export function webhookTasks(db: Database, days: number): UpkeepTask[] {
  return [
    {
      name: 'purge_webhook_deliveries',
      everyMs: 3_600_000,
      run: async () => ({
        finished: await purgeInBatches(db, (tx, limit) => purgeFinished(tx, { days, limit })),
        unwanted: await purgeUnwanted(db, days),
      }),
    },
  ];
}

/** Of endpoints that are gone, and what one that was disabled for so long has not got. */
async function purgeUnwanted(db: Database, days: number): Promise<number> {
  let removed = 0;
  for (const { isGone, ...key } of await db.kernel((tx) => listUnwanted(tx, { days }))) {
    removed += await purgeInBatches(db, (tx, limit) =>
      deleteDeliveriesOf(tx, { ...key, onlyPending: !isGone, limit }),
    );
  }
  return removed;
}
