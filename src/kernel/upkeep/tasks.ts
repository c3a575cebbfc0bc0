import type { Database, Tx } from '../../lib/postgres/db.ts';
import { purgeInBatches } from '../../lib/postgres/purge.ts';
import { keepLog } from '../events/retention.ts';
import { moveEnded, purgeEnded } from '../jobs/ended/ended-jobs.ts';
import { removeForgottenWorkers } from '../jobs/lease/worker-store.ts';
import { purgeIdempotencyKeys, purgeLogins } from './store.ts';
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
    { name: 'purge_events', everyMs: hourMs, run: () => keepLog(db, eventRetentionDays) },
    { name: 'move_ended_jobs', everyMs: 5_000, run: async () => ({ moved: await moveEnded(db) }) },
    hourly('purge_jobs', () => purgeEnded(db, { days: jobRetentionDays })),
    purging('purge_idempotency_keys', (tx, limit) => purgeIdempotencyKeys(tx, { hours: 24, limit })),
    hourly('purge_logins', () => db.kernel(purgeLogins)),
    hourly('forget_workers', () => db.kernel((tx) => removeForgottenWorkers(tx, 24 * hourMs))),
  ];
}
