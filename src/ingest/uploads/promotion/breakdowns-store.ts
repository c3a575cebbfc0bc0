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

/**
 * Deletes breakdowns that do not add up to their fact after this upload: an earlier report stated other figures, or
 * this one is older than what is stored. Parts of different breakdowns stand side by side, and each must add up by
 * itself; a figure that no line of it states is not compared.
 */
export async function deleteUnequalBreakdowns(
  tx: Tx,
  target: Pick<Target, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'>,
): Promise<number> {
  let deleted = 0;
  for (const fact of factDates) deleted += await deleteUnequalTo(tx, target, fact);
  return deleted;
}

const factDates = [
  { table: sql`daily_metrics`, from: sql`m.metric_date`, to: sql`m.metric_date` },
  { table: sql`period_metrics`, from: sql`m.date_from`, to: sql`m.date_to` },
];
const noId = '00000000-0000-0000-0000-000000000000';

function deleteUnequalTo(
  tx: Tx,
  target: Pick<Target, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'>,
  { table, from, to }: (typeof factDates)[number],
): Promise<number> {
  const differs = ['impressions', 'clicks', 'link_clicks', 'spend', 'conversions', 'conversion_value'].map(
    (figure) => {
      const name = trustedSql(figure);
      return sql`(count(b.${name}) > 0 and sum(b.${name}) is distinct from m.${name})`;
    },
  );
  // An id that nobody has stands for null: a join by "is not distinct from" would compare every row with every other.
  const same = (column: 'campaign_id' | 'ad_set_id' | 'ad_id') => {
    const name = trustedSql(column);
    return sql`coalesce(m.${name}, ${noId}::uuid) = coalesce(b.${name}, ${noId}::uuid)`;
  };
  const inPlace = (alias: 'm' | 'b') => {
    const row = trustedSql(alias);
    return sql`${row}.tenant_id = ${target.tenantId}
           and ${row}.workspace_id = ${target.workspaceId}
           and ${row}.platform = ${target.platform}
           and ${row}.client_id is not distinct from ${target.clientId}::uuid`;
  };
  return tx.run(sql`
    with stated as materialized (
      select min(s.metric_date) as first_day, max(s.metric_date) as last_day
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
    ), unequal as (
      select m.campaign_id, m.ad_set_id, m.ad_id, ${from} as date_from, ${to} as date_to, b.dimension_names
        from ${table} m
        join metric_breakdowns b
          on b.date_from = ${from}
         and b.date_to = ${to}
         and ${same('campaign_id')}
         and ${same('ad_set_id')}
         and ${same('ad_id')}
        join stated s
          on ${from} between s.first_day and s.last_day
       where ${inPlace('m')}
         and ${inPlace('b')}
       group by m.tenant_id, m.metric_id, b.dimension_names
      having (${target.uploadId}::uuid in (m.last_upload, m.confirmed_by_upload)
               or bool_or(b.last_upload = ${target.uploadId}::uuid))
         and (${differs.reduce((all, one) => sql`${all} or ${one}`)})
    )
    delete from metric_breakdowns b
     using unequal u
     where ${inPlace('b')}
       and b.date_from = u.date_from
       and b.date_to = u.date_to
       and b.campaign_id is not distinct from u.campaign_id
       and b.ad_set_id is not distinct from u.ad_set_id
       and b.ad_id is not distinct from u.ad_id
       and b.dimension_names = u.dimension_names`);
}

/** Whether the place of an upload has breakdowns at all; most have none, and nothing is compared then. */
export async function hasBreakdowns(
  tx: Tx,
  { tenantId, workspaceId }: Pick<Target, 'tenantId' | 'workspaceId'>,
): Promise<boolean> {
  const found = await tx.find(sql`
    select 1 as found
      from metric_breakdowns b
     where b.tenant_id = ${tenantId}
       and b.workspace_id = ${workspaceId}
     limit 1`);
  return found !== null;
}

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
