import type { Files } from '../../kernel/files/types.ts';
import type { Ground } from '../../kernel/house/house.ts';
import { getJob, type JobKey as VisibleJobKey } from '../../kernel/jobs/dispatch/service.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import { deleteHiddenJob, reopenSharedJob, unparkJob } from '../../kernel/jobs/shared/shared-store.ts';
import type { Job, Slice, SliceResult } from '../../kernel/jobs/types.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { itemErrors } from './errors.ts';
import { listStorageKeys } from './images/image-store.ts';
import type { ItemMetrics } from './metrics.ts';
import { type ReportedJob, reportIfDue, reportReprocessed } from './processing/item-events.ts';
import { expireLocksOf } from './processing/store.ts';
import {
  deleteItemJob,
  deleteSomeRows,
  findItemJob,
  listDeadIngests,
  listOverdueJobs,
  type MovedCounts,
  moveItemCounts,
  resetItems,
  skipOpenItems,
} from './store.ts';
import {
  type CountDelta,
  type ItemBounds,
  type ItemJob,
  type ItemStatus,
  type JobKey,
  moveCounts,
} from './types.ts';

export interface ItemServiceDeps extends Pick<Ground, 'db' | 'logger'> {
  wake: WakeUp;
  bounds: ItemBounds;
}

/** The kernel's job and its record in this house, if the caller may see them. */
export async function getItemJob(
  { db }: Pick<ItemServiceDeps, 'db'>,
  key: VisibleJobKey,
): Promise<{ job: Job; items: ItemJob }> {
  const job = await getJob({ db }, key);
  const items = await db.tenant(key.tenantId, (tx) => findItemJob(tx, key));
  if (!items) throw itemErrors.raise.not_an_items_job(`Job ${key.jobId} is of pipeline ${job.pipeline}`);
  return { job, items };
}

export interface Reprocess {
  statuses: ItemStatus[];
  itemIds: number[] | null;
  /** Only rows that failed for this reason. */
  errorCode: string | null;
  resetAttempts: boolean;
}

const batchSize = 10_000;

/** Items become pending again, and a finished job is reopened. Each batch commits alone; a repeated call continues. */
export async function reprocess(
  deps: ItemServiceDeps,
  key: VisibleJobKey,
  wanted: Reprocess,
): Promise<{ reset: number; exhausted: number }> {
  const { job, items } = await getItemJob(deps, key);
  if (job.status === 'canceled' || job.status === 'dead_letter') {
    throw jobErrors.raise.illegal_transition(
      `Job ${key.jobId} is ${job.status}; its items stay as they are`,
      {
        details: { from: job.status, to: 'queued' },
      },
    );
  }
  let afterId = 0;
  const total = { reset: 0, exhausted: 0 };
  for (;;) {
    const reported = { job: items, correlationId: job.correlationId };
    const batch = await deps.db.tenant(key.tenantId, (tx) =>
      resetBatch(deps, tx, { key, wanted, afterId, reported }),
    );
    total.reset += batch.reset;
    total.exhausted += batch.exhausted;
    if (batch.lastId === null) break;
    afterId = batch.lastId;
  }
  if (total.reset > 0) deps.wake.announce('jobs', 'events');
  const { tenantId: tenant_id, jobId: job_id } = key;
  const line = { tenant_id, job_id, correlation_id: job.correlationId, ...total, statuses: wanted.statuses };
  deps.logger.info(line, 'items will be processed again');
  return total;
}

async function resetBatch(
  { bounds }: ItemServiceDeps,
  tx: Tx,
  part: { key: JobKey; wanted: Reprocess; afterId: number; reported: ReportedJob },
): Promise<{ reset: number; exhausted: number; lastId: number | null }> {
  const { key, wanted, afterId, reported } = part;
  const batch = await resetItems(tx, { ...key, ...wanted, ...bounds, afterId, limit: batchSize });
  let delta: CountDelta = {};
  let reset = 0;
  for (const [from, n] of Object.entries(batch.reset) as [ItemStatus, number][]) {
    delta = moveCounts(delta, { from, to: 'PENDING', n });
    reset += n;
  }
  if (reset > 0) {
    await moveItemCounts(tx, key, { delta });
    const { resetAttempts } = wanted;
    await reportReprocessed(tx, reported, { reset: batch.reset, resetAttempts });
    await reopenSharedJob(tx, key);
    await unparkJob(tx, key);
  }
  return { reset, exhausted: batch.exhausted, lastId: batch.lastId };
}

const cleanupBatch = 5_000;

