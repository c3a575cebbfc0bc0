import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { StagedRow, UploadKey, WorkspaceKey } from '../types.ts';

/** The columns of staged rows, in the order in which `insertStagingRows` takes them. */
export const stagedColumnCount = 21;

/**
 * Inserts rows that come as one array per column. They are one message, so a process that stops cannot leave the
 * statement half sent, and no temporary table is needed, as COPY would: it is refused under row-level security.
 */
export async function insertStagingRows(
  tx: Tx,
  { tenantId, uploadId, workspaceId }: UploadKey & WorkspaceKey,
  columns: readonly string[],
): Promise<void> {
  await tx.run(sql`
    insert into staging_rows (
      tenant_id, upload_id, workspace_id, entity_type, row_index, natural_key_hash, raw_data, validation_status,
      validation_errors, metric_date, date_to, campaign_external_id, ad_set_external_id, ad_external_id, impressions,
      clicks, link_clicks, reach, spend, conversions, conversion_value, currency, dimensions, line_no)
    select ${tenantId}, ${uploadId}::uuid, ${workspaceId}::uuid, r.*
      from unnest(
        ${columns[0]}::text[], ${columns[1]}::integer[], ${columns[2]}::text[], ${columns[3]}::jsonb[],
        ${columns[4]}::text[], ${columns[5]}::jsonb[], ${columns[6]}::date[], ${columns[7]}::date[],
        ${columns[8]}::text[], ${columns[9]}::text[], ${columns[10]}::text[], ${columns[11]}::bigint[],
        ${columns[12]}::bigint[], ${columns[13]}::bigint[], ${columns[14]}::bigint[], ${columns[15]}::numeric[],
        ${columns[16]}::numeric[], ${columns[17]}::numeric[], ${columns[18]}::text[], ${columns[19]}::jsonb[],
        ${columns[20]}::integer[]) r`);
}

/** Without statistics on a file that was just staged, the planner reads all of its rows for every batch. */
export async function analyzeStaging(tx: Tx): Promise<void> {
  await tx.run(sql`select analyze_staging()`);
}

export interface StagedFilter extends UploadKey {
  validationStatus?: StagedRow['validationStatus'] | undefined;
  entityType?: StagedRow['entityType'] | undefined;
  line?: number | undefined;
  /** The last row on the previous page. */
  after: { rowIndex: number; entityType: string } | null;
  limit: number;
}

export function listStagedRows(tx: Tx, filter: StagedFilter): Promise<StagedRow[]> {
  const { after } = filter;
  return tx.rows<StagedRow>(sql`
    select ${stagedColumns}
      from staging_rows s
     where s.tenant_id = ${filter.tenantId}
       and s.upload_id = ${filter.uploadId}
       and (${filter.validationStatus ?? null}::text is null
            or s.validation_status = ${filter.validationStatus ?? null})
       and (${filter.entityType ?? null}::text is null or s.entity_type = ${filter.entityType ?? null})
       and (${filter.line ?? null}::integer is null or s.line_no = ${filter.line ?? null})
       and (${after === null} or (s.row_index, s.entity_type) > (${after?.rowIndex ?? 0}, ${after?.entityType ?? ''}))
     order by s.row_index, s.entity_type
     limit ${filter.limit}`);
}

/** A `StagedRow`, from `staging_rows s`. The raw data of facts is put together from their columns. */
const stagedColumns = sql`s.row_index as "rowIndex", s.entity_type as "entityType",
  s.natural_key_hash as "naturalKeyHash", coalesce(s.raw_data, jsonb_build_object(
    'metric_date', s.metric_date, 'date_to', s.date_to, 'campaign_external_id', s.campaign_external_id,
    'ad_set_external_id', s.ad_set_external_id, 'ad_external_id', s.ad_external_id,
    'impressions', s.impressions, 'clicks', s.clicks, 'link_clicks', s.link_clicks, 'reach', s.reach,
    'spend', s.spend, 'conversions', s.conversions, 'conversion_value', s.conversion_value, 'currency', s.currency,
    'dimensions', s.dimensions)) as "rawData", s.line_no as "line",
  s.validation_status as "validationStatus",
  s.validation_errors as "validationErrors", s.promotion_error as "promotionError",
  s.promotion_warning as "promotionWarning"`;

/** Lines that validation or promotion refused, in the order of the file. */
export function listRefusedRows(
  tx: Tx,
  { tenantId, uploadId, afterRow, limit }: UploadKey & { afterRow: number; limit: number },
): Promise<StagedRow[]> {
  return tx.rows<StagedRow>(sql`
    select ${stagedColumns}
      from staging_rows s
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and (s.validation_status = 'invalid' or s.promotion_error is not null)
       and s.entity_type in ('daily_metric', 'period_metric')
       and s.row_index > ${afterRow}
     order by s.row_index
     limit ${limit}`);
}

/** Deletes some of an upload's staged rows; returns 0 when none are left. */
export async function deleteStagingOf(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  limit: number,
): Promise<number> {
  const rows = await tx.run(sql`
    delete from staging_rows
     where ctid = any(array(
       select ctid
         from staging_rows
        where tenant_id = ${tenantId}
          and upload_id = ${uploadId}
        limit ${limit}))`);
  if (rows > 0) return rows;
  const repeats = await tx.run(sql`
    delete from staging_repeats
     where ctid = any(array(
       select ctid
         from staging_repeats
        where tenant_id = ${tenantId}
          and upload_id = ${uploadId}
        limit ${limit}))`);
  if (repeats > 0) return repeats;
  await tx.run(sql`
    delete from staging_id_resolution
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}`);
  return 0;
}

/** Uploads with old staged rows that are finished or held for review. Work in progress is left alone. */
export function listExpiredStaging(
  tx: Tx,
  { days, limit }: { days: number; limit: number },
): Promise<(UploadKey & { isFinished: boolean })[]> {
  return tx.rows<UploadKey & { isFinished: boolean }>(sql`
    select u.tenant_id as "tenantId", u.upload_id as "uploadId", u.finished_at is not null as "isFinished"
      from data_uploads u
     where u.created_at < clock_timestamp() - ${days} * interval '1 day'
       and (u.finished_at is not null or (u.status = 'staging_complete' and u.review))
       and exists (
         select from staging_rows s
          where s.tenant_id = u.tenant_id
            and s.upload_id = u.upload_id
            and s.created_at < clock_timestamp() - ${days} * interval '1 day')
     order by u.created_at
     limit ${limit}`);
}
