import { recordEvent } from '../../kernel/events/service.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import type { SluiceError } from '../../lib/errors.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import type { PromotionFigures } from './promotion/end-store.ts';
import type { Reconciliation, Upload, UploadStatus } from './types.ts';

/** What can happen to an upload without a change of status: it is remapped, corrected, read again, or undone. */
type Happening = 'remapped' | 'corrected' | 'checked' | 'undone';

/** Records `upload.<status>` in the transaction that moves the upload, or `upload.<happening>`. */
export async function recordMove(
  deps: { wake: WakeUp },
  tx: Tx,
  upload: Upload,
  happened: UploadStatus | Happening,
  data: Record<string, unknown> = {},
): Promise<void> {
  await recordEvent(deps, tx, {
    tenantId: upload.tenantId,
    type: `upload.${happened}`,
    subject: upload.uploadId,
    userId: upload.userId,
    correlationId: upload.jobId,
    data: {
      upload_id: upload.uploadId,
      job_id: upload.jobId,
      workspace_id: upload.workspaceId,
      client_id: upload.clientId,
      platform: upload.platform,
      filename: upload.filename,
      status: isHappening(happened) ? upload.status : happened,
      ...data,
    },
  });
}

function isHappening(word: string): word is Happening {
  return ['remapped', 'corrected', 'checked', 'undone'].includes(word);
}

/** Records `upload.refused`. For a file that came without a request, this is the only way to report the reason. */
export async function recordRefusal(
  deps: { wake: WakeUp },
  tx: Tx,
  refused: {
    tenantId: string;
    workspaceId: string;
    platform: string;
    path: string;
    filename: string;
    error: SluiceError;
  },
): Promise<void> {
  const { error } = refused;
  await recordEvent(deps, tx, {
    tenantId: refused.tenantId,
    type: 'upload.refused',
    subject: refused.path,
    data: {
      path: refused.path,
      workspace_id: refused.workspaceId,
      platform: refused.platform,
      filename: refused.filename,
      error_code: error.code,
      error_message: [
        error.message,
        ...error.fields.map(({ pointer, message }) => `${pointer.slice(1)} ${message}`),
      ].join('; '),
      next: error.definition.next,
    },
  });
}

/** Records `ingestion.complete`, once per upload, in the transaction that sets the final status. */
export async function recordIngestionComplete(
  deps: { wake: WakeUp },
  tx: Tx,
  upload: Upload,
  end: PromotionFigures & {
    status: 'completed' | 'partial';
    breakdownsStored: number;
    reconciliation: Reconciliation;
  },
): Promise<void> {
  await recordEvent(deps, tx, {
    tenantId: upload.tenantId,
    type: 'ingestion.complete',
    subject: upload.uploadId,
    userId: upload.userId,
    correlationId: upload.jobId,
    data: {
      upload_id: upload.uploadId,
      workspace_id: upload.workspaceId,
      client_id: upload.clientId,
      platform: upload.platform,
      status: end.status,
      metrics: {
        total_rows: end.promotedRows + end.failedRows,
        promoted_rows: end.promotedRows,
        failed_rows: end.failedRows,
        campaigns_upserted: end.campaignsUpserted,
        ad_sets_upserted: end.adSetsUpserted,
        ads_upserted: end.adsUpserted,
        daily_metrics_upserted: end.dailyMetricsUpserted,
        period_metrics_upserted: end.periodMetricsUpserted,
        breakdowns_stored: end.breakdownsStored,
        reconciliation: end.reconciliation,
      },
      affected_dates: end.affectedDates,
      timestamp: new Date().toISOString(),
    },
  });
}
