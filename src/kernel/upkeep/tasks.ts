import type { Database, Tx } from '../../lib/postgres/db.ts';
import { removeForgottenWorkers } from '../jobs/worker-store.ts';
import { purgeEvents, purgeIdempotencyKeys, purgeJobs, purgeLogins } from './store.ts';
import type { UpkeepTask } from './types.ts';

const hourMs = 60 * 60_000;
const batchSize = 5_000;
/** A run ends after this many batches; what is left is for the next run. */
const maxBatches = 40;

export interface KernelTaskOptions {
  db: Database;
  eventRetentionDays: number;
  jobRetentionDays: number;
}

export function kernelTasks(options: KernelTaskOptions): UpkeepTask[] {
  const { db } = options;
  return [
    {
      name: 'purge_events',
      everyMs: hourMs,
      run: () =>
        inBatches(db, (tx) => purgeEvents(tx, { days: options.eventRetentionDays, limit: batchSize })),
    },
    {
      name: 'purge_jobs',
      everyMs: hourMs,
      run: () => inBatches(db, (tx) => purgeJobs(tx, { days: options.jobRetentionDays, limit: batchSize })),
    },
    {
      name: 'purge_idempotency_keys',
      everyMs: hourMs,
      run: () => inBatches(db, (tx) => purgeIdempotencyKeys(tx, { hours: 24, limit: batchSize })),
    },
    { name: 'purge_logins', everyMs: hourMs, run: async () => ({ removed: await db.kernel(purgeLogins) }) },
    {
      name: 'forget_workers',
      everyMs: hourMs,
      run: async () => ({ removed: await db.kernel((tx) => removeForgottenWorkers(tx, 24 * hourMs)) }),
    },
  ];
}

async function inBatches(db: Database, purge: (tx: Tx) => Promise<number>): Promise<Record<string, number>> {
  let removed = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const count = await db.kernel(purge);
    removed += count;
    if (count < batchSize) break;
  }
  return { removed };
}
