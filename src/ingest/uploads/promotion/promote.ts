import type { Job, Slice } from '../../../kernel/jobs/types.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { inSavepoint } from '../../../lib/postgres/savepoint.ts';
import { nameTooLong } from '../reports/lines/ids.ts';
import { type EntityType, entityTypes } from '../reports/types.ts';
import { checkpointOf, stateOf, type UploadCheckpoint } from '../staging/checkpoint.ts';
import {
  ParentInFlight,
  RetriesExhausted,
  type RetryOptions,
  retryClassOf,
  withRetries,
} from '../staging/retries.ts';
import { isWorthStatistics, promotionBatchRows, type Upload, type WarningCount } from '../types.ts';
import { noteRows, type RowNote } from './end-store.ts';
import {
  byHash,
  insertMetrics,
  type MetricsReport,
  upsertMetrics,
  upsertUnresolvedMetric,
} from './metrics-store.ts';
import {
  adoptParents,
  analyzeEntities,
  forgetLostParents,
  listBatch,
  resolveEntities,
  upsertEntities,
} from './store.ts';

export interface PromoteOptions {
  /** How far this slice has come. */
  checkpoint: UploadCheckpoint;
  /** The slice ends after the first batch that finishes past this time. */
  deadlineMs: number;
  retries: RetryOptions;
}

/** How facts are written: `insert` is faster and works only as long as production has none of them. */
type FactWriting = 'insert' | 'upsert';

/**
 * How a batch is written. A batch starts with all rows at once; `nextApproach` says what follows a failure. `isolate`
 * finds bad rows by halving the batch; `give_up` marks every row as failed.
 */
export type Approach =
  | { write: FactWriting | 'isolate'; needsParents: boolean }
  | { write: 'give_up'; reason: string };

interface BatchReport {
  isEmpty: boolean;
  lastRow: number;
  warned: number;
  /** Production has some of these facts already, so the batches that follow need not try to insert theirs. */
  areFactsKnown?: boolean;
}

/** Promotes batch after batch, campaigns first and facts last. Returns true when nothing is left. */
export async function promoteBatches(
  slice: Slice,
  upload: Upload,
  options: PromoteOptions,
): Promise<boolean> {
  let { checkpoint } = options;
  // What stopped one batch will stop those after it too; every slice starts with `insert` again.
  let factWriting: FactWriting = 'insert';
  for (;;) {
    const batch = await promoteBatch(slice, upload, { checkpoint, factWriting, retries: options.retries });
    if (batch.next === null) return true;
    checkpoint = batch.next;
    factWriting = batch.factWriting;
    if (performance.now() >= options.deadlineMs || slice.shouldYield()) return false;
  }
}

async function promoteBatch(
  slice: Slice,
  upload: Upload,
  start: { checkpoint: UploadCheckpoint; factWriting: FactWriting; retries: RetryOptions },
): Promise<{ next: UploadCheckpoint | null; factWriting: FactWriting }> {
  const { checkpoint, retries } = start;
  let { factWriting } = start;
  let approach: Approach = { write: factWriting, needsParents: true };
  for (;;) {
    try {
      const { next, report } = await withRetries((failed) => {
        const mayHaveLostParents = failed.parent_in_flight > 0;
        return tryBatch(slice, upload, { checkpoint, approach, mayHaveLostParents });
      }, retries);
      return { next, factWriting: report?.areFactsKnown ? 'upsert' : factWriting };
    } catch (error) {
      approach = nextApproach(approach, error);
      if (approach.write === 'upsert') factWriting = 'upsert';
    }
  }
}

/** How to go on after a failure. Throws the error when nothing else can be tried. */
export function nextApproach(failed: Approach, error: unknown): Approach {
  if (failed.write === 'give_up') throw error;
  const { write, needsParents } = failed;
  if (error instanceof RetriesExhausted) {
    if (error.retryClass === 'deadlock') return { write: 'give_up', reason: messageOf(error.cause) };
    if (error.retryClass !== 'parent_in_flight') throw error;
    if (needsParents) return { write, needsParents: false };
    if (write !== 'isolate') return { write: 'isolate', needsParents };
  } else if (isRowError(error)) {
    if (write === 'insert') return { write: 'upsert', needsParents };
    if (write === 'upsert') return { write: 'isolate', needsParents };
  }
  throw error;
}

