import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { finishSharedJob, lockStatus, parkJob, unparkJob } from '../../../kernel/jobs/shared/shared-store.ts';
import type { JobStatus } from '../../../kernel/jobs/types.ts';
import { clamp } from '../../../lib/numbers.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { resultKeysOf } from '../export/rows.ts';
import { lockItemCounts, type MovedCounts, moveItemCounts } from '../store.ts';
import {
  type CountDelta,
  type Counts,
  type ItemChange,
  type ItemJob,
  type ItemStatus,
  moveCounts,
  type Unreported,
} from '../types.ts';
import { reportIfDue } from './item-events.ts';
import { readNextDue } from './store.ts';

/** The job that the events are about, and the state of the controllers, saved with them. */
export interface BatchReport {
  job: ItemJob;
  correlationId: string;
  controllers: object;
}

export interface BatchEnd extends BatchReport {
  changes: readonly ItemChange[];
  /** The status of the changed items before; or the delta itself. */
  from?: 'PENDING' | 'PROCESSING';
  delta?: CountDelta;
  /** What the events have to report. */
  fresh: Unreported;
  /** Claims need a running job; work in flight at a pause may still commit. */
  needsRunning?: boolean;
}

/**
 * The end of every transaction that moves items: counts first (their row serialises the job's workers), then the job's
 * own row. The order is the same everywhere, so that there is no deadlock. The job ends with its last item.
 */
export async function closeBatch(
  tx: Tx,
  end: BatchEnd,
): Promise<{ isLast: boolean; status: JobStatus | null }> {
  const { job, changes, fresh } = end;
  const delta = end.delta ?? deltaOf(changes, end.from ?? 'PROCESSING');
  const resultColumns = newColumns(job, changes);
  // Known once it is stored: a transaction that fails is repeated with the same job, and has to name them again.
  if (resultColumns.length > 0) {
    tx.afterCommit(() => {
      job.resultColumns = [...new Set([...job.resultColumns, ...resultColumns])];
    });
  }
  const report = changes.length > 0 ? { report: end.controllers } : {};
  const counts = await moveItemCounts(tx, job, { delta, fresh, resultColumns, ...report });
  if (counts === null) throw notRunning(job);
  await reportIfDue(tx, { ...end, counts });
  // Ending the job is a gate of its own: a job that does not run, or is not paused, cannot end.
  if (changes.length > 0 && (await finish(tx, job, counts))) return { isLast: true, status: 'success' };
  const status = await lockStatus(tx, job);
  const isOpen = status === 'running' || (status === 'paused' && end.needsRunning !== true);
  // Nothing is committed for a canceled or erased job.
  if (!isOpen) throw notRunning(job);
  await comeBackFor(tx, job, changes);
  return { isLast: false, status };
}

/** A worker that found nothing parked the job until our locks expire; retries are due earlier. */
async function comeBackFor(tx: Tx, job: ItemJob, changes: readonly ItemChange[]): Promise<void> {
  const delays = changes.filter(({ status }) => status === 'PENDING').map(({ delayMs }) => delayMs ?? 0);
  if (delays.length === 0) return;
  await unparkJob(
    tx,
    job,
    delays.reduce((least, delayMs) => Math.min(least, delayMs)),
  );
}

export const maxParkMs = 5_000;
/** Items locked by a batch in progress are free again in a moment. */
const minParkMs = 50;

/**
 * Parks the job until a retry is due or a lock expires. Every batch ends with the counts: while they are locked, no
 * batch can release items between the check and the parking, and leave them parked too.
 */
export async function parkUntilDue(tx: Tx, report: BatchReport): Promise<'idle' | 'finished'> {
  const { job } = report;
  const counts = await lockItemCounts(tx, job);
  const waitMs = await readNextDue(tx, job);
  // The last item may have ended without anybody seeing it.
  if (counts !== null && waitMs === null && isDone(counts)) {
    const moved = await moveItemCounts(tx, job, { delta: {}, report: report.controllers });
    if (moved !== null) await reportIfDue(tx, { ...report, counts: moved });
    if (await finish(tx, job, counts)) return 'finished';
  }
  await parkJob(tx, job, clamp(waitMs ?? maxParkMs, { min: minParkMs, max: maxParkMs }));
  return 'idle';
}

export function notRunning(job: { jobId: string }): Error {
  return jobErrors.raise.lease_lost(`Job ${job.jobId} does not run any more, or its items were taken over`);
}

/** What a batch has to report: finished items by status, and retries by class. */
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

const isDone = ({ pending, processing }: Counts) => pending + processing === 0;

async function finish(tx: Tx, job: ItemJob, counts: Counts & Partial<MovedCounts>): Promise<boolean> {
  if (!isDone(counts)) return false;
  const { told: _told, ...counters } = counts;
  return (await finishSharedJob(tx, job, counters)) !== null;
}

function deltaOf(changes: readonly ItemChange[], from: 'PENDING' | 'PROCESSING'): CountDelta {
  const ends = new Map<ItemStatus, number>();
  for (const { status } of changes) ends.set(status, (ends.get(status) ?? 0) + 1);
  return [...ends].reduce<CountDelta>((delta, [to, n]) => moveCounts(delta, { from, to, n }), {});
}

/** Columns that are new in the results; they become columns of the grid and of exports. */
function newColumns(job: ItemJob, changes: readonly ItemChange[]): string[] {
  const known = new Set(job.resultColumns);
  const fresh: string[] = [];
  const add = (key: string): void => {
    if (known.has(key)) return;
    known.add(key);
    fresh.push(key);
  };
  // The columns of inputs are known since the ingest.
  if (changes.some(({ resultIsInput }) => resultIsInput)) job.columns.forEach(add);
  for (const { resultJson } of changes) if (resultJson !== null) resultKeysOf(resultJson).forEach(add);
  return fresh;
}
