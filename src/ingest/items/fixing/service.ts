import type { Files } from '../../../kernel/files/types.ts';
import type { JobKey as VisibleJobKey } from '../../../kernel/jobs/dispatch/service.ts';
import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { deleteEndedJob, reopenSharedJob, unparkJob } from '../../../kernel/jobs/shared/shared-store.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { jsonMembers } from '../../../lib/rows/json-members.ts';
import { itemErrors } from '../errors.ts';
import { listStorageKeys } from '../images/image-store.ts';
import { normalizerOf } from '../intake/batch-writer.ts';
import { reportReprocessed } from '../processing/item-events.ts';
import type { ProcessorRegistry } from '../processing/processors/registry.ts';
import { deleteRowsOf, getItemJob, type ItemServiceDeps } from '../service.ts';
import { moveItemCounts } from '../store.ts';
import { moveCounts } from '../types.ts';
import { correctItem, insertCorrection, lockItem } from './store.ts';

export interface FixingDeps extends ItemServiceDeps {
  processors: ProcessorRegistry;
  files: Files;
}

export interface WantedCorrection {
  itemId: number;
  cells: { column: string; value: string | number | boolean | null; pointer: string }[];
  userId: string;
}

/** Corrects values of a row that is not at work, records what they were, and lets the row run again. */
export async function correctCells(
  deps: FixingDeps,
  key: VisibleJobKey,
  { itemId, cells, userId }: WantedCorrection,
): Promise<void> {
  const { job, items } = await getItemJob(deps, key);
  if (job.status === 'canceled' || job.status === 'dead_letter') {
    throw jobErrors.raise.illegal_transition(`Job ${key.jobId} is ${job.status}; its rows stay as they are`, {
      details: { from: job.status, to: 'queued' },
    });
  }
  const normalizer = normalizerOf(deps.processors.get(items.processor), null);
  await deps.db.tenant(key.tenantId, async (tx) => {
    const row = await lockItem(tx, { ...key, itemId });
    if (!row) throw itemErrors.raise.item_not_found(`Job ${key.jobId} has no item ${itemId}`);
    if (row.status === 'PROCESSING') {
      throw itemErrors.raise.item_at_work(`Row ${row.rowNo} is being processed right now`, {
        details: { row_no: row.rowNo },
      });
    }
    let { inputJson } = row;
    for (const { column, value, pointer } of cells) {
      const newValue = JSON.stringify(value);
      const changed = withValue(inputJson, { column, newValue, pointer, known: items.columns });
      inputJson = changed.inputJson;
      const { oldValue } = changed;
      await insertCorrection(tx, { ...key, itemId, rowNo: row.rowNo, column, oldValue, newValue, userId });
    }
    await correctItem(tx, { ...key, itemId, inputJson, normalizedJson: normalizer.normalize(inputJson) });
    if (row.status !== 'PENDING') {
      await moveItemCounts(tx, key, { delta: moveCounts({}, { from: row.status, to: 'PENDING', n: 1 }) });
      const reported = { job: items, correlationId: job.correlationId };
      await reportReprocessed(tx, reported, { reset: { [row.status]: 1 }, resetAttempts: true });
    }
    await reopenSharedJob(tx, key);
    await unparkJob(tx, key);
    tx.afterCommit(() => deps.wake.announce('jobs', 'events'));
  });
  const { tenantId: tenant_id, jobId: job_id } = key;
  const line = { tenant_id, job_id, correlation_id: job.correlationId, item_id: itemId, user_id: userId };
  deps.logger.info(line, 'a value of a row was corrected');
}

/** The row with one value replaced; all others keep every digit. */
function withValue(
  inputJson: string,
  wanted: { column: string; newValue: string; pointer: string; known: readonly string[] },
): { inputJson: string; oldValue: string | null } {
  const { column, newValue, pointer, known } = wanted;
  const members: string[] = [];
  let oldValue: string | null = null;
  for (const { key, valueText } of jsonMembers(inputJson)) {
    if (key === column) oldValue = valueText;
    members.push(`${JSON.stringify(key)}:${key === column ? newValue : valueText}`);
  }
  if (oldValue === null) {
    if (!known.includes(column)) throw unknownColumn(column, { known, pointer });
    members.push(`${JSON.stringify(column)}:${newValue}`);
  }
  return { inputJson: `{${members.join(',')}}`, oldValue };
}

function unknownColumn(
  column: string,
  { known, pointer }: { known: readonly string[]; pointer: string },
): Error {
  const names = known.slice(0, 30).map((name) => JSON.stringify(name));
  return itemErrors.raise.item_column_unknown(
    `The job has no column ${JSON.stringify(column.slice(0, 200))}; it has ${names.join(', ')}`,
    { fields: [{ pointer, message: 'names no column of the job' }] },
  );
}

/**
 * Removes an ended job for good: its record, rows, results, images and provider calls. The job goes first, so that
 * nobody sees half of it; if this process dies then, upkeep removes rows whose job is gone.
 */
export async function deleteItemsJob(deps: FixingDeps, key: VisibleJobKey): Promise<void> {
  const { job } = await getItemJob(deps, key);
  const storageKeys = await deps.db.kernel((tx) => listStorageKeys(tx, key));
  const isDeleted = await deps.db.kernel((tx) => deleteEndedJob(tx, key));
  if (!isDeleted) {
    throw itemErrors.raise.job_not_ended(`Job ${key.jobId} is ${job.status}`, {
      details: { status: job.status },
    });
  }
  await deleteRowsOf(deps.db as Database, key);
  // A file that cannot be removed now is an orphan, which the sweep will find.
  for (const storageKey of storageKeys) await deps.files.remove(storageKey).catch(() => {});
  const { tenantId: tenant_id, jobId: job_id } = key;
  deps.logger.info({ tenant_id, job_id, correlation_id: job.correlationId }, 'an items job was deleted');
}
