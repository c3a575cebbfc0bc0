import type { Tx } from '../../../lib/postgres/db.ts';
import { inSavepoint } from '../../../lib/postgres/transaction/savepoint.ts';
import { addFigures } from '../reconciliation/stored-sums.ts';
import type { StoredSums } from '../reconciliation/sums-store.ts';
import type { EntityType, FactType } from '../reports/types.ts';
import type { PromotionPhase } from '../staging/checkpoint.ts';
import { sumRepeats } from '../staging/repeats-store.ts';
import { ParentInFlight, retryClassOf } from '../staging/retries.ts';
import type { Upload } from '../types.ts';
import {
  deleteBreakdownsOf,
  deleteStaleBreakdowns,
  listHeadsOf,
  listLinesOf,
  listPromotable,
  upsertBreakdowns,
} from './breakdowns-store.ts';
import { noteRows, type RowNote } from './end-store.ts';
import { dimensionsOf, type FactSelection, hasRepeats } from './facts-store.ts';
import { insertMetrics, type MetricsReport, nothingWritten, upsertMetrics } from './metrics-store.ts';
import type { BatchTry, FactWriting } from './promote.ts';
import {
  batchFailed,
  entityLost,
  insufficientPrivilege,
  isRowError,
  refusalOf,
  stateOf,
} from './refusals.ts';
import { adoptParents, forgetLostParents, listBatch, resolveEntities, upsertEntities } from './store.ts';

export interface BatchReport extends StoredSums {
  isEmpty: boolean;
  lastRow: number;
  breakdowns: number;
  /** Production has some of these facts already, so the batches that follow need not try to insert theirs. */
  areFactsKnown?: boolean;
}

type Batch = BatchTry & { phase: PromotionPhase; afterRow: number };
type FactPhase = FactType | 'breakdown';

const empty = { promoted: null, superseded: null, supersededRows: 0, breakdowns: 0 };

export async function runBatch(tx: Tx, upload: Upload, batch: Batch): Promise<BatchReport> {
  const { phase, approach, mayHaveLostParents } = batch;
  const { write } = approach;
  const isUsual = (write === 'insert' || write === 'upsert') && approach.needsParents && !mayHaveLostParents;
  if (isFacts(phase) && isUsual) return runFacts(tx, upload, { ...batch, phase, write });
  const rows = isFacts(phase)
    ? await listPromotable(tx, upload, { type: phase, afterRow: batch.afterRow, limit: batch.batchRows })
    : await listBatch(tx, { ...upload, entityType: phase, afterRow: batch.afterRow, limit: batch.batchRows });
  const lastRow = rows.at(-1) ?? batch.afterRow;
  if (rows.length === 0) return { ...empty, isEmpty: true, lastRow };
  if (write === 'give_up') {
    await refuse(
      tx,
      upload,
      phase,
      rows.map((rowIndex) => ({ rowIndex, ...batchFailed })),
    );
    return { ...empty, isEmpty: false, lastRow };
  }
  const written = await runCarefully(tx, upload, { ...batch, rows });
  return { ...written, isEmpty: false, lastRow };
}

const isFacts = (phase: PromotionPhase): phase is FactPhase =>
  phase === 'breakdown' || phase === 'daily_metric' || phase === 'period_metric';

/** After a failure: rows that cannot be written are found and refused, and the others are written. */
async function runCarefully(
  tx: Tx,
  upload: Upload,
  { phase, approach, mayHaveLostParents, rows, onRefused }: Batch & { rows: number[] },
): Promise<StoredSums & { breakdowns: number }> {
  const needsParents = approach.write === 'give_up' || approach.needsParents;
  if (!needsParents || mayHaveLostParents) await forgetLostParents(tx, upload);
  const failed: RowNote[] = [];
  let sums: StoredSums & { breakdowns: number } = empty;
  const put = async (some: number[]) => {
    // What was written counts only if the rows got through: a half that fails is written again in smaller parts.
    const own: RowNote[] = [];
    const written = await putRows(tx, upload, { phase, rows: some, needsParents, failed: own });
    failed.push(...own);
    sums = together(sums, written);
  };
  if (approach.write === 'isolate') await isolate(tx, rows, { put, needsParents, failed, onRefused });
  else await put(rows);
  await refuse(tx, upload, phase, failed);
  return sums;
}

function together(
  a: StoredSums & { breakdowns: number },
  b: MetricsReport & { stored?: number },
): StoredSums & { breakdowns: number } {
  return {
    promoted: b.promoted === null ? a.promoted : addFigures(a.promoted, b.promoted),
    superseded: b.superseded === null ? a.superseded : addFigures(a.superseded, b.superseded),
    supersededRows: a.supersededRows + b.supersededRows,
    breakdowns: a.breakdowns + (b.stored ?? 0),
  };
}

/**
 * Notes why rows were refused. A sum stands for all lines of its key, so all of them are refused with it; when a line
 * is refused before, the sum of the others is computed again.
 */
