import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { entityTables } from '../promotion/store.ts';
import type { EntityKind, UploadKey, WorkspaceKey } from '../types.ts';

/** The tables that hold figures, with their ids. */
export const figureTables = {
  daily_metrics: { table: sql`daily_metrics`, id: sql`metric_id` },
  period_metrics: { table: sql`period_metrics`, id: sql`metric_id` },
  metric_breakdowns: { table: sql`metric_breakdowns`, id: sql`breakdown_id` },
};
export type FigureTable = keyof typeof figureTables;

/**
 * Undoes the figures of an upload in one table, one piece per call. It deletes those that no other upload has stated.
 * A metric that another upload confirmed is passed to that upload, and this upload's own confirmations are withdrawn.
 * So a row is deleted once the last upload that states it is undone. `lastId` is where the next piece begins; null at
 * the end.
 */
export async function undoMetrics(
  tx: Tx,
  {
    tenantId,
    uploadId,
    from,
    afterId,
    limit,
  }: UploadKey & { from: FigureTable; afterId: number; limit: number },
): Promise<{ deleted: number; left: number; lastId: number | null }> {
  const { table, id } = figureTables[from];
  const row = await tx.find<{ deleted: number; left: number; lastId: number | null }>(sql`
    with looked as materialized (
      select p.${id}, ${isTouchedBy(uploadId)} as is_touched
        from ${table} p
       where p.tenant_id = ${tenantId}
         and p.${id} > ${afterId}
       order by p.${id}
       limit ${limit}
    ), gone as (
      delete from ${table} p
       using looked l
       where p.tenant_id = ${tenantId}
         and p.${id} = l.${id}
         and l.is_touched
         and ${isOnlyOf(uploadId)}
      returning 1
    ), released as (
      update ${table} p
         set ${releasedFrom(uploadId)}
        from looked l
       where p.tenant_id = ${tenantId}
         and p.${id} = l.${id}
         and l.is_touched
         and ${isReleasedBy(uploadId)}
    )
    select (select count(*) from gone) as deleted,
           (select count(*) from looked where is_touched) - (select count(*) from gone) as left,
           (select max(${id}) from looked) as "lastId"`);
  return row ?? { deleted: 0, left: 0, lastId: null };
}

/** For production rows `p`: no other upload has stated their values. */
function isOnlyOf(uploadId: string): Sql {
  return sql`(p.created_by_upload = ${uploadId} and p.last_upload = ${uploadId} and p.confirmed_by_upload is null)`;
}

function isTouchedBy(uploadId: string): Sql {
  return sql`coalesce(${uploadId} in (p.created_by_upload, p.last_upload, p.confirmed_by_upload), false)`;
}

/** Rows that stay and no longer depend on this upload. */
function isReleasedBy(uploadId: string): Sql {
  return sql`(p.confirmed_by_upload = ${uploadId}
           or (p.created_by_upload = ${uploadId} and p.last_upload = ${uploadId}
               and p.confirmed_by_upload is not null))`;
}

/** A row that this upload created and another confirmed becomes a row that the other created. */
function releasedFrom(uploadId: string): Sql {
  return sql`created_by_upload = case
               when p.confirmed_by_upload = ${uploadId} then p.created_by_upload else p.confirmed_by_upload end,
             last_upload = case
               when p.confirmed_by_upload = ${uploadId} then p.last_upload else p.confirmed_by_upload end,
             confirmed_by_upload = null`;
}

/** Deletes entities of one kind, except those that something still belongs to. Call it for ads first, then upwards. */
export async function deleteCreated(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  kind: EntityKind,
): Promise<number> {
  const { table, id } = entityTables[kind];
  const children = Object.values(entityTables)
    .filter(({ parents }) => parents.includes(kind))
    .map((child) => child.table);
  const figures = Object.values(figureTables).map((one) => one.table);
  const isUnused = [...children, ...figures].map(
    (child) => sql`not exists (select from ${child} c where c.tenant_id = p.tenant_id and c.${id} = p.${id})`,
  );
  return tx.run(sql`
    delete from ${table} p
     where p.tenant_id = ${tenantId}
       and ${isUnused.reduce((all, one) => sql`${all} and ${one}`, isOnlyOf(uploadId))}`);
}

/** How many entities of one kind the upload touched and undo leaves: replaced values cannot be restored. */
export async function countLeft(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  kind: EntityKind,
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from ${entityTables[kind].table} p
     where p.tenant_id = ${tenantId}
       and ${isTouchedBy(uploadId)}`);
  return row?.count ?? 0;
}

/** Passes the entities of one kind that stay to the uploads that confirmed them. */
export async function releaseEntities(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  kind: EntityKind,
): Promise<void> {
  await tx.run(sql`
    update ${entityTables[kind].table} p
       set ${releasedFrom(uploadId)}
     where p.tenant_id = ${tenantId}
       and ${isReleasedBy(uploadId)}`);
}

export type EntityCounts = Record<'campaigns' | 'ad_sets' | 'ads' | FigureTable, number>;

/**
 * What undo would do now: the rows that the upload touched, and those of them that would be deleted. A parent is
 * deleted when everything below it is. Everything that an upload touches lies in its workspace.
 */
export async function estimateUndo(
  tx: Tx,
  { tenantId, uploadId, workspaceId }: UploadKey & WorkspaceKey,
): Promise<{ touched: EntityCounts; deleted: EntityCounts }> {
  const row = await tx.find<{ touched: EntityCounts; deleted: EntityCounts }>(sql`
    with facts as materialized (
      ${factsIn('daily_metrics', { tenantId, uploadId, workspaceId })}
       union all
      ${factsIn('period_metrics', { tenantId, uploadId, workspaceId })}
       union all
      ${factsIn('metric_breakdowns', { tenantId, uploadId, workspaceId })}
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
             ${countsBy('is_touched')}) as touched,
           jsonb_build_object(
             'campaigns', (select count(*) from own_campaigns where goes),
             'ad_sets', (select count(*) from own_ad_sets where goes),
             'ads', (select count(*) from own_ads where goes),
             ${countsBy('goes')}) as deleted`);
  if (!row) throw new Error('The query for the counts returned no row');
  return row;
}

function factsIn(from: FigureTable, { tenantId, uploadId, workspaceId }: UploadKey & WorkspaceKey): Sql {
  return sql`select ${from}::text as source, p.campaign_id, p.ad_set_id, p.ad_id,
             ${isTouchedBy(uploadId)} as is_touched, ${isOnlyOf(uploadId)} as goes
        from ${figureTables[from].table} p
       where p.tenant_id = ${tenantId}
         and p.workspace_id = ${workspaceId}`;
}

function countsBy(condition: 'is_touched' | 'goes'): Sql {
  const counts = Object.keys(figureTables).map(
    (source) => `'${source}', (select count(*) from facts where source = '${source}' and ${condition})`,
  );
  return trustedSql(counts.join(', '));
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
