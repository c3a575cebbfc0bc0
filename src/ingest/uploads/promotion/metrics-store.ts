import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import { differsFrom, figureColumns, figuresAfter } from './figure-columns.ts';
import {
  asOf,
  isConcerned,
  isNewest,
  isOfClient,
  provenanceAfter,
  resolvedId,
  type Target,
} from './promotion-columns.ts';

/** For facts: the parents of a batch are unknown to the planner, which would go through all of them for each row. */
export const byHash = {
  enable_nestloop: 'off',
  // What is forbidden and used all the same, because there is no other way, looks as dear as worth compiling.
  jit: 'off',
};

/** Which staged facts: the next ones behind a row, or these. */
export type FactSelection = { afterRow: number; limit: number } | { rowIndexes: readonly number[] };

export interface MetricsReport {
  /** Null: there was none. */
  lastRow: number | null;
  /** Rows of which a parent is not resolved; they are left out, and the caller decides what becomes of them. */
  orphans: number[];
}

/**
 * Facts of a batch into production, as far as there is none yet of their ads in these days: `isNew` says whether that
 * is so, and otherwise nothing is written. Without the way out for conflicts an insert takes 40 % less. Who writes the
 * same facts at the same moment makes it fail by the unique key, and then they are upserted.
 */
export async function insertMetrics(
  tx: Tx,
  target: Target,
  selection: FactSelection,
): Promise<MetricsReport & { isNew: boolean }> {
  const report = await tx.find<MetricsReport & { isNew: boolean }>(sql`
    with ${facts(target, selection)}, novelty as materialized (
      select coalesce(bool_and(g.has_all and (
               select false
                 from daily_metrics m
                where m.ad_id = g.ad_id
                  and m.ad_set_id = g.ad_set_id
                  and m.campaign_id = g.campaign_id
                  and m.metric_date between g.first_day and g.last_day
                limit 1) is null), true) as is_new
        from (select w.ad_id, w.ad_set_id, w.campaign_id, min(w.metric_date) as first_day,
                     max(w.metric_date) as last_day,
                     w.ad_id is not null and w.ad_set_id is not null and w.campaign_id is not null as has_all
                from whole w
               where not w.lacks_parent
               group by w.ad_id, w.ad_set_id, w.campaign_id) g
    ), put as (
      insert into daily_metrics (
        tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, clicks,
        reach, spend, conversions, conversion_value, currency, as_of, created_by_upload, last_upload)
      ${lastOfEachKey(target, sql`(select v.is_new from novelty v)`)}
    )
    select (select v.is_new from novelty v) as "isNew", ${reported()}
      from whole w`);
  return report ?? { isNew: true, lastRow: null, orphans: [] };
}

/** Facts of a batch into production, over what is there already unless a newer upload put it there. */
export async function upsertMetrics(
  tx: Tx,
  target: Target,
  selection: FactSelection,
): Promise<MetricsReport> {
  const said = sql`excluded`;
  const report = await tx.find<MetricsReport>(sql`
    with ${facts(target, selection)}, put as (
      insert into daily_metrics as p (
        tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, clicks,
        reach, spend, conversions, conversion_value, currency, as_of, created_by_upload, last_upload)
      ${lastOfEachKey(target, sql`true`)}
      on conflict on constraint daily_metrics_key do update
         set (${figureColumns}) = row(${figuresAfter(target, said, { where: isNewest })}),
             unresolved_key = case when ${isNewest} then null else p.unresolved_key end,
             ${provenanceAfter(differsFrom(target, said))}
       where ${isConcerned}
    )
    select ${reported()}
      from whole w`);
  return report ?? { lastRow: null, orphans: [] };
}

/** `whole`: the staged facts with the production ids of their parents, each of which is looked up once. */
function facts(target: Target, selection: FactSelection): Sql {
  return sql`staged as materialized (
      select s.row_index, s.metric_date, s.campaign_external_id, s.ad_set_external_id, s.ad_external_id,
             s.impressions, s.clicks, s.reach, s.spend, s.conversions, s.conversion_value, s.currency
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'daily_metric'
         and ${isSelected(selection)}
    ), named as (
      select distinct s.campaign_external_id, s.ad_set_external_id, s.ad_external_id
        from staged s
    ), known as materialized (
      select n.entity_type, n.external_id,
             ${resolvedId(target, sql`n.entity_type`, sql`n.external_id`)} as production_id
        from (select distinct e.entity_type, e.external_id
                from named n,
                     lateral (values
                       ('campaign', n.campaign_external_id),
                       ('ad_set', n.ad_set_external_id),
                       ('ad', n.ad_external_id)) e (entity_type, external_id)
               where e.external_id is not null) n
    ), whole as materialized (
      select s.*, c.production_id as campaign_id, g.production_id as ad_set_id, a.production_id as ad_id,
             (c.production_id is null and s.campaign_external_id is not null)
               or (g.production_id is null and s.ad_set_external_id is not null)
               or (a.production_id is null and s.ad_external_id is not null) as lacks_parent
        from staged s
        left join known c on c.entity_type = 'campaign' and c.external_id = s.campaign_external_id
        left join known g on g.entity_type = 'ad_set' and g.external_id = s.ad_set_external_id
        left join known a on a.entity_type = 'ad' and a.external_id = s.ad_external_id
    )`;
}

