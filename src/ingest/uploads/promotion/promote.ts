import type { Job, Slice } from '../../../kernel/jobs/types.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { inSavepoint } from '../../../lib/postgres/savepoint.ts';
import { nameTooLong } from '../reports/lines/name-keys.ts';
import { type EntityType, entityTypes } from '../reports/types.ts';
import { checkpointOf, stateOf, type UploadCheckpoint } from '../staging/checkpoint.ts';
import {
  ParentInFlight,
  RetriesExhausted,
  type RetryClass,
  type Retrying,
  retryClassOf,
  retrying,
} from '../staging/retrying.ts';
import { isWorthStatistics, promotionBatchRows, type Upload, type WarningCount } from '../types.ts';
import { forgetLostParents, markFailed, markWarned, type RowNote } from './end-store.ts';
import {
  adoptParents,
  byHash,
  insertMetrics,
  type MetricsReport,
  upsertMetrics,
  upsertUnresolvedMetric,
} from './metrics-store.ts';
import {
  analyzeEntities,
  listBatch,
  resolveAdSets,
  resolveAds,
  resolveCampaigns,
  upsertAdSets,
  upsertAds,
  upsertCampaigns,
} from './store.ts';

export interface PromoteOptions {
  /** The slice ends at the first good place after this. */
  deadlineMs: number;
  retries: Retrying;
}

/** How a batch is gone about: set-based at first, row by row where that fails, given up where nothing helps. */
interface Manner {
  /** Isolate bad rows by halves. */
  isolate: boolean;
  /** Take facts whose parent is missing, with NULL in its place. */
  withoutParents: boolean;
  /** Parents that were there and were deleted since (by an undo) are looked for anew. */
  forgetsLost: boolean;
  /** Rows whose batch is given up, with the reason. */
  giveUp: string | null;
  /** Insert facts without looking for conflicts, as long as there are none. */
  areFactsNew: boolean;
}

type Novelty = Pick<Manner, 'areFactsNew'>;

interface BatchReport {
  isEmpty: boolean;
  lastRow: number;
  warned: number;
}

/** Promotes batch after batch, campaigns first and facts last. True when nothing is left. */
export async function promoteOn(slice: Slice, upload: Upload, options: PromoteOptions): Promise<boolean> {
  let checkpoint = checkpointOf(slice.job.checkpoint);
  // What one batch met the following ones will meet too; every slice tries anew.
  const novelty = { areFactsNew: true };
  for (;;) {
    const next = await promoteBatch(slice, upload, { checkpoint, novelty, ...options });
    if (next === null) return true;
    checkpoint = next;
    if (performance.now() >= options.deadlineMs || slice.shouldYield()) return false;
  }
}

async function promoteBatch(
  slice: Slice,
  upload: Upload,
  { checkpoint, retries, novelty }: PromoteOptions & { checkpoint: UploadCheckpoint; novelty: Novelty },
): Promise<UploadCheckpoint | null> {
  const manner: Manner = {
    isolate: false,
    withoutParents: false,
    forgetsLost: false,
    giveUp: null,
    ...novelty,
  };
  const run = (failed: Record<RetryClass, number>) => {
    manner.forgetsLost = manner.withoutParents || failed.parent_in_flight > 0;
    return tryBatch(slice, upload, checkpoint, manner);
  };
  for (;;) {
    try {
      return await retrying(run, retries);
    } catch (error) {
      changeManner(manner, error);
    } finally {
      novelty.areFactsNew = manner.areFactsNew;
    }
  }
}

/** What to do differently after this error; thrown on when there is nothing. */
function changeManner(manner: Manner, error: unknown): void {
  if (error instanceof RetriesExhausted) {
    if (error.retryClass === 'parent_in_flight' && !manner.withoutParents) manner.withoutParents = true;
    else if (error.retryClass === 'parent_in_flight' && !manner.isolate) manner.isolate = true;
    else if (error.retryClass === 'deadlock' && manner.giveUp === null)
      manner.giveUp = messageOf(error.cause);
    else throw error;
  } else if (isRowError(error) && manner.areFactsNew) manner.areFactsNew = false;
  else if (isRowError(error) && !manner.isolate) manner.isolate = true;
  else throw error;
}

/** A value, a constraint or a limit: some row is at fault, and the others need not suffer for it. */
function isRowError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^(22|23|54)[0-9A-Z]{3}$/.test(code);
}

/** One transaction. Answers the checkpoint behind it, or null when there was nothing left to do. */
async function tryBatch(
  slice: Slice,
  upload: Upload,
  checkpoint: UploadCheckpoint,
  manner: Manner,
): Promise<UploadCheckpoint | null> {
  let next: UploadCheckpoint | null = null;
  await slice.transaction(
    async (tx: Tx, job: Job) => {
      const current = checkpointOf(job.checkpoint);
      // The answer to an earlier COMMIT of this very batch was lost, but it took effect.
      if (current.step > checkpoint.step) {
        next = current;
        return;
      }
      const { entityType, afterRow } = current.promotion;
      const report = await tx.as(
        'sluice_promote',
        (own) => runBatch(own, upload, { entityType, afterRow, manner }),
        entityType === 'daily_metric' ? byHash : {},
      );
      if (report.isEmpty && entityType === 'ad' && isWorthStatistics(upload)) await analyzeEntities(tx);
      next = after(current, report);
    },
    () => stateOf(next ?? checkpoint),
  );
  return next;
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
  batch: { entityType: EntityType; afterRow: number; manner: Manner },
): Promise<BatchReport> {
  const { entityType, manner } = batch;
  if (entityType === 'daily_metric' && isOrdinary(manner)) return runFacts(tx, upload, batch);
  const rows = await listBatch(tx, { ...upload, ...batch, limit: promotionBatchRows });
  const lastRow = rows.at(-1) ?? batch.afterRow;
  if (rows.length === 0) return { isEmpty: true, lastRow, warned: 0 };
  if (manner.giveUp !== null) {
    const reason = { code: 'batch_failed', message: `The batch could not be written: ${manner.giveUp}` };
    await markFailed(
      tx,
      upload,
      entityType,
      rows.map((rowIndex) => ({ rowIndex, ...reason })),
    );
    return { isEmpty: false, lastRow, warned: 0 };
  }
  if (manner.forgetsLost) await forgetLostParents(tx, upload);
  const notes: Notes = { failed: [], warned: [] };
  const put = async (some: number[]) => {
    // What is noted on the way counts only if the rows got through: a half that fails is put again in pieces.
    const own: Notes = { failed: [], warned: [] };
    await putRows(tx, upload, { entityType, rows: some, manner, notes: own });
    notes.failed.push(...own.failed);
    notes.warned.push(...own.warned);
  };
  if (manner.isolate) await isolate(tx, rows, { put, manner, failed: notes.failed });
  else await put(rows);
  if (notes.failed.length > 0) await markFailed(tx, upload, entityType, notes.failed);
  if (notes.warned.length > 0) await markWarned(tx, upload, entityType, notes.warned);
  return { isEmpty: false, lastRow, warned: notes.warned.length };
}

