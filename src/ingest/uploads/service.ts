import { unparkJob } from '../../kernel/jobs/shared-store.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { uploadErrors } from './errors.ts';
import { recordMove } from './events.ts';
import type { UploadMetrics } from './metrics.ts';
import { endPromotion } from './promotion/end-promotion.ts';
import type { HeaderMapping } from './reports/types.ts';
import { checkpointOf } from './staging/checkpoint.ts';
import { retryClassOf } from './staging/retrying.ts';
import { releaseSlot } from './staging/slots.ts';
import { deleteStagingOf, listExpiredStaging } from './staging/store.ts';
import {
  type AbandonedUpload,
  expireHeld,
  findUpload,
  listAbandoned,
  moveUpload,
  saveDecision,
  saveMapping,
} from './store.ts';
import type { OwnedUploadKey, Upload, UploadKey } from './types.ts';
import {
  countLeft,
  deleteCreatedAdSets,
  deleteCreatedAds,
  deleteCreatedCampaigns,
  markUndone,
  releaseEntities,
  undoMetrics,
} from './undo/store.ts';

export interface UploadServiceDeps {
  db: Database;
  wake: WakeUp;
}

export function getUpload({ db }: Pick<UploadServiceDeps, 'db'>, key: OwnedUploadKey): Promise<Upload> {
  return db.tenant(key.tenantId, (tx) => getUploadIn(tx, key));
}

async function getUploadIn(tx: Tx, key: OwnedUploadKey): Promise<Upload> {
  const upload = await findUpload(tx, key);
  if (upload) return upload;
  throw uploadErrors.raise.upload_not_found(`There is no upload ${key.uploadId}`);
}

/** Lets an upload that was held for review go on, with what the reviewer decided. */
export function promote(
  deps: UploadServiceDeps,
  key: OwnedUploadKey,
  decision: { mapping?: HeaderMapping | undefined; forcePartial?: boolean | undefined },
): Promise<Upload> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await getUploadIn(tx, key);
    const saved = await tx.as('sluice_intake', (own) => saveDecision(own, upload, decision));
    if (!saved) throw notHeld(upload);
    await unparkJob(tx, upload);
    tx.afterCommit(() => deps.wake.announce('jobs'));
    return getUploadIn(tx, key);
  });
}

/** Another mapping for an upload that is held: the file is read again with it, and the upload stays held. */
export function remap(deps: UploadServiceDeps, key: OwnedUploadKey, mapping: HeaderMapping): Promise<Upload> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await getUploadIn(tx, key);
    if (!(await tx.as('sluice_intake', (own) => saveMapping(own, upload, mapping)))) throw notHeld(upload);
    const saved = await getUploadIn(tx, key);
    if (saved.mappingVersion === upload.mappingVersion) return saved;
    await recordMove(deps, tx, saved, 'remapped', { mapping });
    await unparkJob(tx, saved);
    tx.afterCommit(() => deps.wake.announce('jobs'));
    return saved;
  });
}

function notHeld({ uploadId, status, review }: Upload): Error {
  const state = review ? `${status} (to be held for review)` : status;
  return uploadErrors.raise.upload_state_conflict(
    `Upload ${uploadId} is ${state}; only one that is held for review in staging_complete can be mapped or promoted`,
    { details: { status } },
  );
}

export interface UndoReport {
  deleted: { campaigns: number; ad_sets: number; ads: number; daily_metrics: number };
  /** What the upload touched and which stays: it updated these rows, or another upload confirmed or changed them. */
  not_undone: { campaigns: number; ad_sets: number; ads: number; daily_metrics: number };
}

const undoBatch = 20_000;

/**
 * Deletes what the upload created and nobody else stated or changed; what others only confirmed goes when the last of
 * them is undone. Metrics go first and in pieces: an undo that was interrupted is asked for again and goes on. The
 * record keeps its status and says when.
 */
export async function undo(deps: UploadServiceDeps, key: OwnedUploadKey): Promise<UndoReport> {
  const upload = await getUpload(deps, key);
  assertUndoable(upload);
  const metrics = { deleted: 0, left: 0 };
  let afterId = 0;
  for (;;) {
    const piece = { ...upload, afterId, limit: undoBatch };
    const { deleted, left, lastId } = await unlessInTheWay(() =>
      asPromoter(deps, upload, (tx) => undoMetrics(tx, piece)),
    );
    metrics.deleted += deleted;
    metrics.left += left;
    if (lastId === null) break;
    afterId = lastId;
  }
  return unlessInTheWay(() =>
    deps.db.tenant(upload.tenantId, async (tx) => {
      const report = await tx.as('sluice_promote', (own) => endUndo(own, upload, metrics));
      await recordMove(deps, tx, upload, 'undone', { ...report });
      return report;
    }),
  );
}

const undoTries = 4;

/**
 * A promotion at the same moment may deadlock with an undo, or hang a row on a parent that undo is about to delete.
 * Nothing of the transaction was kept then, and the next look finds the row and leaves its parent.
 */
