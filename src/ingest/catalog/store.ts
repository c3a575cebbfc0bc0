import type { Tx } from '../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { Catalog, CatalogKey } from './types.ts';

const catalogColumns = trustedSql(`
  c.tenant_id as "tenantId", c.name, c.version, c.version_id as "versionId", c.product_count as "productCount",
  c.skipped_count as "skippedCount", c.columns, c.fields, c.file_name as "fileName", c.updated_by as "updatedBy",
  c.created_at as "createdAt", c.updated_at as "updatedAt"`);

export function findCatalog(tx: Tx, { tenantId, name }: CatalogKey): Promise<Catalog | null> {
  return tx.find<Catalog>(sql`
    select ${catalogColumns}
      from catalogs c
     where c.tenant_id = ${tenantId}
       and c.name = ${name}`);
}

export function listCatalogs(
  tx: Tx,
  { tenantId, after, limit }: { tenantId: string; after: string | null; limit: number },
): Promise<Catalog[]> {
  return tx.rows<Catalog>(sql`
    select ${catalogColumns}
      from catalogs c
     where c.tenant_id = ${tenantId}
       and c.name > ${after ?? ''}
     order by c.name
     limit ${limit}`);
}

export async function countCatalogs(tx: Tx, tenantId: string): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from catalogs
     where tenant_id = ${tenantId}`);
  return row?.count ?? 0;
}

/** A version that nobody uses yet. */
export async function insertVersion(
  tx: Tx,
  { tenantId, name, loadingBy }: CatalogKey & { loadingBy: string },
): Promise<number> {
  const row = await tx.find<{ versionId: number }>(sql`
    insert into catalog_versions (tenant_id, name, loading_by)
    values (${tenantId}, ${name}, ${loadingBy})
    returning version_id as "versionId"`);
  if (!row) throw new Error(`The version of catalogue ${name} was not written`);
  return row.versionId;
}

export interface LoadedVersion
  extends Omit<Catalog, 'version' | 'columns' | 'updatedBy' | 'createdAt' | 'updatedAt'> {
  columns: readonly string[];
  userId: string;
}

/** From here on every lookup uses the new version. False: upkeep considered it abandoned and removed it. */
export async function endLoading(
  tx: Tx,
  { tenantId, versionId }: { tenantId: string; versionId: number },
): Promise<boolean> {
  const ended = await tx.run(sql`
    update catalog_versions
       set loading_by = null
     where tenant_id = ${tenantId}
       and version_id = ${versionId}
       and loading_by is not null`);
  return ended === 1;
}

/** Two replacements that end at once are serialised by the catalogue's row; the later one wins. */
export async function useVersion(tx: Tx, loaded: LoadedVersion): Promise<Catalog> {
  const row = await tx.find<Catalog>(sql`
    insert into catalogs as c (tenant_id, name, version_id, product_count, skipped_count, columns, fields, file_name,
                               updated_by)
    values (${loaded.tenantId}, ${loaded.name}, ${loaded.versionId}, ${loaded.productCount}, ${loaded.skippedCount},
            ${JSON.stringify(loaded.columns)}, ${JSON.stringify(loaded.fields)}, ${loaded.fileName}, ${loaded.userId})
        on conflict (tenant_id, name) do update
       set version = c.version + 1,
           version_id = excluded.version_id,
           product_count = excluded.product_count,
           skipped_count = excluded.skipped_count,
           columns = excluded.columns,
           fields = excluded.fields,
           file_name = excluded.file_name,
           updated_by = excluded.updated_by,
           updated_at = clock_timestamp()
    returning ${catalogColumns}`);
  if (!row) throw new Error(`The catalogue ${loaded.name} was not written`);
  return row;
}

/** Retires versions that are no longer in use; a lookup that has just begun may still read them for a while. */
export async function retireVersions(
  tx: Tx,
  { tenantId, name, except }: CatalogKey & { except: number | null },
): Promise<void> {
  await tx.run(sql`
    update catalog_versions
       set retired_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and name = ${name}
       and loading_by is null
       and retired_at is null
       and version_id is distinct from ${except}`);
}

export async function deleteCatalog(tx: Tx, { tenantId, name }: CatalogKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from catalogs
     where tenant_id = ${tenantId}
       and name = ${name}`);
  return deleted === 1;
}

/** For an upload that failed. */
export async function abandonVersion(
  tx: Tx,
  { tenantId, versionId }: { tenantId: string; versionId: number },
): Promise<void> {
  await tx.run(sql`
    update catalog_versions
       set loading_by = null,
           retired_at = '-infinity'
     where tenant_id = ${tenantId}
       and version_id = ${versionId}
       and loading_by is not null`);
}

export interface UnusedVersion {
  tenantId: string;
  versionId: number;
}

/** Over all tenants: versions that were retired a while ago, and those whose process has died. */
export function listUnusedVersions(tx: Tx, limit: number): Promise<UnusedVersion[]> {
  return tx.rows<UnusedVersion>(sql`
    select v.tenant_id as "tenantId", v.version_id as "versionId"
      from catalog_versions v
     where (v.loading_by is not null or v.retired_at is not null)
       and (v.retired_at < clock_timestamp() - interval '1 minute'
            or (v.loading_by is not null and not exists (
              select from workers w
               where w.worker_id = v.loading_by
                 and w.lost_at is null
                 and w.heartbeat_at > clock_timestamp() - interval '5 minutes')))
     limit ${limit}`);
}

/** Deletes a batch of products of an unused version; the version is deleted after the last one. */
export async function deleteProducts(
  tx: Tx,
  { tenantId, versionId, limit }: UnusedVersion & { limit: number },
): Promise<number> {
  const deleted = await tx.run(sql`
    delete from catalog_products
     where ctid = any(array(
       select ctid
         from catalog_products
        where tenant_id = ${tenantId}
          and version_id = ${versionId}
        limit ${limit}))`);
  if (deleted > 0) return deleted;
  await tx.run(sql`
    delete from catalog_versions
     where tenant_id = ${tenantId}
       and version_id = ${versionId}`);
  return 0;
}
