import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { EntityType, UploadKey } from '../types.ts';
import {
  asOf,
  isConcerned,
  isNewest,
  isOfClient,
  provenanceAfter,
  resolvedId,
  type Target,
} from './promotion-columns.ts';

/** What dimensions have just become: facts look their parents up by plans that are made with these figures. */
export async function analyzeEntities(tx: Tx): Promise<void> {
  await tx.run(sql`select analyze_entities()`);
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
       set name = case when ${isNewest} then coalesce(excluded.name, p.name) else p.name end,
           status = case when ${isNewest} then coalesce(excluded.status, p.status) else p.status end,
           type = case when ${isNewest} then coalesce(excluded.type, p.type) else p.type end,
           ${provenanceAfter(sql`((p.name, p.status, p.type)
                  is distinct from (coalesce(excluded.name, p.name), coalesce(excluded.status, p.status),
                                    coalesce(excluded.type, p.type)))`)}
     where ${isConcerned}`);
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
       set campaign_id = case
             when ${isNewest} then coalesce(excluded.campaign_id, p.campaign_id) else p.campaign_id end,
           name = case when ${isNewest} then coalesce(excluded.name, p.name) else p.name end,
           status = case when ${isNewest} then coalesce(excluded.status, p.status) else p.status end,
           ${provenanceAfter(sql`((p.campaign_id, p.name, p.status)
                  is distinct from (coalesce(excluded.campaign_id, p.campaign_id), coalesce(excluded.name, p.name),
                                    coalesce(excluded.status, p.status)))`)}
     where ${isConcerned}`);
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
       set campaign_id = case
             when ${isNewest} then coalesce(excluded.campaign_id, p.campaign_id) else p.campaign_id end,
           ad_set_id = case when ${isNewest} then coalesce(excluded.ad_set_id, p.ad_set_id) else p.ad_set_id end,
           name = case when ${isNewest} then coalesce(excluded.name, p.name) else p.name end,
           status = case when ${isNewest} then coalesce(excluded.status, p.status) else p.status end,
           ${provenanceAfter(sql`((p.campaign_id, p.ad_set_id, p.name, p.status)
                  is distinct from (coalesce(excluded.campaign_id, p.campaign_id),
                                    coalesce(excluded.ad_set_id, p.ad_set_id), coalesce(excluded.name, p.name),
                                    coalesce(excluded.status, p.status)))`)}
     where ${isConcerned}`);
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
