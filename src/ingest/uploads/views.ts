import { z } from 'zod';
import { timestamp } from '../../kernel/http/replies.ts';
import { entityTypes, platforms } from './reports/types.ts';
import { type StagedRow, type Upload, uploadSources, uploadStatuses } from './types.ts';

const warning = z.object({ code: z.string(), message: z.string(), count: z.int() });

export const uploadReply = z
  .object({
    upload_id: z.uuid(),
    workspace_id: z.uuid(),
    client_id: z.uuid().nullable(),
    platform: z.enum(platforms),
    source: z.enum(uploadSources),
    filename: z.string().nullable(),
    file_url: z.string(),
    status: z.enum(uploadStatuses),
    force_partial: z.boolean(),
    review: z.boolean(),
    mapping: z.record(z.string(), z.string().nullable()),
    job_id: z.uuid(),
    row_count: z.int().nullable(),
    total_rows: z.int(),
    valid_rows: z.int(),
    invalid_rows: z.int(),
    promoted_rows: z.int(),
    failed_rows: z.int(),
    campaigns_upserted: z.int(),
    ad_sets_upserted: z.int(),
    ads_upserted: z.int(),
    daily_metrics_upserted: z.int(),
    affected_dates: z.array(z.iso.date()),
    warnings: z.array(warning),
    layout: z.record(z.string(), z.unknown()).nullable(),
    error_code: z.string().nullable(),
    error_text: z.string().nullable(),
    event_emitted: z.boolean(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
    finished_at: timestamp.nullable(),
    undone_at: timestamp.nullable(),
  })
  .meta({ id: 'Upload' });

export function renderUpload(upload: Upload): z.output<typeof uploadReply> {
  return {
    upload_id: upload.uploadId,
    workspace_id: upload.workspaceId,
    client_id: upload.clientId,
    platform: upload.platform,
    source: upload.source,
    filename: upload.filename,
    file_url: upload.fileUrl,
    status: upload.status,
    force_partial: upload.forcePartial,
    review: upload.review,
    mapping: upload.mapping,
    job_id: upload.jobId,
    row_count: upload.rowCount,
    total_rows: upload.totalRows,
    valid_rows: upload.validRows,
    invalid_rows: upload.invalidRows,
    promoted_rows: upload.promotedRows,
    failed_rows: upload.failedRows,
    campaigns_upserted: upload.campaignsUpserted,
    ad_sets_upserted: upload.adSetsUpserted,
    ads_upserted: upload.adsUpserted,
    daily_metrics_upserted: upload.dailyMetricsUpserted,
    affected_dates: upload.affectedDates,
    warnings: upload.warnings,
    layout: upload.layout,
    error_code: upload.errorCode,
    error_text: upload.errorText,
    event_emitted: upload.eventEmitted,
    created_by: upload.createdBy,
    created_at: upload.createdAt.toISOString(),
    updated_at: upload.updatedAt.toISOString(),
    finished_at: upload.finishedAt?.toISOString() ?? null,
    undone_at: upload.undoneAt?.toISOString() ?? null,
  };
}

const note = z.object({ code: z.string(), message: z.string() });

export const stagedRowReply = z
  .object({
    row_index: z.int(),
    entity_type: z.enum(entityTypes),
    natural_key_hash: z.string(),
    raw_data: z.record(z.string(), z.unknown()),
    validation_status: z.enum(['pending', 'valid', 'invalid']),
    validation_errors: z
      .array(
        z.object({ field: z.string(), code: z.string(), message: z.string(), value: z.string().nullable() }),
      )
      .nullable(),
    promotion_error: note.nullable(),
    promotion_warning: note.nullable(),
  })
  .meta({ id: 'StagedRow' });

export function renderStagedRow(row: StagedRow): z.output<typeof stagedRowReply> {
  return {
    row_index: row.rowIndex,
    entity_type: row.entityType,
    natural_key_hash: row.naturalKeyHash,
    raw_data: row.rawData,
    validation_status: row.validationStatus,
    validation_errors: row.validationErrors,
    promotion_error: row.promotionError,
    promotion_warning: row.promotionWarning,
  };
}
