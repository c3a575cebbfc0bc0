import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { EntityKind, EntityType, Upload, UploadKey } from '../types.ts';

/** The upload whose rows are promoted, and the place in production that they go to. */
export type Target = Pick<
  Upload,
  'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform' | 'layout'
>;

interface EntityTable {
  table: Sql;
  id: Sql;
  /** The kinds that a row belongs to; its columns `<parent>_id` hold their ids. */
  parents: readonly EntityKind[];
  /** The columns that a report fills with text. */
  texts: readonly string[];
}

export const entityTables: Record<EntityKind, EntityTable> = {
  campaign: {
    table: sql`campaigns`,
    id: sql`campaign_id`,
    parents: [],
    texts: ['name', 'status', 'type'],
  },
  ad_set: {
    table: sql`ad_sets`,
    id: sql`ad_set_id`,
    parents: ['campaign'],
    texts: ['name', 'status'],
  },
  ad: {
    table: sql`ads`,
    id: sql`ad_id`,
    parents: ['campaign', 'ad_set'],
    texts: ['name', 'status'],
  },
};

/** Fragments with commas between them. */
export function commaList(fragments: readonly Sql[]): Sql {
  return fragments.reduce((list, fragment) => sql`${list}, ${fragment}`);
}

/** One fragment per column, with commas between them. `write` gets names from `entityTables`, never from outside. */
export function eachColumn(columns: readonly string[], write: (column: string) => string): Sql {
  return trustedSql(columns.map(write).join(', '));
}

/** Joins the parents of rows `p`, each under the name of its kind. */
export function joinParents(parents: readonly EntityKind[]): Sql {
  const joins = parents.map((parent) => {
    const { table, id } = entityTables[parent];
    const alias = trustedSql(parent);
    return sql`left join ${table} ${alias} on ${alias}.tenant_id = p.tenant_id and ${alias}.${id} = p.${id}`;
  });
  return joins.reduce((all, join) => sql`${all} ${join}`, sql``);
}

/** When the upload came in, read from the database: two can arrive within one millisecond of a JavaScript date. */
export function asOf({ tenantId, uploadId }: UploadKey): Sql {
  return sql`(
    select u.created_at
      from data_uploads u
     where u.tenant_id = ${tenantId}
       and u.upload_id = ${uploadId})`;
}

/**
 * The production row that an external id stands for in this upload. A subquery per row: without statistics on a new
 * upload, the planner sometimes runs a join without the index.
 */
export function resolvedId(
  { tenantId, uploadId }: UploadKey,
  entityType: EntityType | Sql,
  externalId: Sql,
): Sql {
  return sql`(
    select r.production_id
      from staging_id_resolution r
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}
       and r.entity_type = ${entityType}
       and r.external_id = ${externalId})`;
}

/** For an upsert of row `p`: the upload is at least as new as the row's values, so its values replace them. */
export const isNewest = sql`p.as_of <= excluded.as_of`;

/** An older upload that is promoted late changes no value, but undo must know that it stated the row first. */
const isFirst = sql`(p.as_of > excluded.as_of and p.created_by_upload = p.last_upload)`;

/** Which rows `p` an upsert touches at all. */
export const isConcerned = sql`(${isNewest} or ${isFirst})`;

/**
 * Which uploads created row `p`, gave its values, and confirmed them, as if uploads were promoted in the order in which
 * they came in. `isDifferent` says whether the upload's values differ from the row's. Undo relies on this: stating the
 * same values again is a confirmation and not a change.
 */
export function provenanceAfter(isDifferent: Sql): Sql {
  return sql`
           as_of = greatest(p.as_of, excluded.as_of),
           created_by_upload = case when ${isFirst} then excluded.created_by_upload else p.created_by_upload end,
           last_upload = case when ${givesValues(isDifferent)} then excluded.last_upload else p.last_upload end,
           confirmed_by_upload = case
             when ${isNewest} and ${isDifferent} then null
             when ${isNewest} then nullif(excluded.last_upload, p.last_upload)
             when ${isFirst} and not ${isDifferent} then coalesce(p.confirmed_by_upload, p.last_upload)
             else p.confirmed_by_upload end,
           updated_at = case when ${isNewest} and ${isDifferent} then clock_timestamp() else p.updated_at end`;
}

/** For an upsert of row `p`: whether `last_upload` becomes the upload whose row it is. */
function givesValues(isDifferent: Sql): Sql {
  return sql`((${isNewest} and ${isDifferent}) or (${isFirst} and not ${isDifferent}))`;
}

/** The line of fact `p` is one of the file of its `last_upload`. */
export function lineAfter(isDifferent: Sql): Sql {
  return sql`line_no = case when ${givesValues(isDifferent)} then excluded.line_no else p.line_no end,`;
}

/** Facts look up their parents with query plans that depend on the statistics of the entities just written. */
export async function analyzeEntities(tx: Tx): Promise<void> {
  await tx.run(sql`select analyze_entities()`);
}

/** The next valid staged rows of an entity, in the order of the file. */
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

/** Numbered staged rows `s` of one entity. */
function areStaged(
  { tenantId, uploadId }: UploadKey,
  entityType: EntityType,
  rowIndexes: readonly number[],
): Sql {
  // The range is given as well: without statistics, which a file that was just staged never has, PostgreSQL before 17
  // would read all rows of the upload to find the numbered ones.
  return sql`s.tenant_id = ${tenantId}
         and s.upload_id = ${uploadId}
         and s.entity_type = ${entityType}
         and s.row_index between ${rowIndexes[0]} and ${rowIndexes.at(-1)}
         and s.row_index = any(${rowIndexes}::integer[])`;
}