/** A slice of a canceled job: skips what is still open. */
export async function skipOpen(
  { logger, metrics }: { logger: Logger; metrics: ItemMetrics },
  slice: Slice,
): Promise<SliceResult> {
  const { job } = slice;
  let moved = 0;
  let left = 0;
  await slice.transaction(async (tx) => {
    const { pending, processing } = await skipOpenItems(tx, { ...job, limit: cleanupBatch });
    moved = pending + processing;
    const first = moveCounts({}, { from: 'PENDING', to: 'SKIPPED', n: pending });
    const delta = moveCounts(first, { from: 'PROCESSING', to: 'SKIPPED', n: processing });
    const fresh = moved > 0 ? { 'ended.SKIPPED': moved } : {};
    const counts = await moveItemCounts(tx, job, { delta, fresh, report: {} });
    if (!counts) return;
    left = counts.pending + counts.processing;
    await reportSkipped(tx, { job, counts });
    tx.afterCommit(() => metrics.moved(fresh));
  });
  if (left === 0) {
    const ids = { tenant_id: job.tenantId, job_id: job.jobId, correlation_id: job.correlationId };
    logger.info(ids, 'open items of a canceled job were skipped');
    return { outcome: { type: 'done' } };
  }
  // A late worker releases what it still holds in a moment.
  return { outcome: moved > 0 ? { type: 'continue' } : { type: 'wait', delayMs: 200 } };
}

async function reportSkipped(tx: Tx, { job, counts }: { job: Job; counts: MovedCounts }): Promise<void> {
  const items = await findItemJob(tx, job);
  if (items) await reportIfDue(tx, { job: items, correlationId: job.correlationId, counts, controllers: {} });
}

/** A worker whose connection was cut is back within this time; its calls run on, and its rows are not taken over. */
const rejoinMs = 3_000;

/** Frees the items of workers that are still lost after a moment. If nobody does, their locks expire. */
export function freeItemsLater(
  deps: Pick<ItemServiceDeps, 'db' | 'wake' | 'logger'>,
  workerIds: string[],
  delayMs = rejoinMs,
): void {
  const free = () =>
    freeItemsOf(deps, workerIds).catch((err: unknown) =>
      deps.logger.warn({ err }, 'rows of lost workers could not be freed; their locks expire'),
    );
  setTimeout(free, delayMs).unref();
}

/** Frees the items of dead workers, and unparks their jobs. */
async function freeItemsOf(
  { db, wake }: Pick<ItemServiceDeps, 'db' | 'wake'>,
  workerIds: string[],
): Promise<void> {
  const jobs = await db.kernel((tx) => expireLocksOf(tx, workerIds));
  for (const job of jobs) await db.tenant(job.tenantId, (tx) => unparkJob(tx, job));
  if (jobs.length > 0) wake.announce('jobs');
}

/** For upkeep: removes ingests whose process died. */
export async function removeDeadIngests(
  db: Database,
  { files = null }: { files?: Files | null } = {},
): Promise<{ removed: number }> {
  const dead = await db.kernel((tx) => listDeadIngests(tx, 100));
  let removed = 0;
  for (const key of dead) if (await takeBack({ db, files }, key)) removed += 1;
  return { removed };
}

/** For upkeep: removes the rows of jobs that are gone, or whose time is over. */
export async function purgeItems(db: Database, { days }: { days: number }): Promise<{ removed: number }> {
  const over = await db.kernel((tx) => listOverdueJobs(tx, { days, limit: 500 }));
  let removed = 0;
  for (const key of over) removed += await deleteRowsOf(db, key);
  return { removed };
}

/** In batches: a job may have millions of rows. The record goes last, so that the rest can be found again. */
export async function deleteRowsOf(db: Database, key: JobKey): Promise<number> {
  let removed = 0;
  for (let count = rowsAtOnce; count === rowsAtOnce; removed += count) {
    count = await db.kernel((tx) => deleteSomeRows(tx, { ...key, limit: rowsAtOnce }));
  }
  await db.kernel((tx) => deleteItemJob(tx, key));
  return removed;
}

const rowsAtOnce = 5_000;

/**
 * Removes an unfinished ingest with all its rows and images. Only the kernel may delete jobs. A job that has become
 * visible stays, and so do its files.
 */
export async function takeBack(
  { db, files }: { db: Database; files: Files | null },
  key: JobKey,
): Promise<boolean> {
  const { isGone, storageKeys } = await db.kernel(async (tx) => {
    const named = await listStorageKeys(tx, key);
    return { isGone: await deleteHiddenJob(tx, key), storageKeys: named };
  });
  if (!isGone) return false;
  // If this process dies here, upkeep finds the rows of a job that is gone.
  await deleteRowsOf(db, key);
  // A file that cannot be removed now is an orphan, which the sweep will find.
  for (const storageKey of storageKeys) await files?.remove(storageKey).catch(() => {});
  return true;
}
