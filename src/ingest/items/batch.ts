import { jobErrors } from '../../kernel/jobs/errors.ts';
import { finishSharedJob, lockStatus } from '../../kernel/jobs/shared-store.ts';
import type { JobStatus } from '../../kernel/jobs/types.ts';
import type { Tx } from '../../lib/db.ts';
import { resultKeysOf } from './export/rows.ts';
import type { Pacing } from './pacing.ts';
import { addResultColumns, moveItemCounts, saveControllers } from './store.ts';
import { type CountDelta, type Counts, type ItemChange, type ItemJob, moveCounts } from './types.ts';

export interface BatchEnd {
  job: ItemJob;
  changes: readonly ItemChange[];
  /** What the changed items were before; or the delta itself. */
  from?: 'PENDING' | 'PROCESSING';
  delta?: CountDelta;
  pacing: Pacing;
  /** Claims need a running job; what was in flight at a pause may still commit. */
  needsRunning?: boolean;
}

/**
 * The end of every transaction that moves items: counts first (their row serialises the job's workers), then the
 * job's own row, in this order everywhere, so that nobody waits in a circle. With the last item the job ends too.
 */
export async function closeBatch(
  tx: Tx,
  end: BatchEnd,
): Promise<{ isLast: boolean; status: JobStatus | null }> {
  const { job, changes } = end;
  const fresh = newColumns(job, changes);
  if (fresh.length > 0) await addResultColumns(tx, job, fresh);
  const delta = end.delta ?? deltaOf(changes, end.from ?? 'PROCESSING');
  const counts = await moveItemCounts(tx, job, delta);
  if (changes.length > 0) await saveControllers(tx, job, { claim: end.pacing.claimOf(job.jobId) });
  const status = await lockStatus(tx, job);
  const isOpen = status === 'running' || (status === 'paused' && end.needsRunning !== true);
  // Nothing of a canceled or erased job is kept.
  if (counts === null || !isOpen) throw notRunning(job);
  return { isLast: changes.length > 0 && (await finish(tx, job, counts)), status };
}

/** For a job whose last item ended without anybody seeing it. */
export async function finishIfDone(tx: Tx, job: ItemJob): Promise<boolean> {
  const counts = await moveItemCounts(tx, job, {});
  return counts !== null && (await finish(tx, job, counts));
}

export function notRunning(job: { jobId: string }): Error {
  return jobErrors.raise.lease_lost(`Job ${job.jobId} does not run any more, or its items were taken over`);
}

async function finish(tx: Tx, job: ItemJob, counts: Counts): Promise<boolean> {
  if (counts.pending + counts.processing > 0) return false;
  return (await finishSharedJob(tx, job, { ...counts })) !== null;
}

function deltaOf(changes: readonly ItemChange[], from: 'PENDING' | 'PROCESSING'): CountDelta {
  return changes.reduce<CountDelta>((delta, { status }) => moveCounts(delta, { from, to: status, n: 1 }), {});
}

/** Columns that no result had before; they become columns of grid and export. */
function newColumns(job: ItemJob, changes: readonly ItemChange[]): string[] {
  const known = new Set(job.resultColumns);
  const fresh: string[] = [];
  for (const { resultJson } of changes) {
    for (const key of resultKeysOf(resultJson)) {
      if (known.has(key)) continue;
      known.add(key);
      fresh.push(key);
    }
  }
  job.resultColumns = [...known];
  return fresh;
}
