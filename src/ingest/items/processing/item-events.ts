import { appendEvent } from '../../../kernel/events/store.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import type { MovedCounts } from '../store.ts';
import type { ItemStatus, JobKey, Unreported } from '../types.ts';

export interface ReportedJob {
  job: JobKey & { userId: string };
  correlationId: string;
}

/**
 * Reports what happened since the last event, if an event is due. Unreported changes are stored in the row of the
 * counts and change with them: whichever worker reports them, every item is reported once.
 */
export async function reportIfDue(
  tx: Tx,
  { job, correlationId, counts, controllers }: ReportedJob & { counts: MovedCounts; controllers: object },
): Promise<void> {
  if (counts.told === null) return;
  const ended = pick(counts.told, 'ended.');
  const retried = pick(counts.told, 'retried.');
  const left = { total: counts.total, open: counts.pending + counts.processing };
  const about = { job, correlationId };
  // Controllers are followed from event to event; a job that ends with its first one has nothing to follow.
  const isOnly = sumOf(ended ?? {}) === counts.total;
  const processed = { counts: ended, ...left, ...(isOnly ? {} : { controllers }) };
  if (ended) await append(tx, { ...about, type: 'item.processed', told: processed });
  if (retried) await append(tx, { ...about, type: 'item.retry', told: { by_class: retried, ...left } });
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

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Null: nothing of this kind. */
function pick(unreported: Unreported, prefix: 'ended.' | 'retried.'): Record<string, number> | null {
  const found = Object.entries(unreported).filter(([name]) => name.startsWith(prefix));
  if (found.length === 0) return null;
  return Object.fromEntries(found.map(([name, count]) => [name.slice(prefix.length), count]));
}
