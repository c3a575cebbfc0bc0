import type { Tx } from '../../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { UploadKey } from '../types.ts';
import {
  areSelected,
  dimensionsOf,
  type FactSelection,
  factsOf,
  type StagedSource,
  stagedRows,
} from './facts-store.ts';
import {
  differsFrom,
  figuresAfter,
  figuresOf,
  type MetricsReport,
  nothingWritten,
  reported,
} from './metrics-store.ts';
import { asOf, isConcerned, isNewest, lineAfter, provenanceAfter, type Target } from './store.ts';

const figureColumns = figuresOf((figure) => trustedSql(figure));

/** Writes one row per line of a report with a breakdown. */
export async function upsertBreakdowns(
  tx: Tx,
  target: Target,
  selection: FactSelection,
): Promise<MetricsReport & { stored: number }> {
  const said = sql`excluded`;
  const report = await tx.find<Pick<MetricsReport, 'lastRow' | 'orphans'> & { stored: number }>(sql`
    with ${factsOf(target, { type: 'breakdown', selection })}, put as (
      insert into metric_breakdowns as p (
        tenant_id, workspace_id, client_id, platform, date_from, date_to, campaign_id, ad_set_id, ad_id,
        dimension_names, dimensions, dimensions_hash, occurrence, line_no, ${figureColumns}, as_of,
        created_by_upload, last_upload)
      select ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
             w.metric_date, coalesce(w.date_to, w.metric_date), w.campaign_id, w.ad_set_id, w.ad_id,
             ${namesOf(target)}::text[], w.dimensions, sha256(convert_to(w.dimensions::text, 'UTF8')), w.occurrence,
             w.line_no, ${figuresOf((figure) => trustedSql(`w.${figure}`))}, ${asOf(target)},
             ${target.uploadId}::uuid, ${target.uploadId}::uuid
        from whole w
       where not w.lacks_parent
       order by w.campaign_id, w.ad_set_id, w.ad_id, w.metric_date, w.dimensions, w.occurrence
      on conflict on constraint metric_breakdowns_key do update
         set (${figureColumns}) = row(${figuresAfter(target, said, { where: isNewest })}),
             ${lineAfter(differsFrom(target, said))}
             dimension_names = case when ${isNewest} then excluded.dimension_names else p.dimension_names end,
             ${provenanceAfter(differsFrom(target, said))}
       where ${isConcerned}
      returning 1
    )
    select ${reported()}, count(*) filter (where not w.lacks_parent) as stored
      from whole w`);
  return { ...nothingWritten, ...(report ?? { stored: 0 }) };
}

/**
 * Deletes breakdowns of these facts that an earlier report with the same columns stated and this one no longer does: a
 * later file replaces an earlier one as a whole, or the lines would not add up to the fact.
 */
export async function deleteStaleBreakdowns(tx: Tx, target: Target, source: StagedSource): Promise<void> {
  await tx.run(sql`
    with ${factsOf(target, source)}
    delete from metric_breakdowns p
     using whole w
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and p.platform = ${target.platform}
       and p.client_id is not distinct from ${target.clientId}::uuid
       and p.date_from = w.metric_date
       and p.date_to = coalesce(w.date_to, w.metric_date)
       and p.campaign_id is not distinct from w.campaign_id
       and p.ad_set_id is not distinct from w.ad_set_id
       and p.ad_id is not distinct from w.ad_id
       and p.dimension_names = ${namesOf(target)}::text[]
       and p.as_of < ${asOf(target)}`);
}

const namesOf = (target: Target) => [...dimensionsOf(target)].sort();

/** Withdraws the breakdowns of lines whose sum the database refused: what is not in the sum is not in its parts. */
export async function deleteBreakdownsOf(
  tx: Tx,
  target: Target,
  rowIndexes: readonly number[],
): Promise<void> {
  if (rowIndexes.length === 0) return;
  await tx.run(sql`
    delete from metric_breakdowns p
     using staging_rows s
     where s.tenant_id = ${target.tenantId}
       and s.upload_id = ${target.uploadId}
       and s.entity_type in ('daily_metric', 'period_metric')
       and s.row_index = any(${rowIndexes}::integer[])
       and p.tenant_id = s.tenant_id
       and p.workspace_id = s.workspace_id
       and p.last_upload = s.upload_id
       and p.date_from = s.metric_date
       and p.line_no = s.line_no`);
}

/** After a promotion that broke off: breakdowns of lines whose sums were never written. */
export async function deleteFailedBreakdowns(tx: Tx, target: Target): Promise<void> {
  await tx.run(sql`
    delete from metric_breakdowns p
     using staging_rows s
     where s.tenant_id = ${target.tenantId}
       and s.upload_id = ${target.uploadId}
       and s.entity_type in ('daily_metric', 'period_metric')
       and s.promotion_error is not null
       and p.tenant_id = s.tenant_id
       and p.workspace_id = s.workspace_id
       and p.last_upload = s.upload_id
       and p.date_from = s.metric_date
       and p.line_no = s.line_no`);
}

/** All lines that share their key with one of these; they stand and fall together with their sum. */
export async function listLinesOf(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  heads: readonly number[],
): Promise<number[]> {
  const rows = await tx.rows<{ rowIndex: number }>(sql`
    select r.row_index as "rowIndex"
      from staging_repeats r
      join staging_rows s
        on s.tenant_id = r.tenant_id and s.upload_id = r.upload_id and s.row_index = r.row_index
       and s.entity_type in ('daily_metric', 'period_metric')
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}
       and r.head_row = any(${heads}::integer[])
       and s.promotion_error is null`);
  return rows.map(({ rowIndex }) => rowIndex);
}

/** The first lines of the keys that these lines have. */
export async function listHeadsOf(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  rowIndexes: readonly number[],
): Promise<number[]> {
  const rows = await tx.rows<{ headRow: number }>(sql`
    select distinct r.head_row as "headRow"
      from staging_repeats r
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}
       and r.row_index = any(${rowIndexes}::integer[])`);
  return rows.map(({ headRow }) => headRow);
}

/** The next staged facts that are promoted. Of a key on several lines it is only the first, except for breakdowns. */
export async function listPromotable(
  tx: Tx,
  target: Target,
  { type, afterRow, limit }: { type: StagedSource['type']; afterRow: number; limit: number },
): Promise<number[]> {
  const rows = await tx.rows<{ rowIndex: number }>(sql`
    select s.row_index as "rowIndex"
      from ${stagedRows(target)}
     where ${areSelected(target, { type, selection: { afterRow, limit } })}`);
  return rows.map(({ rowIndex }) => rowIndex);
}
