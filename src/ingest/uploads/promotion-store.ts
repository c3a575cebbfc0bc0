import type { Tx } from '../../lib/db.ts';
import { type Sql, sql } from '../../lib/sql.ts';
import type { EntityType, Upload, UploadKey } from './types.ts';

/** Whose production rows are written. */
type Target = Pick<Upload, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'>;

/** When the upload came in, as the database knows it: two can come within the millisecond of a JavaScript date. */
function asOf({ tenantId, uploadId }: UploadKey): Sql {
  return sql`(
    select u.created_at
      from data_uploads u
     where u.tenant_id = ${tenantId}
       and u.upload_id = ${uploadId})`;
}

/**
 * The production row that an external id stands for in this upload. A lookup of its own for every row: a join is at
 * times planned without the index, as long as nobody has counted the rows of a new upload.
 */
function resolvedId({ tenantId, uploadId }: UploadKey, entityType: EntityType, externalId: Sql): Sql {
  return sql`(
    select r.production_id
      from staging_id_resolution r
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}
       and r.entity_type = ${entityType}
       and r.external_id = ${externalId})`;
}

/** For production rows `p`. `is not distinct from` would read the index of the whole workspace for every row. */
function isOfClient({ clientId }: Pick<Target, 'clientId'>): Sql {
  return clientId === null ? sql`p.client_id is null` : sql`p.client_id = ${clientId}`;
}

/** The next staged rows of an entity that are to be promoted, in the order of the file. */
export async function listBatch(
  tx: Tx,
  batch: UploadKey & { entityType: EntityType; afterRow: number; limit: number },
): Promise<number[]> {
  const rows = await tx.rows<{ rowIndex: number }>(sql`
    select s.row_index as "rowIndex"
      from staging_rows s
     where s.tenant_id = ${batch.tenantId}
       and s.upload_id = ${batch.uploadId}
       and s.entity_type = ${batch.entityType}
       and s.row_index > ${batch.afterRow}
       and s.validation_status = 'valid'
     order by s.row_index
     limit ${batch.limit}`);
  return rows.map(({ rowIndex }) => rowIndex);
}

/**
 * The rows of a batch are asked for by their range as well as by number: without statistics, which a file that was just
 * staged never has, PostgreSQL before 17 would read all rows of the upload to find the numbered ones.
 *
 * Campaigns of a batch into production. The last of several rows of one key wins. Rows of a newer upload are left as
 * they are, and rows that say nothing new only learn that this upload confirmed them. Sorted by key, so that two
 * uploads lock in the same order.
 */
export async function upsertCampaigns(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with staged as materialized (
      select distinct on (s.raw_data ->> 'external_id')
             s.raw_data ->> 'external_id' as external_id, (s.raw_data ->> 'is_name_key')::boolean as is_name_key,
             s.raw_data ->> 'name' as name, s.raw_data ->> 'status' as status, s.raw_data ->> 'type' as type
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'campaign'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
       order by s.raw_data ->> 'external_id', s.row_index desc
    )
    insert into campaigns as p (
      tenant_id, workspace_id, client_id, platform, external_id, is_name_key, name, status, type, as_of,
      created_by_upload, last_upload)
    select ${target.tenantId}, ${target.workspaceId}, ${target.clientId}, ${target.platform}, s.external_id,
           s.is_name_key, s.name, s.status, s.type, ${asOf(target)}, ${target.uploadId}, ${target.uploadId}
      from staged s
     order by s.external_id
    on conflict (tenant_id, workspace_id, client_id, platform, external_id) do update
       set name = coalesce(excluded.name, p.name),
           status = coalesce(excluded.status, p.status),
           type = coalesce(excluded.type, p.type),
           as_of = excluded.as_of,
           last_upload = excluded.last_upload,
           updated_at = case
             when (p.name, p.status, p.type)
                  is distinct from (coalesce(excluded.name, p.name), coalesce(excluded.status, p.status),
                                    coalesce(excluded.type, p.type))
             then clock_timestamp() else p.updated_at end
     where p.as_of <= excluded.as_of`);
}

export async function upsertAdSets(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with staged as materialized (
      select distinct on (s.raw_data ->> 'external_id')
             s.raw_data ->> 'external_id' as external_id, (s.raw_data ->> 'is_name_key')::boolean as is_name_key,
             s.raw_data ->> 'name' as name, s.raw_data ->> 'status' as status,
             ${resolvedId(target, 'campaign', sql`s.raw_data ->> 'campaign_external_id'`)} as campaign_id
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'ad_set'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
       order by s.raw_data ->> 'external_id', s.row_index desc
    )
    insert into ad_sets as p (
      tenant_id, workspace_id, client_id, platform, external_id, is_name_key, campaign_id, name, status, as_of,
      created_by_upload, last_upload)
    select ${target.tenantId}, ${target.workspaceId}, ${target.clientId}, ${target.platform}, s.external_id,
           s.is_name_key, s.campaign_id, s.name, s.status, ${asOf(target)}, ${target.uploadId}, ${target.uploadId}
      from staged s
     order by s.external_id
    on conflict (tenant_id, workspace_id, client_id, platform, external_id) do update
       set campaign_id = coalesce(excluded.campaign_id, p.campaign_id),
           name = coalesce(excluded.name, p.name),
           status = coalesce(excluded.status, p.status),
           as_of = excluded.as_of,
           last_upload = excluded.last_upload,
           updated_at = case
             when (p.campaign_id, p.name, p.status)
                  is distinct from (coalesce(excluded.campaign_id, p.campaign_id), coalesce(excluded.name, p.name),
                                    coalesce(excluded.status, p.status))
             then clock_timestamp() else p.updated_at end
     where p.as_of <= excluded.as_of`);
}

