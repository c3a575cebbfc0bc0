import { appendEvent } from '../../../kernel/events/store.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { type MovedCounts, markReported } from '../store.ts';
import type { ItemStatus, JobKey, Unreported } from '../types.ts';

/**
 * Events of items are summaries: at most one of each type per job in this time, and the rest with the last item. One
 * event per item would double what a fast processor has to write.
 */
const everyMs = 2_000;

export interface ReportedJob {
  job: JobKey & { userId: string };
  correlationId: string;
}

/**
 * Reports what happened since the last event. Unreported changes are stored in the row of the counts and change with
 * them: whichever worker reports them, every item is reported once.
 */
export async function reportIfDue(
  tx: Tx,
  { job, correlationId, counts, controllers }: ReportedJob & { counts: MovedCounts; controllers: object },
): Promise<void> {
  const isEnd = counts.pending + counts.processing === 0;
  const isDue = counts.reportAgeMs === null || counts.reportAgeMs >= everyMs;
  if (!isEnd && !isDue) return;
  const ended = pick(counts.unreported, 'ended.');
  const retried = pick(counts.unreported, 'retried.');
  const left = { total: counts.total, open: counts.pending + counts.processing };
  const about = { job, correlationId };
  const processed = { counts: ended, ...left, controllers };
  if (ended) await append(tx, { ...about, type: 'item.processed', told: processed });
  if (retried) await append(tx, { ...about, type: 'item.retry', told: { by_class: retried, ...left } });
  await markReported(tx, job, controllers);
}

export async function reportReprocessed(
  tx: Tx,
  reported: ReportedJob,
  { reset, resetAttempts }: { reset: Partial<Record<ItemStatus, number>>; resetAttempts: boolean },
): Promise<void> {
  const told = { counts: reset, reset_attempts: resetAttempts };
  await append(tx, { ...reported, type: 'item.reprocessed', told });
}

async function append(
  tx: Tx,
  { job, correlationId, type, told }: ReportedJob & { type: string; told: Record<string, unknown> },
): Promise<void> {
  const { tenantId, jobId, userId } = job;
  await appendEvent(tx, {
    tenantId,
    type,
    subject: jobId,
    userId,
    correlationId,
    data: { job_id: jobId, ...told },
  });
}

/** Null: nothing of this kind. */
function pick(unreported: Unreported, prefix: 'ended.' | 'retried.'): Record<string, number> | null {
  const found = Object.entries(unreported).filter(([name]) => name.startsWith(prefix));
  if (found.length === 0) return null;
  return Object.fromEntries(found.map(([name, count]) => [name.slice(prefix.length), count]));
}
