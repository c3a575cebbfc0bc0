import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { finishSharedJob, lockStatus, unparkJob } from '../../../kernel/jobs/shared-store.ts';
import type { JobStatus } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { resultKeysOf } from '../export/rows.ts';
import { addResultColumns, type MovedCounts, moveItemCounts } from '../store.ts';
import {
  type CountDelta,
  type ItemChange,
  type ItemJob,
  type ItemStatus,
  moveCounts,
  type Unreported,
} from '../types.ts';
import { reportIfDue } from './item-events.ts';

/** Whose events these are, and what the controllers think, kept with them. */
export interface BatchReport {
  job: ItemJob;
  correlationId: string;
  controllers: object;
}

export interface BatchEnd extends BatchReport {
  changes: readonly ItemChange[];
  /** What the changed items were before; or the delta itself. */
  from?: 'PENDING' | 'PROCESSING';
  delta?: CountDelta;
  /** What the events have to tell of it. */
  fresh: Unreported;
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
  const { job, changes, fresh } = end;
  const columns = newColumns(job, changes);
  if (columns.length > 0) await addResultColumns(tx, job, columns);
  const delta = end.delta ?? deltaOf(changes, end.from ?? 'PROCESSING');
  const counts = await moveItemCounts(tx, job, { delta, fresh });
  if (counts !== null && changes.length > 0) await reportIfDue(tx, { ...end, counts });
  const status = await lockStatus(tx, job);
  const isOpen = status === 'running' || (status === 'paused' && end.needsRunning !== true);
  // Nothing of a canceled or erased job is kept.
  if (counts === null || !isOpen) throw notRunning(job);
  await comeBackFor(tx, job, changes);
  return { isLast: changes.length > 0 && (await finish(tx, job, counts)), status };
}

/** Whoever found nothing to take parked the job until our locks expire; what is to be tried again is due earlier. */
export async function comeBackFor(tx: Tx, job: ItemJob, changes: readonly ItemChange[]): Promise<void> {
  const delays = changes.filter(({ status }) => status === 'PENDING').map(({ delayMs }) => delayMs ?? 0);
  if (delays.length === 0) return;
  await unparkJob(
    tx,
    job,
    delays.reduce((least, delayMs) => Math.min(least, delayMs)),
  );
}

/** For a job whose last item ended without anybody seeing it. The counts were locked in this transaction. */
export async function finishIfDone(
  tx: Tx,
  { job, counts, ...report }: BatchReport & { counts: MovedCounts },
): Promise<boolean> {
  if (counts.pending + counts.processing > 0) return false;
  await reportIfDue(tx, { ...report, job, counts });
  return finish(tx, job, counts);
}

export function notRunning(job: { jobId: string }): Error {
  return jobErrors.raise.lease_lost(`Job ${job.jobId} does not run any more, or its items were taken over`);
}

/** What a batch has to tell: items that ended, by status, and retries, by class. */
export function freshOf(changes: readonly ItemChange[]): Unreported {
  const fresh: Unreported = {};
  for (const { status, retryClass } of changes) {
    const name = status === 'PENDING' ? retryClass && (`retried.${retryClass}` as const) : endedName(status);
    if (name !== null) fresh[name] = (fresh[name] ?? 0) + 1;
  }
  return fresh;
}

function endedName(status: ItemStatus): `ended.${ItemStatus}` {
  return `ended.${status}`;
}

async function finish(tx: Tx, job: ItemJob, counts: MovedCounts): Promise<boolean> {
  if (counts.pending + counts.processing > 0) return false;
  const { unreported: _told, reportAgeMs: _age, ...counters } = counts;
  return (await finishSharedJob(tx, job, counters)) !== null;
}

function deltaOf(changes: readonly ItemChange[], from: 'PENDING' | 'PROCESSING'): CountDelta {
  const ends = new Map<ItemStatus, number>();
  for (const { status } of changes) ends.set(status, (ends.get(status) ?? 0) + 1);
  return [...ends].reduce<CountDelta>((delta, [to, n]) => moveCounts(delta, { from, to, n }), {});
}

/** Columns that no result had before; they become columns of grid and export. */
function newColumns(job: ItemJob, changes: readonly ItemChange[]): string[] {
  const known = new Set(job.resultColumns);
  const fresh: string[] = [];
  const add = (key: string): void => {
    if (known.has(key)) return;
    known.add(key);
    fresh.push(key);
  };
  // What an input can have is known since it was taken in.
  if (changes.some(({ resultIsInput }) => resultIsInput)) job.columns.forEach(add);
  for (const { resultJson } of changes) if (resultJson !== null) resultKeysOf(resultJson).forEach(add);
  job.resultColumns = [...known];
  return fresh;
}
