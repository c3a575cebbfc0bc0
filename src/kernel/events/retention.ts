import type { Database } from '../../lib/postgres/db.ts';
import { dropPartition, listOldPartitions, rollLog } from './partition-store.ts';

/** Opens the partition of the day and removes those that are past their retention and that nobody needs. */
export async function keepLog(db: Database, days: number): Promise<Record<string, number>> {
  const opened = await db.kernel(rollLog);
  let removed = 0;
  let needed = 0;
  for (const { fromId, isNeeded } of await db.kernel((tx) => listOldPartitions(tx, { days }))) {
    if (isNeeded) needed += 1;
    else if (await db.kernel((tx) => dropPartition(tx, fromId))) removed += 1;
  }
  return { opened, removed, needed };
}
