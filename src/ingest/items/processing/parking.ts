import { parkJob } from '../../../kernel/jobs/shared-store.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { moveItemCounts } from '../store.ts';
import { type BatchReport, finishIfDone } from './batch.ts';
import { readNextDue } from './store.ts';

export const maxParkMs = 5_000;
/** Items that are locked by a batch in progress are back in a moment. */
const minParkMs = 50;

/**
 * Nobody looks at the job until a retry comes due or a lock expires. Every batch ends with the counts: with them
 * locked, nobody brings items back between the look and the parking, which would put these to rest as well.
 */
export async function parkUntilDue(tx: Tx, report: BatchReport): Promise<'idle' | 'finished'> {
  const { job } = report;
  const counts = await moveItemCounts(tx, job, { delta: {} });
  const waitMs = await readNextDue(tx, job);
  const mayBeDone = counts !== null && waitMs === null;
  if (mayBeDone && (await finishIfDone(tx, { ...report, counts }))) return 'finished';
  await parkJob(tx, job, Math.min(Math.max(waitMs ?? maxParkMs, minParkMs), maxParkMs));
  return 'idle';
}
