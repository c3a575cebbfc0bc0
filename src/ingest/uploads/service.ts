import { unparkJob } from '../../kernel/jobs/shared/shared-store.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import type { Database, DatabaseRole, Tx } from '../../lib/postgres/db.ts';
import { uploadErrors } from './errors.ts';
import { recordMove } from './events.ts';
import { replaceMapping } from './intake/mapping-store.ts';
import type { UploadMetrics } from './metrics.ts';
import { endPromotion } from './promotion/end-promotion.ts';
import type { DateRange, HeaderMapping } from './reports/types.ts';
import { checkpointOf } from './staging/checkpoint.ts';
import { releaseSlot } from './staging/slots.ts';
import { deleteStagingOf, listExpiredStaging } from './staging/store.ts';
import { type AbandonedUpload, findUpload, listAbandoned, moveUpload, saveDecision } from './store.ts';
import type { OwnedUploadKey, Upload, UploadKey } from './types.ts';

export interface UploadServiceDeps {
  db: Database;
  wake: WakeUp;
}

export function getUpload({ db }: Pick<UploadServiceDeps, 'db'>, key: OwnedUploadKey): Promise<Upload> {
  return db.tenant(key.tenantId, (tx) => getUploadIn(tx, key));
}

export async function getUploadIn(tx: Tx, key: OwnedUploadKey): Promise<Upload> {
  const upload = await findUpload(tx, key);
  if (upload) return upload;
  throw uploadErrors.raise.upload_not_found(`There is no upload ${key.uploadId}`);
}

/** Ends the review of a held upload: its job continues and promotes it with what the reviewer decided. */
export function releaseForPromotion(
  deps: UploadServiceDeps,
  key: OwnedUploadKey,
  decision: {
    mapping?: HeaderMapping | undefined;
    forcePartial?: boolean | undefined;
    range?: DateRange | undefined;
  },
): Promise<Upload> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await getUploadIn(tx, key);
    const decides = decision.mapping !== undefined || decision.range !== undefined;
    if (upload.blockers.length > 0 && !decides && upload.status === 'staging_complete') throw blocked(upload);
    const saved = await tx.as('sluice_intake', (own) =>
      saveDecision(own, upload, { ...decision, review: false }),
    );
    if (!saved) throw notHeld(upload);
    await unparkJob(tx, upload);
    tx.afterCommit(() => deps.wake.announce('jobs'));
    return getUploadIn(tx, key);
  });
}

/** Changes the mapping of a held upload: the file is read again, and the upload stays held. */
export function remap(
  deps: UploadServiceDeps,
  key: OwnedUploadKey,
  { mapping, range }: { mapping?: HeaderMapping | undefined; range?: DateRange | undefined },
): Promise<Upload> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await getUploadIn(tx, key);
    const isSaved = await tx.as('sluice_intake', (own) =>
      saveDecision(own, upload, { mapping, range, review: true }),
    );
    if (!isSaved) throw notHeld(upload);
    const saved = await getUploadIn(tx, key);
    if (saved.mappingVersion === upload.mappingVersion) return saved;
    await recordMove(deps, tx, saved, 'remapped', { mapping: saved.mapping });
    await unparkJob(tx, saved);
    tx.afterCommit(() => deps.wake.announce('jobs'));
    return saved;
  });
}

function blocked({ uploadId, blockers }: Upload): Error {
  return uploadErrors.raise.upload_blocked(
    `Upload ${uploadId} cannot be promoted yet: ${blockers.map(({ message }) => message).join(' ')}`,
    { details: { blockers } },
  );
}

export function notHeld({ uploadId, status, review }: Upload): Error {
  const state = review ? `${status} (will be held for review)` : status;
  return uploadErrors.raise.upload_state_conflict(
    `Upload ${uploadId} is ${state}; only one held for review (staging_complete) can be mapped, corrected or promoted`,
    { details: { status } },
  );
}

/** Replaces what the columns of a platform's reports are mapped to in later uploads. */
export function saveMapping(
  { db }: Pick<UploadServiceDeps, 'db'>,
  given: Pick<Upload, 'tenantId' | 'platform' | 'mapping' | 'userId'>,
): Promise<void> {
  return db.tenant(given.tenantId, (tx) => replaceMapping(tx, given));
}

const purgeBatch = 10_000;

/** For upkeep: deletes old staged rows. Uploads that still wait for a reviewer fail with them. */
export async function purgeStaging(
  deps: UploadServiceDeps,
  { days }: { days: number },
): Promise<{ removed: number; expired: number }> {
  const report = { removed: 0, expired: 0 };
  const old = await deps.db.kernel((tx) => listExpiredStaging(tx, { days, limit: 100 }));
  for (const { isFinished, ...key } of old) {
    if (!isFinished) {
      const removed = await expire(deps, key);
      // A reviewer has decided since the list was read.
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

/** Returns how many staged rows were deleted with it; null when it no longer waits. */
function expire(deps: UploadServiceDeps, key: UploadKey): Promise<number | null> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const upload = await findUpload(tx, key);
    if (!upload) return null;
    const errorText = 'The upload was held for review until its staged rows expired; upload the file again.';
    const reason = { errorCode: 'staging_expired', errorText, ifHeld: true };
    if (!(await failUpload(deps, tx, upload, reason))) return null;
    await unparkJob(tx, upload);
    // In the same transaction: no upload may wait for a decision with only a part of its rows.
    return tx.as('sluice_cleanup', (own) => deleteStagingOf(own, key, purgeBatch));
  });
}

/** Fails an upload that has promoted nothing, with its event. Returns false when its state does not allow it. */
export async function failUpload(
  deps: { wake: WakeUp },
  tx: Tx,
  upload: Upload,
  reason: { errorCode: string; errorText: string; ifHeld?: boolean; role?: DatabaseRole },
): Promise<boolean> {
  const { errorCode, errorText, role = 'sluice_intake' } = reason;
  const isMoved = await tx.as(role, (own) => moveUpload(own, upload, 'failed', reason));
  if (isMoved) await recordMove(deps, tx, upload, 'failed', { error_code: errorCode, error_text: errorText });
  return isMoved;
}

/** For upkeep: fails uploads whose job became a dead letter after crashes, because the job could not do it. */
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

/** Runs all of them, one after the other, even if one fails. Throws the first error at the end. */
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
  await failUpload(deps, tx, upload, details);
}
