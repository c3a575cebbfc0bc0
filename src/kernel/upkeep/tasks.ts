import type { Database, Tx } from '../../lib/postgres/db.ts';
import { removeForgottenWorkers } from '../jobs/worker-store.ts';
import { purgeInBatches } from './batches.ts';
import { purgeEvents, purgeIdempotencyKeys, purgeJobs, purgeLogins } from './store.ts';
import type { UpkeepTask } from './types.ts';

const hourMs = 60 * 60_000;
export interface KernelTaskOptions {
  db: Database;
  eventRetentionDays: number;
  jobRetentionDays: number;
}

export function kernelTasks({ db, eventRetentionDays, jobRetentionDays }: KernelTaskOptions): UpkeepTask[] {
  const hourly = (name: string, remove: () => Promise<number>): UpkeepTask => ({
    name,
    everyMs: hourMs,
    run: async () => ({ removed: await remove() }),
  });
  const purging = (name: string, purge: (tx: Tx, limit: number) => Promise<number>) =>
    hourly(name, () => purgeInBatches(db, purge));
  return [
    purging('purge_events', (tx, limit) => purgeEvents(tx, { days: eventRetentionDays, limit })),
    purging('purge_jobs', (tx, limit) => purgeJobs(tx, { days: jobRetentionDays, limit })),
    purging('purge_idempotency_keys', (tx, limit) => purgeIdempotencyKeys(tx, { hours: 24, limit })),
    hourly('purge_logins', () => db.kernel(purgeLogins)),
    hourly('forget_workers', () => db.kernel((tx) => removeForgottenWorkers(tx, 24 * hourMs))),
  ];
}