async function unlessInTheWay<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      const retryClass = retryClassOf(error);
      if (retryClass === null || retryClass === 'connection' || tried >= undoTries) throw error;
    }
  }
}

function asPromoter<T>(
  { db }: UploadServiceDeps,
  { tenantId }: UploadKey,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return db.transaction({ role: 'sluice_promote', tenantId }, work);
}

async function endUndo(
  tx: Tx,
  upload: Upload,
  metrics: { deleted: number; left: number },
): Promise<UndoReport> {
  // The record's row is locked first: of two that undo at once, one is told that it is done.
  if (!(await markUndone(tx, upload))) throw notUndoable({ ...upload, undoneAt: new Date() });
  const ads = await deleteCreatedAds(tx, upload);
  const adSets = await deleteCreatedAdSets(tx, upload);
  const campaigns = await deleteCreatedCampaigns(tx, upload);
  const left = await countLeft(tx, upload);
  await releaseEntities(tx, upload);
  return {
    deleted: { campaigns, ad_sets: adSets, ads, daily_metrics: metrics.deleted },
    not_undone: {
      campaigns: left.campaigns,
      ad_sets: left.adSets,
      ads: left.ads,
      daily_metrics: metrics.left,
    },
  };
}

export function assertUndoable(upload: Upload): void {
  if (!['completed', 'partial'].includes(upload.status) || upload.undoneAt !== null)
    throw notUndoable(upload);
}

function notUndoable({ uploadId, status, undoneAt }: Upload): Error {
  const why = undoneAt === null ? `is ${status}` : 'was undone before';
  return uploadErrors.raise.upload_state_conflict(
    `Upload ${uploadId} ${why}; only completed and partial uploads can be undone, once`,
    { details: { status } },
  );
}

const purgeBatch = 10_000;

/** For upkeep: staged rows are kept for some days. What still waits for a reviewer then ends with them. */
export async function purgeStaging(
  deps: UploadServiceDeps,
  { days }: { days: number },
): Promise<{ removed: number; expired: number }> {
  const report = { removed: 0, expired: 0 };
  const old = await deps.db.kernel((tx) => listExpiredStaging(tx, { days, limit: 100 }));
  for (const { isFinished, ...key } of old) {
    if (!isFinished) {
      const removed = await expire(deps, key);
      // Somebody has decided since the look.
      if (removed === null) continue;
      report.expired += 1;
      report.removed += removed;
    }
    for (;;) {
      const removed = await deps.db.transaction({ role: 'sluice_cleanup', tenantId: key.tenantId }, (tx) =>
        deleteStagingOf(tx, key, purgeBatch),
      );
      report.removed += removed;
      if (removed === 0) break;
    }
  }
  return report;
}

/** Answers how many staged rows went with it; null when it does not wait any more. */
function expire(deps: UploadServiceDeps, key: UploadKey): Promise<number | null> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await findUpload(tx, key);
    if (!upload) return null;
    const errorText = 'The upload was held for review until its staged rows expired; upload the file again.';
    const details = { errorCode: 'staging_expired', errorText };
    if (!(await tx.as('sluice_intake', (own) => expireHeld(own, upload, details)))) return null;
    await recordMove(deps, tx, upload, 'failed', { error_code: 'staging_expired', error_text: errorText });
    await unparkJob(tx, upload);
    // No upload ever has lost rows and still waits for a decision.
    return tx.as('sluice_cleanup', (own) => deleteStagingOf(own, key, purgeBatch));
  });
}

/** For upkeep: a job that was given up after crashes cannot tell its upload; this does. */
export async function failAbandoned(
  deps: UploadServiceDeps & { metrics: UploadMetrics },
): Promise<{ failed: number }> {
  const abandoned = await deps.db.kernel((tx) => listAbandoned(tx, 100));
  const ends = abandoned.map(
    (one) => () =>
      deps.db.tenant(one.tenantId, async (tx) => {
        const upload = await findUpload(tx, one);
        if (upload) await failOne(deps, tx, upload, one);
      }),
  );
  await runAll(ends);
  return { failed: abandoned.length };
}

/** One after the other; one that fails keeps no other from its turn. The first error is thrown in the end. */
async function runAll(works: (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const work of works) await work().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

async function failOne(
  deps: UploadServiceDeps & { metrics: UploadMetrics },
  tx: Tx,
  upload: Upload,
  { errorMessage, checkpoint }: AbandonedUpload,
): Promise<void> {
  const details = { errorCode: 'upload_abandoned', errorText: errorMessage };
  await releaseSlot(deps, tx, upload);
  if (upload.status === 'promoting') {
    await endPromotion(deps, tx, upload, checkpointOf(checkpoint), details);
    return;
  }
  const moved = await tx.as('sluice_intake', (own) => moveUpload(own, upload, 'failed', details));
  const data = { error_code: details.errorCode, error_text: errorMessage };
  if (moved) await recordMove(deps, tx, upload, 'failed', data);
}
