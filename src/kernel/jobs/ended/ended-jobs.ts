import type { Database } from '../../../lib/postgres/db.ts';
import { purgeInBatches } from '../../../lib/postgres/purge.ts';
import {
  deleteEndedBefore,
  deleteStrays,
  dropPeriod,
  listOldPeriods,
  listOwnRetentions,
  listStrayBounds,
  moveEndedJobs,
  rotateEndedJobs,
} from './ended-store.ts';

const dayMs = 24 * 60 * 60_000;
/** A job is looked for in every period that has not been dropped yet: few periods, and none kept much too long. */
const periodsKept = 12;

export function moveEnded(db: Database): Promise<number> {
  return purgeInBatches(db, moveEndedJobs);
}

/**
 * Ended jobs go by whole periods, which takes no longer for many than for few: a job is kept for up to one period more
 * than its retention. What cannot wait for its period, because its tenant keeps jobs for a time of its own, or because
 * it had ended before the period began, is deleted row by row.
 */
export async function purgeEnded(db: Database, { days }: { days: number }): Promise<number> {
  await db.kernel((tx) => rotateEndedJobs(tx, { periodDays: Math.max(1, Math.floor(days / periodsKept)) }));
  for (const { name } of await db.kernel((tx) => listOldPeriods(tx, { days }))) {
    await db.kernel((tx) => dropPeriod(tx, { name, days }));
  }
  const before = (keptDays: number) => new Date(Date.now() - keptDays * dayMs);
  let removed = 0;
  for (const bound of await db.kernel((tx) => listStrayBounds(tx, before(days)))) {
    removed += await purgeInBatches(db, (tx, limit) => deleteStrays(tx, bound, limit));
  }
  for (const { tenantId, days: keptDays } of await db.kernel(listOwnRetentions)) {
    removed += await purgeInBatches(db, (tx, limit) =>
      deleteEndedBefore(tx, { before: before(keptDays), tenantId, limit }),
    );
  }
  return removed;
}