/**
 * Writes the campaigns, ad sets or ads of a batch to production. The last of several rows with one key wins. Values of
 * a newer upload stay, and a row that states nothing new is only marked as confirmed. The rows are sorted by key so
 * that two uploads lock them in the same order.
 */
export async function upsertEntities(
  tx: Tx,
  target: Target,
  { kind, rowIndexes }: { kind: EntityKind; rowIndexes: readonly number[] },
): Promise<void> {
  const { table, parents, texts } = entityTables[kind];
  const columns = [...parents.map((parent) => `${parent}_id`), ...texts];
  const named = eachColumn(columns, (column) => column);
  const stated = commaList([
    ...parents.map((parent) => {
      const externalId = trustedSql(`s.raw_data ->> '${parent}_external_id'`);
      return sql`${resolvedId(target, parent, externalId)} as ${trustedSql(`${parent}_id`)}`;
    }),
    ...texts.map((column) => trustedSql(`s.raw_data ->> '${column}' as ${column}`)),
  ]);
  await tx.run(sql`
    with staged as materialized (
      select distinct on (s.raw_data ->> 'external_id')
             s.raw_data ->> 'external_id' as external_id, (s.raw_data ->> 'is_name_key')::boolean as is_name_key,
             ${stated}
        from staging_rows s
       where ${areStaged(target, kind, rowIndexes)}
       order by s.raw_data ->> 'external_id', s.row_index desc
    )
    insert into ${table} as p (
      tenant_id, workspace_id, client_id, platform, external_id, is_name_key, ${named}, as_of, created_by_upload,
      last_upload)
    select ${target.tenantId}, ${target.workspaceId}, ${target.clientId}, ${target.platform}, s.external_id,
           s.is_name_key, ${eachColumn(columns, (column) => `s.${column}`)}, ${asOf(target)}, ${target.uploadId},
           ${target.uploadId}
      from staged s
     order by s.external_id
    on conflict (tenant_id, workspace_id, client_id, platform, external_id) do update
       set (${named}) = row(${eachColumn(
         columns,
         (column) =>
           `case when ${isNewest.text} then coalesce(excluded.${column}, p.${column}) else p.${column} end`,
       )}),
           ${provenanceAfter(sql`((${eachColumn(columns, (column) => `p.${column}`)}) is distinct from
                  (${eachColumn(columns, (column) => `coalesce(excluded.${column}, p.${column})`)}))`)}
     where ${isConcerned}`);
}

/**
 * Remembers which production rows the external ids of a batch stand for. The ids are read from the JSON first: its
 * operators are not leakproof, so under a row-level security policy they prevent the use of an index.
 */
export async function resolveEntities(
  tx: Tx,
  target: Target,
  { kind, rowIndexes }: { kind: EntityKind; rowIndexes: readonly number[] },
): Promise<void> {
  await tx.run(sql`
    with named as materialized (
      select distinct s.raw_data ->> 'external_id' as external_id
        from staging_rows s
       where ${areStaged(target, kind, rowIndexes)}
    )
    insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
    ${productionIds(target, kind, sql`select n.external_id from named n`)}
    on conflict (tenant_id, upload_id, entity_type, external_id) do update
       set production_id = excluded.production_id`);
}

/** Finds parents that this upload did not create itself but another upload just has. */
export async function adoptParents(tx: Tx, target: Target, rowIndexes: readonly number[]): Promise<void> {
  const idsOf = (kind: EntityKind) =>
    productionIds(target, kind, sql`select n.external_id from named n where n.entity_type = ${kind}`);
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
         and s.entity_type in ('daily_metric', 'period_metric')
         and s.row_index = any(${rowIndexes}::integer[])
    )
    insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
    ${idsOf('campaign')}
     union all
    ${idsOf('ad_set')}
     union all
    ${idsOf('ad')}
    on conflict (tenant_id, upload_id, entity_type, external_id) do nothing`);
}

/** Rows for `staging_id_resolution`: the production rows of the target with these external ids. */
function productionIds(target: Target, kind: EntityKind, externalIds: Sql): Sql {
  const { table, id } = entityTables[kind];
  return sql`select ${target.tenantId}, ${target.uploadId}::uuid, ${kind}::text, p.external_id, p.${id}
      from ${table} p
     where p.tenant_id = ${target.tenantId}
       and p.workspace_id = ${target.workspaceId}
       and ${isOfClient(target)}
       and p.platform = ${target.platform}
       and p.external_id = any(array(${externalIds}))`;
}

/** For production rows `p`. `is not distinct from` would read the index of the whole workspace for every row. */
function isOfClient({ clientId }: Pick<Target, 'clientId'>): Sql {
  return clientId === null ? sql`p.client_id is null` : sql`p.client_id = ${clientId}`;
}

/** Forgets parents that were resolved and have been deleted since, so that they are looked up again. */
export async function forgetLostParents(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<void> {
  const isLost = (kind: EntityKind) => {
    const { table, id } = entityTables[kind];
    return sql`not exists (
         select from ${table} p
          where r.entity_type = ${kind} and p.tenant_id = ${tenantId} and p.${id} = r.production_id)`;
  };
  await tx.run(sql`
    delete from staging_id_resolution r
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}
       and ${isLost('campaign')}
       and ${isLost('ad_set')}
       and ${isLost('ad')}`);
}
