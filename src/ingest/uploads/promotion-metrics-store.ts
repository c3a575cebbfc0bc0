import type { Tx } from '../../lib/db.ts';
import { sql } from '../../lib/sql.ts';
import { asOf, isOfClient, resolvedId, type Target } from './promotion-columns.ts';

/** For facts: the parents of a batch are unknown to the planner, which would go through all of them for each row. */
export const byHash = {
  enable_nestloop: 'off',
  // What is forbidden and used all the same, because there is no other way, looks as dear as worth compiling.
  jit: 'off',
};

/**
 * Facts of a batch into production; each parent that they name is looked up once. Answers the rows of which a parent
 * is not resolved; they are left out, and the caller decides what becomes of them.
 */
export async function upsertMetrics(tx: Tx, target: Target, rowIndexes: number[]): Promise<number[]> {
  const rows = await tx.rows<{ rowIndex: number }>(sql`
    with staged as materialized (
      select s.row_index, m.*
        from staging_rows s,
             jsonb_to_record(s.raw_data) as m (
               metric_date date, campaign_external_id text, ad_set_external_id text, ad_external_id text,
               impressions bigint, clicks bigint, reach bigint, spend numeric, conversions numeric,
               conversion_value numeric, currency text)
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'daily_metric'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
    ), known as materialized (
      select n.entity_type, n.external_id,
             ${resolvedId(target, sql`n.entity_type`, sql`n.external_id`)} as production_id
        from (select distinct e.entity_type, e.external_id
                from staged s,
                     lateral (values
                       ('campaign', s.campaign_external_id),
                       ('ad_set', s.ad_set_external_id),
                       ('ad', s.ad_external_id)) e (entity_type, external_id)
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
    ), put as (
      insert into daily_metrics as p (
        tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, clicks,
        reach, spend, conversions, conversion_value, currency, as_of, created_by_upload, last_upload)
      select distinct on (w.ad_id, w.ad_set_id, w.campaign_id, w.metric_date)
             ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
             w.metric_date, w.campaign_id, w.ad_set_id, w.ad_id, w.impressions, w.clicks, w.reach, w.spend,
             w.conversions, w.conversion_value, w.currency, ${asOf(target)},
             ${target.uploadId}::uuid, ${target.uploadId}::uuid
        from whole w
       where not w.lacks_parent
       order by w.ad_id, w.ad_set_id, w.campaign_id, w.metric_date, w.row_index desc
      on conflict on constraint daily_metrics_key do update
         set impressions = excluded.impressions,
             clicks = excluded.clicks,
             reach = excluded.reach,
             spend = excluded.spend,
             conversions = excluded.conversions,
             conversion_value = excluded.conversion_value,
             currency = excluded.currency,
             unresolved_key = null,
             as_of = excluded.as_of,
             last_upload = excluded.last_upload,
             updated_at = case
               when (p.impressions, p.clicks, p.reach, p.spend, p.conversions, p.conversion_value, p.currency)
                    is distinct from (excluded.impressions, excluded.clicks, excluded.reach, excluded.spend,
                                      excluded.conversions, excluded.conversion_value, excluded.currency)
               then clock_timestamp() else p.updated_at end
       where p.as_of <= excluded.as_of
    )
    select w.row_index as "rowIndex"
      from whole w
     where w.lacks_parent
     order by w.row_index`);
  return rows.map(({ rowIndex }) => rowIndex);
}

/** Parents that this upload could not make itself may be there all the same: another upload has just made them. */
export async function adoptParents(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with named as materialized (
      select distinct e.entity_type, e.external_id
        from staging_rows s,
             lateral (values
               ('campaign', s.raw_data ->> 'campaign_external_id'),
               ('ad_set', s.raw_data ->> 'ad_set_external_id'),
               ('ad', s.raw_data ->> 'ad_external_id')) e (entity_type, external_id)
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
  const put = await tx.run(sql`
    insert into daily_metrics as p (
      tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, clicks,
      reach, spend, conversions, conversion_value, currency, unresolved_key, as_of, created_by_upload, last_upload)
    select ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
           m.metric_date, ${resolvedId(target, 'campaign', sql`m.campaign_external_id`)},
           ${resolvedId(target, 'ad_set', sql`m.ad_set_external_id`)},
           ${resolvedId(target, 'ad', sql`m.ad_external_id`)}, m.impressions, m.clicks, m.reach, m.spend,
           m.conversions, m.conversion_value, m.currency, s.natural_key_hash, ${asOf(target)},
           ${target.uploadId}::uuid, ${target.uploadId}::uuid
      from staging_rows s,
           jsonb_to_record(s.raw_data) as m (
             metric_date date, campaign_external_id text, ad_set_external_id text, ad_external_id text,
             impressions bigint, clicks bigint, reach bigint, spend numeric, conversions numeric,
             conversion_value numeric, currency text)
     where s.tenant_id = ${target.tenantId}
       and s.upload_id = ${target.uploadId}
       and s.entity_type = 'daily_metric'
       and s.row_index = ${rowIndex}
    on conflict on constraint daily_metrics_key do update
       set impressions = case when p.as_of <= excluded.as_of then excluded.impressions else p.impressions end,
           clicks = case when p.as_of <= excluded.as_of then excluded.clicks else p.clicks end,
           reach = case when p.as_of <= excluded.as_of then excluded.reach else p.reach end,
           spend = case when p.as_of <= excluded.as_of then excluded.spend else p.spend end,
           conversions = case when p.as_of <= excluded.as_of then excluded.conversions else p.conversions end,
           conversion_value = case
             when p.as_of <= excluded.as_of then excluded.conversion_value else p.conversion_value end,
           currency = case when p.as_of <= excluded.as_of then excluded.currency else p.currency end,
           last_upload = case when p.as_of <= excluded.as_of then excluded.last_upload else p.last_upload end,
           as_of = greatest(p.as_of, excluded.as_of),
           updated_at = clock_timestamp()
     where p.unresolved_key = excluded.unresolved_key`);
  return put === 1;
}
