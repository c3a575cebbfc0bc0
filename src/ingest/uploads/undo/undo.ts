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
    not_undone: {
      campaigns: touched.campaigns - deleted.campaigns,
      ad_sets: touched.ad_sets - deleted.ad_sets,
      ads: touched.ads - deleted.ads,
      daily_metrics: touched.daily_metrics - deleted.daily_metrics,
    },
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
  const metrics = { deleted: 0, left: 0 };
  let afterId = 0;
  for (;;) {
    const piece = { ...upload, afterId, limit: undoBatch };
    const { deleted, left, lastId } = await retryOnConflict(() =>
      deps.db.transaction({ role: 'sluice_promote', tenantId }, (tx) => undoMetrics(tx, piece)),
    );
    metrics.deleted += deleted;
    metrics.left += left;
    if (lastId === null) break;
    afterId = lastId;
  }
  return retryOnConflict(() =>
    deps.db.tenant(tenantId, async (tx) => {
      const report = await tx.as('sluice_promote', (own) => endUndo(own, upload, metrics));
      await recordMove(deps, tx, upload, 'undone', { ...report });
      return report;
    }),
  );
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

async function endUndo(
  tx: Tx,
  upload: Upload,
  metrics: { deleted: number; left: number },
): Promise<UndoReport> {
  // This locks the upload's row first: of two undos at once, the second is told that it is done.
  if (!(await markUndone(tx, upload))) throw notUndoable({ ...upload, undoneAt: new Date() });
  const report: UndoReport = {
    deleted: { campaigns: 0, ad_sets: 0, ads: 0, daily_metrics: metrics.deleted },
    not_undone: { campaigns: 0, ad_sets: 0, ads: 0, daily_metrics: metrics.left },
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
