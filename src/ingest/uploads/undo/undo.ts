import type { Tx } from '../../../lib/postgres/db.ts';
import { uploadErrors } from '../errors.ts';
import { recordMove } from '../events.ts';
import { getUpload, type UploadServiceDeps } from '../service.ts';
import { retryClassOf } from '../staging/retries.ts';
import type { OwnedUploadKey, Upload } from '../types.ts';
import {
  countLeft,
  deleteCreated,
  type EntityCounts,
  estimateUndo,
  type FigureTable,
  figureTables,
  markUndone,
  releaseEntities,
  undoMetrics,
} from './store.ts';

export interface UndoReport {
  deleted: EntityCounts;
  /** What the upload touched and undo leaves: it only updated these rows, or others confirmed or changed them. */
  not_undone: EntityCounts;
}

/** What `undo` would return now. */
export async function previewUndo(
  deps: Pick<UploadServiceDeps, 'db'>,
  key: OwnedUploadKey,
): Promise<UndoReport> {
  const upload = await getUpload(deps, key);
  assertUndoable(upload);
  const { deleted, touched } = await deps.db.tenant(upload.tenantId, (tx) => estimateUndo(tx, upload));
  return {
    deleted,
    not_undone: Object.fromEntries(
      Object.entries(touched).map(([table, count]) => [table, count - deleted[table as keyof EntityCounts]]),
    ) as EntityCounts,
  };
}

const undoBatch = 20_000;

/**
 * Deletes what the upload created and no other upload stated or changed. Rows that others only confirmed are deleted
 * when the last of them is undone. Metrics are deleted first, in pieces: an interrupted undo can be repeated and goes
 * on from there. The upload keeps its status and records when it was undone.
 */
export async function undo(deps: UploadServiceDeps, key: OwnedUploadKey): Promise<UndoReport> {
  const upload = await getUpload(deps, key);
  assertUndoable(upload);
  const { tenantId } = upload;
  const figures: FigureReport = { deleted: { ...noFigures }, left: { ...noFigures } };
  for (const from of Object.keys(figureTables) as FigureTable[]) {
    await undoFigures(deps, upload, { from, figures });
  }
  return retryOnConflict(() =>
    deps.db.tenant(tenantId, async (tx) => {
      const report = await tx.as('sluice_promote', (own) => endUndo(own, upload, figures));
      await recordMove(deps, tx, upload, 'undone', { ...report });
      return report;
    }),
  );
}

interface FigureReport {
  deleted: Record<FigureTable, number>;
  left: Record<FigureTable, number>;
}

const noFigures: Record<FigureTable, number> = { daily_metrics: 0, period_metrics: 0, metric_breakdowns: 0 };

async function undoFigures(
  { db }: Pick<UploadServiceDeps, 'db'>,
  upload: Upload,
  { from, figures }: { from: FigureTable; figures: FigureReport },
): Promise<void> {
  let afterId = 0;
  for (;;) {
    const piece = { ...upload, from, afterId, limit: undoBatch };
    const { deleted, left, lastId } = await retryOnConflict(() =>
      db.transaction({ role: 'sluice_promote', tenantId: upload.tenantId }, (tx) => undoMetrics(tx, piece)),
    );
    figures.deleted[from] += deleted;
    figures.left[from] += left;
    if (lastId === null) return;
    afterId = lastId;
  }
}

const undoTries = 4;

/**
 * A promotion at the same moment may deadlock with an undo, or add a row to a parent that undo is about to delete. The
 * transaction is rolled back then; the next try finds the row and keeps its parent.
 */
async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      const retryClass = retryClassOf(error);
      if (retryClass === null || retryClass === 'connection' || tried >= undoTries) throw error;
    }
  }
}

async function endUndo(tx: Tx, upload: Upload, figures: FigureReport): Promise<UndoReport> {
  // This locks the upload's row first: of two undos at once, the second is told that it is done.
  if (!(await markUndone(tx, upload))) throw notUndoable({ ...upload, undoneAt: new Date() });
  const report: UndoReport = {
    deleted: { campaigns: 0, ad_sets: 0, ads: 0, ...figures.deleted },
    not_undone: { campaigns: 0, ad_sets: 0, ads: 0, ...figures.left },
  };
  for (const kind of ['ad', 'ad_set', 'campaign'] as const) {
    report.deleted[`${kind}s`] = await deleteCreated(tx, upload, kind);
    report.not_undone[`${kind}s`] = await countLeft(tx, upload, kind);
    await releaseEntities(tx, upload, kind);
  }
  return report;
}

function assertUndoable(upload: Upload): void {
  const isPromoted = upload.status === 'completed' || upload.status === 'partial';
  if (!isPromoted || upload.undoneAt !== null) throw notUndoable(upload);
}

function notUndoable({ uploadId, status, undoneAt }: Upload): Error {
  const why = undoneAt === null ? `is ${status}` : 'was undone already';
  return uploadErrors.raise.upload_state_conflict(
    `Upload ${uploadId} ${why}; only completed and partial uploads can be undone, once`,
    { details: { status } },
  );
}