/** Numbered rows are asked for by their range as well: without statistics all rows of the upload would be read. */
function isSelected(selection: FactSelection): Sql {
  if ('rowIndexes' in selection) {
    const { rowIndexes } = selection;
    return sql`s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])`;
  }
  return sql`s.validation_status = 'valid'
         and s.row_index > ${selection.afterRow}
       order by s.row_index
       limit ${selection.limit}`;
}

/** Sorted by key, so that two uploads lock in the same order. */
function lastOfEachKey(target: Target, condition: Sql): Sql {
  return sql`select distinct on (w.ad_id, w.ad_set_id, w.campaign_id, w.metric_date)
             ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
             w.metric_date, w.campaign_id, w.ad_set_id, w.ad_id, w.impressions, w.clicks, w.reach, w.spend,
             w.conversions, w.conversion_value, w.currency, ${asOf(target)},
             ${target.uploadId}::uuid, ${target.uploadId}::uuid
        from whole w
       where not w.lacks_parent
         and ${condition}
       order by w.ad_id, w.ad_set_id, w.campaign_id, w.metric_date, w.row_index desc`;
}

function reported(): Sql {
  return sql`max(w.row_index) as "lastRow",
           coalesce(array_agg(w.row_index order by w.row_index) filter (where w.lacks_parent), '{}') as orphans`;
}

/** Parents that this upload could not make itself may be there all the same: another upload has just made them. */
export async function adoptParents(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with named as materialized (
      select distinct e.entity_type, e.external_id
        from staging_rows s,
             lateral (values
               ('campaign', s.campaign_external_id),
               ('ad_set', s.ad_set_external_id),
               ('ad', s.ad_external_id)) e (entity_type, external_id)
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'daily_metric'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
    )
    insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
    select ${target.tenantId}, ${target.uploadId}::uuid, 'campaign', p.external_id, p.campaign_id
      from campaigns p
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and ${isOfClient(target)}
       and p.platform = ${target.platform}
       and p.external_id = any(array(select n.external_id from named n where n.entity_type = 'campaign'))
     union all
    select ${target.tenantId}, ${target.uploadId}::uuid, 'ad_set', p.external_id, p.ad_set_id
      from ad_sets p
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and ${isOfClient(target)}
       and p.platform = ${target.platform}
       and p.external_id = any(array(select n.external_id from named n where n.entity_type = 'ad_set'))
     union all
    select ${target.tenantId}, ${target.uploadId}::uuid, 'ad', p.external_id, p.ad_id
      from ads p
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and ${isOfClient(target)}
       and p.platform = ${target.platform}
       and p.external_id = any(array(select n.external_id from named n where n.entity_type = 'ad'))
    on conflict (tenant_id, upload_id, entity_type, external_id) do nothing`);
}

/**
 * A fact whose parent cannot be found: it is kept with NULL in the parent's place. False when another fact already
 * stands at that key: the two must not become one.
 */
export async function upsertUnresolvedMetric(tx: Tx, target: Target, rowIndex: number): Promise<boolean> {
  const said = sql`excluded`;
  const put = await tx.run(sql`
    insert into daily_metrics as p (
      tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, clicks,
      reach, spend, conversions, conversion_value, currency, unresolved_key, as_of, created_by_upload, last_upload)
    select ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
           s.metric_date, ${resolvedId(target, 'campaign', sql`s.campaign_external_id`)},
           ${resolvedId(target, 'ad_set', sql`s.ad_set_external_id`)},
           ${resolvedId(target, 'ad', sql`s.ad_external_id`)}, s.impressions, s.clicks, s.reach, s.spend,
           s.conversions, s.conversion_value, s.currency, s.natural_key_hash, ${asOf(target)},
           ${target.uploadId}::uuid, ${target.uploadId}::uuid
      from staging_rows s
     where s.tenant_id = ${target.tenantId}
       and s.upload_id = ${target.uploadId}
       and s.entity_type = 'daily_metric'
       and s.row_index = ${rowIndex}
    on conflict on constraint daily_metrics_key do update
       set (${figureColumns}) = row(${figuresAfter(target, said, { where: isNewest })}),
           ${provenanceAfter(differsFrom(target, said))}
     where p.unresolved_key = excluded.unresolved_key`);
  return put === 1;
}
