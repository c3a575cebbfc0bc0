import { type Sql, sql } from '../../lib/sql.ts';
import type { EntityType, Upload, UploadKey } from './types.ts';

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

/**
 * Who the values of row `p` come from, and who stated them since, once an upload that is not older has spoken.
 * `isChange` says whether it changed any: sending the same once more does not, and undo has to know that.
 */
export function provenanceAfter(isChange: Sql): Sql {
  return sql`
           as_of = excluded.as_of,
           last_upload = case when ${isChange} then excluded.last_upload else p.last_upload end,
           confirmed_by_upload = case
             when ${isChange} then null else nullif(excluded.last_upload, p.last_upload) end,
           updated_at = case when ${isChange} then clock_timestamp() else p.updated_at end`;
}
