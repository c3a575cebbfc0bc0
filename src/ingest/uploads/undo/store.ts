import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import type { UploadKey } from '../types.ts';

/**
 * Takes back what an upload created, as far as nobody has stated it since: one pass over the metrics in pieces. What
 * another upload confirmed becomes that upload's, and where this one merely confirmed, it takes its word back: a row
 * goes once the last who stated it is undone. `lastId` is where the next piece begins; null when there is no more.
 */
export async function undoMetrics(
  tx: Tx,
  { tenantId, uploadId, afterId, limit }: UploadKey & { afterId: number; limit: number },
): Promise<{ deleted: number; left: number; lastId: number | null }> {
  const row = await tx.find<{ deleted: number; left: number; lastId: number | null }>(sql`
    with looked as materialized (
      select p.metric_id, ${isTouchedBy(uploadId)} as is_touched
        from daily_metrics p
       where p.tenant_id = ${tenantId}
         and p.metric_id > ${afterId}
       order by p.metric_id
       limit ${limit}
    ), gone as (
      delete from daily_metrics p
       using looked l
       where p.tenant_id = ${tenantId}
         and p.metric_id = l.metric_id
         and l.is_touched
         and ${isOnlyOf(uploadId)}
      returning 1
    ), released as (
      update daily_metrics p
         set ${releasedFrom(uploadId)}
        from looked l
       where p.tenant_id = ${tenantId}
         and p.metric_id = l.metric_id
         and l.is_touched
         and ${isReleasedBy(uploadId)}
    )
    select (select count(*) from gone) as deleted,
           (select count(*) from looked where is_touched) - (select count(*) from gone) as left,
           (select max(metric_id) from looked) as "lastId"`);
  return row ?? { deleted: 0, left: 0, lastId: null };
}

/** For production rows `p`: nobody else has stated what they say. */
function isOnlyOf(uploadId: string): Sql {
  return sql`(p.created_by_upload = ${uploadId} and p.last_upload = ${uploadId} and p.confirmed_by_upload is null)`;
}

function isTouchedBy(uploadId: string): Sql {
  return sql`coalesce(${uploadId} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload), false)`;
}

/** Rows that stay, and are no longer this upload's to delete or to keep. */
function isReleasedBy(uploadId: string): Sql {
  return sql`(p.confirmed_by_upload = ${uploadId}
           or (p.created_by_upload = ${uploadId} and p.last_upload = ${uploadId}
               and p.confirmed_by_upload is not null))`;
}

/** What it gave first and another upload confirmed is as if that one had given it. */
function releasedFrom(uploadId: string): Sql {
  return sql`created_by_upload = case
               when p.confirmed_by_upload = ${uploadId} then p.created_by_upload else p.confirmed_by_upload end,
             last_upload = case
               when p.confirmed_by_upload = ${uploadId} then p.last_upload else p.confirmed_by_upload end,
             confirmed_by_upload = null`;
}

