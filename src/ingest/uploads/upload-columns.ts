import { trustedSql } from '../../lib/postgres/sql.ts';

/** An `Upload`, read from `data_uploads u`. */
export const uploadColumns = trustedSql(`
  u.tenant_id as "tenantId", u.upload_id as "uploadId", u.workspace_id as "workspaceId", u.client_id as "clientId",
  u.platform, u.source, u.filename, u.file_id as "fileId", u.file_url as "fileUrl", u.status,
  u.force_partial as "forcePartial", u.review, u.mapping, u.mapping_version as "mappingVersion", u.job_id as "jobId",
  u.row_count as "rowCount", u.total_rows as "totalRows", u.valid_rows as "validRows", u.invalid_rows as "invalidRows",
  u.promoted_rows as "promotedRows", u.failed_rows as "failedRows", u.campaigns_upserted as "campaignsUpserted",
  u.ad_sets_upserted as "adSetsUpserted", u.ads_upserted as "adsUpserted",
  u.daily_metrics_upserted as "dailyMetricsUpserted",
  array(select to_char(d, 'YYYY-MM-DD') from unnest(u.affected_dates) d) as "affectedDates", u.warnings, u.layout,
  u.error_code as "errorCode", u.error_text as "errorText", u.event_emitted as "eventEmitted",
  u.created_by as "createdBy", u.user_id as "userId", u.created_at as "createdAt", u.updated_at as "updatedAt",
  u.finished_at as "finishedAt", u.undone_at as "undoneAt"`);