async function refuse(tx: Tx, upload: Upload, phase: PromotionPhase, failed: RowNote[]): Promise<void> {
  if (failed.length === 0) return;
  if (!isFacts(phase)) {
    await noteRows(tx, upload, { entityTypes: [phase], notes: failed });
    return;
  }
  const entityTypes: EntityType[] = ['daily_metric', 'period_metric'];
  const rows = failed.map(({ rowIndex }) => rowIndex);
  if (!hasRepeats(upload)) {
    await noteRows(tx, upload, { entityTypes, notes: failed });
    if (phase !== 'breakdown' && dimensionsOf(upload).length > 0) await deleteBreakdownsOf(tx, upload, rows);
    return;
  }
  if (phase === 'breakdown') {
    await noteRows(tx, upload, { entityTypes, notes: failed });
    const heads = await listHeadsOf(tx, upload, rows);
    if (heads.length > 0) await sumRepeats(tx, upload, { heads });
    return;
  }
  for (const { rowIndex, ...why } of failed) {
    const lines = [...new Set([rowIndex, ...(await listLinesOf(tx, upload, [rowIndex]))])];
    await noteRows(tx, upload, { entityTypes, notes: lines.map((line) => ({ rowIndex: line, ...why })) });
    await deleteBreakdownsOf(tx, upload, lines);
  }
}

/** Nearly every batch of facts: one statement finds and writes them. */
async function runFacts(
  tx: Tx,
  upload: Upload,
  { phase, afterRow, batchRows, write }: Omit<Batch, 'phase'> & { phase: FactPhase; write: FactWriting },
): Promise<BatchReport> {
  const selection = { afterRow, limit: batchRows };
  const { lastRow, orphans, areFactsKnown, stored, ...sums } = await putFacts(tx, upload, {
    phase,
    selection,
    write,
  });
  if (lastRow === null) return { ...empty, isEmpty: true, lastRow: afterRow };
  let written = together(empty, { ...nothingWritten, ...sums, stored });
  // Either they find their parents now or the batch is tried again, so there is nothing to note yet.
  if (orphans.length > 0) {
    const found = await putOrphans(tx, upload, { phase, orphans, needsParents: true, failed: [] });
    written = together(written, found);
  }
  return { ...written, isEmpty: false, lastRow, areFactsKnown };
}

type Written = MetricsReport & { stored?: number; areFactsKnown: boolean };

async function putFacts(
  tx: Tx,
  upload: Upload,
  { phase, selection, write }: { phase: FactPhase; selection: FactSelection; write: FactWriting },
): Promise<Written> {
  if (phase === 'breakdown') {
    return { ...(await upsertBreakdowns(tx, upload, selection)), areFactsKnown: write === 'upsert' };
  }
  if (write === 'insert' && phase === 'daily_metric') {
    const { isNew, ...report } = await insertMetrics(tx, upload, { type: phase, selection });
    if (isNew) return { ...report, areFactsKnown: false };
  }
  const report = await upsertMetrics(tx, upload, { type: phase, selection });
  if (dimensionsOf(upload).length > 0) await deleteStaleBreakdowns(tx, upload, { type: phase, selection });
  return { ...report, areFactsKnown: true };
}

/** Halves a batch that fails until the bad rows are alone; the good rows are written. */
async function isolate(
  tx: Tx,
  rows: number[],
  by: {
    put: (rows: number[]) => Promise<void>;
    needsParents: boolean;
    failed: RowNote[];
    onRefused: BatchTry['onRefused'];
  },
): Promise<void> {
  const closed: unknown[] = [];
  await halve(rows);
  // Every single row was kept out: the table is closed to us, and no file could be promoted.
  if (closed.length === rows.length) throw closed[0];

  async function halve(some: number[]): Promise<void> {
    try {
      await inSavepoint(tx, () => by.put(some));
    } catch (error) {
      const mayHelp = retryClassOf(error) !== null && by.needsParents;
      if (!isRowError(error) || mayHelp) throw error;
      const [only] = some;
      if (some.length === 1 && only !== undefined) {
        if (stateOf(error) === insufficientPrivilege) closed.push(error);
        by.onRefused(error, only);
        by.failed.push({ rowIndex: only, ...refusalOf(error) });
        return;
      }
      const half = some.length >> 1;
      await halve(some.slice(0, half));
      await halve(some.slice(half));
    }
  }
}

interface Put {
  phase: PromotionPhase;
  rows: number[];
  needsParents: boolean;
  failed: RowNote[];
}

async function putRows(tx: Tx, upload: Upload, put: Put): Promise<MetricsReport & { stored?: number }> {
  const { phase, rows: rowIndexes, ...how } = put;
  if (!isFacts(phase)) {
    await upsertEntities(tx, upload, { kind: phase, rowIndexes });
    await resolveEntities(tx, upload, { kind: phase, rowIndexes });
    return nothingWritten;
  }
  const report = await putFacts(tx, upload, { phase, selection: { rowIndexes }, write: 'upsert' });
  const { orphans } = report;
  if (orphans.length === 0) return report;
  const found = await putOrphans(tx, upload, { phase, orphans, ...how });
  return { ...nothingWritten, ...together(together(empty, report), found) };
}

/** Looks up missing parents once more. Facts whose parent is still missing are refused. */
async function putOrphans(
  tx: Tx,
  upload: Upload,
  {
    phase,
    orphans,
    needsParents,
    failed,
  }: Omit<Put, 'rows' | 'phase'> & { phase: FactPhase; orphans: number[] },
): Promise<MetricsReport & { stored?: number }> {
  await adoptParents(tx, upload, orphans);
  const report = await putFacts(tx, upload, { phase, selection: { rowIndexes: orphans }, write: 'upsert' });
  if (report.orphans.length > 0 && needsParents) throw new ParentInFlight(report.orphans);
  failed.push(...report.orphans.map((rowIndex) => ({ rowIndex, ...entityLost })));
  return report;
}