export async function upsertAds(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with staged as materialized (
      select distinct on (s.raw_data ->> 'external_id')
             s.raw_data ->> 'external_id' as external_id, (s.raw_data ->> 'is_name_key')::boolean as is_name_key,
             s.raw_data ->> 'name' as name, s.raw_data ->> 'status' as status,
             ${resolvedId(target, 'campaign', sql`s.raw_data ->> 'campaign_external_id'`)} as campaign_id,
             ${resolvedId(target, 'ad_set', sql`s.raw_data ->> 'ad_set_external_id'`)} as ad_set_id
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'ad'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
       order by s.raw_data ->> 'external_id', s.row_index desc
    )
    insert into ads as p (
      tenant_id, workspace_id, client_id, platform, external_id, is_name_key, campaign_id, ad_set_id, name, status,
      as_of, created_by_upload, last_upload)
    select ${target.tenantId}, ${target.workspaceId}, ${target.clientId}, ${target.platform}, s.external_id,
           s.is_name_key, s.campaign_id, s.ad_set_id, s.name, s.status, ${asOf(target)}, ${target.uploadId},
           ${target.uploadId}
      from staged s
     order by s.external_id
    on conflict (tenant_id, workspace_id, client_id, platform, external_id) do update
       set campaign_id = coalesce(excluded.campaign_id, p.campaign_id),
           ad_set_id = coalesce(excluded.ad_set_id, p.ad_set_id),
           name = coalesce(excluded.name, p.name),
           status = coalesce(excluded.status, p.status),
           as_of = excluded.as_of,
           last_upload = excluded.last_upload,
           updated_at = case
             when (p.campaign_id, p.ad_set_id, p.name, p.status)
                  is distinct from (coalesce(excluded.campaign_id, p.campaign_id),
                                    coalesce(excluded.ad_set_id, p.ad_set_id), coalesce(excluded.name, p.name),
                                    coalesce(excluded.status, p.status))
             then clock_timestamp() else p.updated_at end
     where p.as_of <= excluded.as_of`);
}

/**
 * Remembers which production rows the external ids of a batch stand for. The ids are taken out of the JSON first: its
 * operators are not leakproof, and under a policy no index is used by what they say.
 */
export async function resolveCampaigns(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with named as materialized (
      select distinct s.raw_data ->> 'external_id' as external_id
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'campaign'
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
       and p.external_id = any(array(select n.external_id from named n))
    on conflict (tenant_id, upload_id, entity_type, external_id) do update
       set production_id = excluded.production_id`);
}

export async function resolveAdSets(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with named as materialized (
      select distinct s.raw_data ->> 'external_id' as external_id
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'ad_set'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
    )
    insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
    select ${target.tenantId}, ${target.uploadId}::uuid, 'ad_set', p.external_id, p.ad_set_id
      from ad_sets p
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and ${isOfClient(target)}
       and p.platform = ${target.platform}
       and p.external_id = any(array(select n.external_id from named n))
    on conflict (tenant_id, upload_id, entity_type, external_id) do update
       set production_id = excluded.production_id`);
}

export async function resolveAds(tx: Tx, target: Target, rowIndexes: number[]): Promise<void> {
  await tx.run(sql`
    with named as materialized (
      select distinct s.raw_data ->> 'external_id' as external_id
        from staging_rows s
       where s.tenant_id = ${target.tenantId}
         and s.upload_id = ${target.uploadId}
         and s.entity_type = 'ad'
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])
    )
    insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
    select ${target.tenantId}, ${target.uploadId}::uuid, 'ad', p.external_id, p.ad_id
      from ads p
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and ${isOfClient(target)}
       and p.platform = ${target.platform}
       and p.external_id = any(array(select n.external_id from named n))
    on conflict (tenant_id, upload_id, entity_type, external_id) do update
       set production_id = excluded.production_id`);
}

/**
 * Facts of a batch into production. Answers the rows of which a parent is not resolved; they are left out, and the
 * caller decides what becomes of them.
 */
export async function upsertMetrics(tx: Tx, target: Target, rowIndexes: number[]): Promise<number[]> {
  const rows = await tx.rows<{ rowIndex: number }>(sql`
    with staged as materialized (
      select s.row_index, m.*, ${resolvedId(target, 'campaign', sql`m.campaign_external_id`)} as campaign_id,
             ${resolvedId(target, 'ad_set', sql`m.ad_set_external_id`)} as ad_set_id,
             ${resolvedId(target, 'ad', sql`m.ad_external_id`)} as ad_id
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
    ), whole as (
      select s.*,
             (s.campaign_id is null and s.campaign_external_id is not null)
               or (s.ad_set_id is null and s.ad_set_external_id is not null)
               or (s.ad_id is null and s.ad_external_id is not null) as lacks_parent
        from staged s
    ), put as (
      insert into daily_metrics as p (
        tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id, ad_id, impressions, clicks,
        reach, spend, conversions, conversion_value, currency, as_of, created_by_upload, last_upload)
      select distinct on (w.campaign_id, w.ad_set_id, w.ad_id, w.metric_date)
             ${target.tenantId}, ${target.workspaceId}::uuid, ${target.clientId}::uuid, ${target.platform},
             w.metric_date, w.campaign_id, w.ad_set_id, w.ad_id, w.impressions, w.clicks, w.reach, w.spend,
             w.conversions, w.conversion_value, w.currency, ${asOf(target)},
             ${target.uploadId}::uuid, ${target.uploadId}::uuid
        from whole w
       where not w.lacks_parent
       order by w.campaign_id, w.ad_set_id, w.ad_id, w.metric_date, w.row_index desc
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
