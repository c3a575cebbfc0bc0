import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { finishSharedJob, lockStatus, parkJob, unparkJob } from '../../../kernel/jobs/shared-store.ts';
import type { JobStatus } from '../../../kernel/jobs/types.ts';
import { clamp } from '../../../lib/numbers.ts';
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
import { readNextDue } from './store.ts';

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
  // The last item may have ended without anybody seeing it.
  if (counts !== null && waitMs === null && isDone(counts)) {
    await reportIfDue(tx, { ...report, counts });
    if (await finish(tx, job, counts)) return 'finished';
  }
  await parkJob(tx, job, clamp(waitMs ?? maxParkMs, { min: minParkMs, max: maxParkMs }));
  return 'idle';
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

const isDone = ({ pending, processing }: MovedCounts) => pending + processing === 0;

async function finish(tx: Tx, job: ItemJob, counts: MovedCounts): Promise<boolean> {
  if (!isDone(counts)) return false;
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