/** A bad value, a broken constraint or an exceeded limit: one row is at fault, and the others can be written. */
function isRowError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^(22|23|54)[0-9A-Z]{3}$/.test(code);
}

interface BatchTry {
  approach: Approach;
  /** A parent was missing in an earlier try: resolved parents may have been deleted since, by an undo. */
  mayHaveLostParents: boolean;
}

/** One transaction. `next` is the checkpoint after it, or null when nothing was left to do. */
async function tryBatch(
  slice: Slice,
  upload: Upload,
  { checkpoint, ...attempt }: BatchTry & { checkpoint: UploadCheckpoint },
): Promise<{ next: UploadCheckpoint | null; report: BatchReport | null }> {
  let next: UploadCheckpoint | null = null;
  let report: BatchReport | null = null;
  await slice.transaction(
    async (tx: Tx, job: Job) => {
      const current = checkpointOf(job.checkpoint);
      // An earlier COMMIT of this very batch took effect, but its response was lost.
      if (current.step > checkpoint.step) {
        next = current;
        return;
      }
      const { entityType, afterRow } = current.promotion;
      report = await tx.as(
        'sluice_promote',
        (own) => runBatch(own, upload, { entityType, afterRow, ...attempt }),
        entityType === 'daily_metric' ? byHash : {},
      );
      if (report.isEmpty && entityType === 'ad' && isWorthStatistics(upload)) await analyzeEntities(tx);
      next = after(current, report);
    },
    () => stateOf(next ?? checkpoint),
  );
  return { next, report };
}

function after(current: UploadCheckpoint, report: BatchReport): UploadCheckpoint | null {
  const { entityType, warnings } = current.promotion;
  const step = current.step + 1;
  if (!report.isEmpty) {
    const counted = report.warned > 0 ? withWarnings(warnings, report.warned) : warnings;
    return { ...current, step, promotion: { entityType, afterRow: report.lastRow, warnings: counted } };
  }
  const following = entityTypes[entityTypes.indexOf(entityType) + 1];
  if (following === undefined) return null;
  return { ...current, step, promotion: { entityType: following, afterRow: -1, warnings } };
}

async function runBatch(
  tx: Tx,
  upload: Upload,
  batch: BatchTry & { entityType: EntityType; afterRow: number },
): Promise<BatchReport> {
  const { entityType, approach, mayHaveLostParents } = batch;
  const { write } = approach;
  const isUsual = (write === 'insert' || write === 'upsert') && approach.needsParents && !mayHaveLostParents;
  if (entityType === 'daily_metric' && isUsual) return runFacts(tx, upload, { ...batch, write });
  const rows = await listBatch(tx, { ...upload, ...batch, limit: promotionBatchRows });
  const lastRow = rows.at(-1) ?? batch.afterRow;
  if (rows.length === 0) return { isEmpty: true, lastRow, warned: 0 };
  if (write === 'give_up') {
    const reason = { code: 'batch_failed', message: `The batch could not be written: ${approach.reason}` };
    const notes = rows.map((rowIndex) => ({ rowIndex, ...reason }));
    await noteRows(tx, upload, { entityType, as: 'failed', notes });
    return { isEmpty: false, lastRow, warned: 0 };
  }
  const { needsParents } = approach;
  if (!needsParents || mayHaveLostParents) await forgetLostParents(tx, upload);
  const notes: Notes = { failed: [], warned: [] };
  const put = async (some: number[]) => {
    // Notes count only if the rows got through: a half that fails is written again in smaller parts.
    const own: Notes = { failed: [], warned: [] };
    await putRows(tx, upload, { entityType, rows: some, needsParents, notes: own });
    notes.failed.push(...own.failed);
    notes.warned.push(...own.warned);
  };
  if (write === 'isolate') await isolate(tx, rows, { put, needsParents, failed: notes.failed });
  else await put(rows);
  await noteRows(tx, upload, { entityType, as: 'failed', notes: notes.failed });
  await noteRows(tx, upload, { entityType, as: 'warned', notes: notes.warned });
  return { isEmpty: false, lastRow, warned: notes.warned.length };
}

