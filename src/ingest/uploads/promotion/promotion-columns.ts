import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import type { EntityType, Upload, UploadKey } from '../types.ts';

/** Whose production rows are written. */
export type Target = Pick<
  Upload,
  'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform' | 'layout'
>;

/** When the upload came in, as the database knows it: two can come within the millisecond of a JavaScript date. */
export function asOf({ tenantId, uploadId }: UploadKey): Sql {
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

/** For production rows `p`. `is not distinct from` would read the index of the whole workspace for every row. */
export function isOfClient({ clientId }: Pick<Target, 'clientId'>): Sql {
  return clientId === null ? sql`p.client_id is null` : sql`p.client_id = ${clientId}`;
}

/** For an upsert of row `p`: the upload is not older than what the row holds, so its values count. */
export const isNewest = sql`p.as_of <= excluded.as_of`;

/** An older upload that comes late has nothing to say, but undo must not take the row for one of the newer alone. */
const isFirst = sql`(p.as_of > excluded.as_of and p.created_by_upload = p.last_upload)`;

/** Which rows `p` an upsert touches at all. */
export const isConcerned = sql`(${isNewest} or ${isFirst})`;

/**
 * Who made row `p`, who its values come from, and who stated them since without changing any, once an upload has
 * spoken: as if uploads were promoted in the order in which they came in. `isDifferent` says whether its values are
 * others than those of the row. Sending the same once more is no change, and undo has to know that.
 */
export function provenanceAfter(isDifferent: Sql): Sql {
  return sql`
           as_of = greatest(p.as_of, excluded.as_of),
           created_by_upload = case when ${isFirst} then excluded.created_by_upload else p.created_by_upload end,
           last_upload = case
             when ${isNewest} and ${isDifferent} then excluded.last_upload
             when ${isFirst} and not ${isDifferent} then excluded.last_upload
             else p.last_upload end,
           confirmed_by_upload = case
             when ${isNewest} and ${isDifferent} then null
             when ${isNewest} then nullif(excluded.last_upload, p.last_upload)
             when ${isFirst} and not ${isDifferent} then coalesce(p.confirmed_by_upload, p.last_upload)
             else p.confirmed_by_upload end,
           updated_at = case when ${isNewest} and ${isDifferent} then clock_timestamp() else p.updated_at end`;
}