/** From the leaves upwards: an ad set or a campaign goes only when nothing hangs on it any more. */
export async function deleteCreatedAds(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<number> {
  return tx.run(sql`
    delete from ads p
     where p.tenant_id = ${tenantId}
       and ${isOnlyOf(uploadId)}
       and not exists (select from daily_metrics m where m.tenant_id = p.tenant_id and m.ad_id = p.ad_id)`);
}

export async function deleteCreatedAdSets(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<number> {
  return tx.run(sql`
    delete from ad_sets p
     where p.tenant_id = ${tenantId}
       and ${isOnlyOf(uploadId)}
       and not exists (select from ads a where a.tenant_id = p.tenant_id and a.ad_set_id = p.ad_set_id)
       and not exists (select from daily_metrics m where m.tenant_id = p.tenant_id and m.ad_set_id = p.ad_set_id)`);
}

export async function deleteCreatedCampaigns(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<number> {
  return tx.run(sql`
    delete from campaigns p
     where p.tenant_id = ${tenantId}
       and ${isOnlyOf(uploadId)}
       and not exists (select from ad_sets a where a.tenant_id = p.tenant_id and a.campaign_id = p.campaign_id)
       and not exists (select from ads a where a.tenant_id = p.tenant_id and a.campaign_id = p.campaign_id)
       and not exists (select from daily_metrics m where m.tenant_id = p.tenant_id and m.campaign_id = p.campaign_id)`);
}

/** What the upload touched and undo leaves: values that it replaced cannot be brought back. */
export async function countLeft(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
): Promise<{ campaigns: number; adSets: number; ads: number }> {
  const row = await tx.find<{ campaigns: number; adSets: number; ads: number }>(sql`
    select (select count(*) from campaigns p
             where p.tenant_id = ${tenantId} and ${isTouchedBy(uploadId)}) as campaigns,
           (select count(*) from ad_sets p
             where p.tenant_id = ${tenantId} and ${isTouchedBy(uploadId)}) as "adSets",
           (select count(*) from ads p
             where p.tenant_id = ${tenantId} and ${isTouchedBy(uploadId)}) as ads`);
  return row ?? { campaigns: 0, adSets: 0, ads: 0 };
}

/** Campaigns, ad sets and ads that stay become those of the uploads that confirmed them. */
export async function releaseEntities(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<void> {
  await tx.run(sql`
    update ads p
       set ${releasedFrom(uploadId)}
     where p.tenant_id = ${tenantId}
       and ${isReleasedBy(uploadId)}`);
  await tx.run(sql`
    update ad_sets p
       set ${releasedFrom(uploadId)}
     where p.tenant_id = ${tenantId}
       and ${isReleasedBy(uploadId)}`);
  await tx.run(sql`
    update campaigns p
       set ${releasedFrom(uploadId)}
     where p.tenant_id = ${tenantId}
       and ${isReleasedBy(uploadId)}`);
}

export interface EntityCounts {
  campaigns: number;
  ad_sets: number;
  ads: number;
  daily_metrics: number;
}

/**
 * What undo would find now: what the upload touched, and what of it can go. A parent goes when everything below it
 * goes. Everything that an upload touches lies in its workspace.
 */
export async function estimateUndo(
  tx: Tx,
  { tenantId, uploadId, workspaceId }: UploadKey & { workspaceId: string },
): Promise<{ touched: EntityCounts; deleted: EntityCounts }> {
  const row = await tx.find<{ touched: EntityCounts; deleted: EntityCounts }>(sql`
    with facts as materialized (
      select p.campaign_id, p.ad_set_id, p.ad_id, ${isTouchedBy(uploadId)} as is_touched,
             ${isOnlyOf(uploadId)} as goes
        from daily_metrics p
       where p.tenant_id = ${tenantId}
         and p.workspace_id = ${workspaceId}
    ), own_ads as materialized (
      select p.ad_id, p.ad_set_id, p.campaign_id,
             ${isOnlyOf(uploadId)}
               and p.ad_id not in (select f.ad_id from facts f where not f.goes and f.ad_id is not null) as goes,
             ${isTouchedBy(uploadId)} as is_touched
        from ads p
       where p.tenant_id = ${tenantId}
         and p.workspace_id = ${workspaceId}
    ), own_ad_sets as materialized (
      select p.ad_set_id, p.campaign_id,
             ${isOnlyOf(uploadId)}
               and p.ad_set_id not in (select f.ad_set_id from facts f where not f.goes and f.ad_set_id is not null)
               and p.ad_set_id not in (select a.ad_set_id from own_ads a where not a.goes and a.ad_set_id is not null)
               as goes,
             ${isTouchedBy(uploadId)} as is_touched
        from ad_sets p
       where p.tenant_id = ${tenantId}
         and p.workspace_id = ${workspaceId}
    ), own_campaigns as materialized (
      select ${isOnlyOf(uploadId)}
               and p.campaign_id not in (
                 select f.campaign_id from facts f where not f.goes and f.campaign_id is not null)
               and p.campaign_id not in (
                 select a.campaign_id from own_ads a where not a.goes and a.campaign_id is not null)
               and p.campaign_id not in (
                 select s.campaign_id from own_ad_sets s where not s.goes and s.campaign_id is not null) as goes,
             ${isTouchedBy(uploadId)} as is_touched
        from campaigns p
       where p.tenant_id = ${tenantId}
         and p.workspace_id = ${workspaceId}
    )
    select jsonb_build_object(
             'campaigns', (select count(*) from own_campaigns where is_touched),
             'ad_sets', (select count(*) from own_ad_sets where is_touched),
             'ads', (select count(*) from own_ads where is_touched),
             'daily_metrics', (select count(*) from facts where is_touched)) as touched,
           jsonb_build_object(
             'campaigns', (select count(*) from own_campaigns where goes),
             'ad_sets', (select count(*) from own_ad_sets where goes),
             'ads', (select count(*) from own_ads where goes),
             'daily_metrics', (select count(*) from facts where goes)) as deleted`);
  if (!row) throw new Error('A statement of counts gave no row');
  return row;
}

export async function markUndone(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<boolean> {
  const marked = await tx.run(sql`
    update data_uploads
       set undone_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and status in ('completed', 'partial')
       and undone_at is null`);
  return marked === 1;
}
