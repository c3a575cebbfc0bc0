import { listCorrections } from '../corrections/correction-store.ts';
import { maxCorrections } from '../corrections/types.ts';
import { uploadErrors } from '../errors.ts';
import { getUpload, type UploadServiceDeps } from '../service.ts';
import { adviceOn, type ProblemAdvice } from '../staging/problem-advice.ts';
import { isEnough } from '../staging/threshold.ts';
import { isBeingChecked, type OwnedUploadKey, type Upload, validPercentNeeded } from '../types.ts';
import { type PreviewCounts, previewEntities, previewMetrics } from './preview-store.ts';
import { countRefused, listProblemGroups } from './problem-store.ts';
import { type ShownReconciliation, showReconciliation } from './reconciliation-view.ts';

type ReadDeps = Pick<UploadServiceDeps, 'db'>;

export interface UploadPreview {
  campaigns: PreviewCounts;
  ad_sets: PreviewCounts;
  ads: PreviewCounts;
  daily_metrics: PreviewCounts;
  period_metrics: PreviewCounts;
  threshold: { total_rows: number; valid_rows: number; percent_needed: number; is_met: boolean };
}

/** What promoting the staged rows would create, update and leave unchanged; for an upload held for review. */
export async function preview(deps: ReadDeps, key: OwnedUploadKey): Promise<UploadPreview> {
  const upload = await getUpload(deps, key);
  if (upload.status !== 'staging_complete' || isBeingChecked(upload)) throw notStaged(upload);
  const { totalRows, validRows } = upload;
  return deps.db.tenant(upload.tenantId, async (tx) => ({
    campaigns: await previewEntities(tx, upload, 'campaign'),
    ad_sets: await previewEntities(tx, upload, 'ad_set'),
    ads: await previewEntities(tx, upload, 'ad'),
    daily_metrics: await previewMetrics(tx, upload, 'daily_metric'),
    period_metrics: await previewMetrics(tx, upload, 'period_metric'),
    threshold: {
      total_rows: totalRows,
      valid_rows: validRows,
      percent_needed: validPercentNeeded,
      is_met: validRows > 0 && isEnough({ totalRows, validRows }),
    },
  }));
}

/** How the sums of an upload add up. Before promotion, nothing is said about what was promoted. */
export async function getReconciliation(deps: ReadDeps, key: OwnedUploadKey): Promise<ShownReconciliation> {
  const upload = await getUpload(deps, key);
  const { uploadId, status, reconciliation } = upload;
  if (reconciliation !== null) {
    const corrections = await deps.db.tenant(upload.tenantId, (tx) =>
      listCorrections(tx, { ...upload, limit: maxCorrections }),
    );
    return showReconciliation(upload, reconciliation, corrections);
  }
  throw uploadErrors.raise.upload_state_conflict(
    `Upload ${uploadId} is ${status} and its lines have not been added up; ` +
      'an upload reconciles once its file was read (staging_complete and later)',
    { details: { status } },
  );
}

function notStaged(upload: Upload): Error {
  const { uploadId, status } = upload;
  const state = isBeingChecked(upload) ? 'being read again with another mapping' : status;
  return uploadErrors.raise.upload_state_conflict(
    `Upload ${uploadId} is ${state}; only a staged upload that is not yet promoted (staging_complete) can be previewed`,
    { details: { status } },
  );
}

export interface UploadProblem extends ProblemAdvice {
  code: string;
  field: string;
  count: number;
  message: string;
  example_rows: { row_index: number; message: string; value: string | null; cells: Record<string, string> }[];
}

const maxGroups = 50;

/** Why rows were refused. Staged rows are kept for some days only; after that the list is empty. */
export async function listProblems(
  deps: ReadDeps,
  key: OwnedUploadKey,
): Promise<{ data: UploadProblem[]; refused_rows: number; has_more: boolean }> {
  const upload = await getUpload(deps, key);
  const { groups, refused } = await deps.db.tenant(upload.tenantId, async (tx) => ({
    groups: await listProblemGroups(tx, { ...upload, limit: maxGroups + 1 }),
    refused: await countRefused(tx, upload),
  }));
  const data = groups.slice(0, maxGroups).map(({ code, field, count, examples }) => {
    const message = examples[0]?.message ?? '';
    const rows = examples.map(({ rowIndex, ...example }) => ({ row_index: rowIndex, ...example }));
    return { code, field, ...adviceOn(code, message), count, message, example_rows: rows };
  });
  return { data, refused_rows: refused, has_more: groups.length > maxGroups };
}