function isOrdinary({ isolate, withoutParents, forgetsLost, giveUp }: Manner): boolean {
  return !isolate && !withoutParents && !forgetsLost && giveUp === null;
}

/** Nearly every batch of facts: they are found and written by one statement. */
async function runFacts(
  tx: Tx,
  upload: Upload,
  { afterRow, manner }: { afterRow: number; manner: Manner },
): Promise<BatchReport> {
  const { lastRow, orphans } = await putFacts(tx, upload, { afterRow, manner });
  if (lastRow === null) return { isEmpty: true, lastRow: afterRow, warned: 0 };
  // Either they find their parents now or the batch is tried again: there is nothing to note yet.
  if (orphans.length > 0) {
    await putOrphans(tx, upload, { orphans, manner, notes: { failed: [], warned: [] } });
  }
  return { isEmpty: false, lastRow, warned: 0 };
}

async function putFacts(
  tx: Tx,
  upload: Upload,
  { afterRow, manner }: { afterRow: number; manner: Manner },
): Promise<MetricsReport> {
  const batch = { afterRow, limit: promotionBatchRows };
  if (manner.areFactsNew) {
    const { isNew, ...report } = await insertMetrics(tx, upload, batch);
    if (isNew) return report;
    manner.areFactsNew = false;
  }
  return upsertMetrics(tx, upload, batch);
}

interface Notes {
  failed: RowNote[];
  warned: RowNote[];
}

/** Halves a batch that fails until the bad rows are alone; what is good goes through. */
async function isolate(
  tx: Tx,
  rows: number[],
  by: { put: (rows: number[]) => Promise<void>; manner: Manner; failed: RowNote[] },
): Promise<void> {
  try {
    await inSavepoint(tx, () => by.put(rows));
  } catch (error) {
    const mayHelp = retryClassOf(error) !== null && !by.manner.withoutParents;
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

/** What is too long for an index is a name that stands for an id; everything else is told in the database's words. */
function refusalOf(error: unknown): Omit<RowNote, 'rowIndex'> {
  if ((error as { code?: unknown }).code === '54000') return nameTooLong;
  return { code: 'refused_by_database', message: messageOf(error) };
}

async function putRows(
  tx: Tx,
  upload: Upload,
  {
    entityType,
    rows,
    manner,
    notes,
  }: { entityType: EntityType; rows: number[]; manner: Manner; notes: Notes },
): Promise<void> {
  switch (entityType) {
    case 'campaign':
      await upsertCampaigns(tx, upload, rows);
      return resolveCampaigns(tx, upload, rows);
    case 'ad_set':
      await upsertAdSets(tx, upload, rows);
      return resolveAdSets(tx, upload, rows);
    case 'ad':
      await upsertAds(tx, upload, rows);
      return resolveAds(tx, upload, rows);
    case 'daily_metric': {
      const { orphans } = await upsertMetrics(tx, upload, { rowIndexes: rows });
      if (orphans.length > 0) await putOrphans(tx, upload, { orphans, manner, notes });
    }
  }
}

/** Facts without a parent: looked for once more, and in the end taken without it or refused. */
async function putOrphans(
  tx: Tx,
  upload: Upload,
  { orphans, manner, notes }: { orphans: number[]; manner: Manner; notes: Notes },
): Promise<void> {
  await adoptParents(tx, upload, orphans);
  const { orphans: left } = await upsertMetrics(tx, upload, { rowIndexes: orphans });
  if (left.length > 0 && !manner.withoutParents) throw new ParentInFlight(left);
  for (const rowIndex of left) {
    if (await upsertUnresolvedMetric(tx, upload, rowIndex)) {
      notes.warned.push({ rowIndex, ...parentMissing });
    } else {
      notes.failed.push({
        rowIndex,
        code: 'parent_missing_collision',
        message:
          'The campaign, ad set or ad of this row could not be stored, and without it the row could not be told ' +
          'from another one of the same day.',
      });
    }
  }
}

const parentMissing = {
  code: 'parent_missing',
  message: 'The campaign, ad set or ad of this row could not be stored; its figures stand without it.',
};

function withWarnings(warnings: WarningCount[], count: number): WarningCount[] {
  const others = warnings.filter(({ code }) => code !== parentMissing.code);
  const before = warnings.find(({ code }) => code === parentMissing.code)?.count ?? 0;
  return [...others, { ...parentMissing, count: before + count }];
}