/** Nearly every batch of facts: one statement finds and writes them. */
async function runFacts(
  tx: Tx,
  upload: Upload,
  { afterRow, write }: { afterRow: number; write: FactWriting },
): Promise<BatchReport> {
  const { lastRow, orphans, areFactsKnown } = await putFacts(tx, upload, { afterRow, write });
  if (lastRow === null) return { isEmpty: true, lastRow: afterRow, warned: 0 };
  // Either they find their parents now or the batch is tried again, so there is nothing to note yet.
  if (orphans.length > 0) {
    await putOrphans(tx, upload, { orphans, needsParents: true, notes: { failed: [], warned: [] } });
  }
  return { isEmpty: false, lastRow, warned: 0, areFactsKnown };
}

async function putFacts(
  tx: Tx,
  upload: Upload,
  { afterRow, write }: { afterRow: number; write: FactWriting },
): Promise<MetricsReport & { areFactsKnown: boolean }> {
  const batch = { afterRow, limit: promotionBatchRows };
  if (write === 'insert') {
    const { isNew, ...report } = await insertMetrics(tx, upload, batch);
    if (isNew) return { ...report, areFactsKnown: false };
  }
  return { ...(await upsertMetrics(tx, upload, batch)), areFactsKnown: true };
}

interface Notes {
  failed: RowNote[];
  warned: RowNote[];
}

/** Halves a batch that fails until the bad rows are alone; the good rows are written. */
async function isolate(
  tx: Tx,
  rows: number[],
  by: { put: (rows: number[]) => Promise<void>; needsParents: boolean; failed: RowNote[] },
): Promise<void> {
  try {
    await inSavepoint(tx, () => by.put(rows));
  } catch (error) {
    const mayHelp = retryClassOf(error) !== null && by.needsParents;
    if (!isRowError(error) || mayHelp) throw error;
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) {
      by.failed.push({ rowIndex: only, ...refusalOf(error) });
      return;
    }
    const half = rows.length >> 1;
    await isolate(tx, rows.slice(0, half), by);
    await isolate(tx, rows.slice(half), by);
  }
}

/** Only a name that serves as an id can be too long for an index; for the rest the database's message is given. */
function refusalOf(error: unknown): Omit<RowNote, 'rowIndex'> {
  if ((error as { code?: unknown }).code === '54000') return nameTooLong;
  return { code: 'refused_by_database', message: messageOf(error) };
}

async function putRows(
  tx: Tx,
  upload: Upload,
  put: { entityType: EntityType; rows: number[]; needsParents: boolean; notes: Notes },
): Promise<void> {
  const { entityType: kind, rows: rowIndexes, ...how } = put;
  if (kind !== 'daily_metric') {
    await upsertEntities(tx, upload, { kind, rowIndexes });
    await resolveEntities(tx, upload, { kind, rowIndexes });
    return;
  }
  const { orphans } = await upsertMetrics(tx, upload, { rowIndexes });
  if (orphans.length > 0) await putOrphans(tx, upload, { orphans, ...how });
}

/** Looks up missing parents once more. Facts whose parent is still missing are written without it or refused. */
async function putOrphans(
  tx: Tx,
  upload: Upload,
  { orphans, needsParents, notes }: { orphans: number[]; needsParents: boolean; notes: Notes },
): Promise<void> {
  await adoptParents(tx, upload, orphans);
  const { orphans: left } = await upsertMetrics(tx, upload, { rowIndexes: orphans });
  if (left.length > 0 && needsParents) throw new ParentInFlight(left);
  for (const rowIndex of left) {
    const isWritten = await upsertUnresolvedMetric(tx, upload, rowIndex);
    if (isWritten) notes.warned.push({ rowIndex, ...parentMissing });
    else notes.failed.push({ rowIndex, ...parentMissingCollision });
  }
}

const parentMissing = {
  code: 'parent_missing',
  message: 'The campaign, ad set or ad of this row could not be stored; its figures are stored without it.',
};

const parentMissingCollision = {
  code: 'parent_missing_collision',
  message:
    'The campaign, ad set or ad of this row could not be stored, and without it the row cannot be told apart ' +
    'from another one of the same day.',
};

function withWarnings(warnings: WarningCount[], count: number): WarningCount[] {
  const others = warnings.filter(({ code }) => code !== parentMissing.code);
  const before = warnings.find(({ code }) => code === parentMissing.code)?.count ?? 0;
  return [...others, { ...parentMissing, count: before + count }];
}
