import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { FileKey, FileRecord, FilesBackend } from './types.ts';

const columns = sql`tenant_id as "tenantId", file_id as "fileId", name, media_type as "mediaType",
       size_bytes as "sizeBytes", sha256, storage, storage_key as "storageKey",
       created_by as "createdBy", created_at as "createdAt"`;

export async function insertFile(tx: Tx, file: Omit<FileRecord, 'createdAt'>): Promise<FileRecord> {
  const [row] = await tx.rows<FileRecord>(sql`
    insert into files (tenant_id, file_id, name, media_type, size_bytes, sha256, storage, storage_key, created_by)
    values (${file.tenantId}, ${file.fileId}, ${file.name}, ${file.mediaType}, ${file.sizeBytes}, ${file.sha256},
            ${file.storage}, ${file.storageKey}, ${file.createdBy})
    returning ${columns}`);
  if (!row) throw new Error(`The row of file ${file.fileId} was not returned by its own insert`);
  return row;
}

/** Many at once, in one statement. */
export async function insertFiles(tx: Tx, files: readonly Omit<FileRecord, 'createdAt'>[]): Promise<void> {
  if (files.length === 0) return;
  await tx.run(sql`
    insert into files (tenant_id, file_id, name, media_type, size_bytes, sha256, storage, storage_key, created_by)
    select f."tenantId", f."fileId", f.name, f."mediaType", f."sizeBytes", f.sha256, f.storage, f."storageKey",
           f."createdBy"
      from jsonb_to_recordset(${JSON.stringify(files)}::jsonb) as f (
        "tenantId" text, "fileId" uuid, name text, "mediaType" text, "sizeBytes" bigint, sha256 text, storage text,
        "storageKey" text, "createdBy" text)`);
}

export async function findFile(tx: Tx, { tenantId, fileId }: FileKey): Promise<FileRecord | null> {
  return tx.find<FileRecord>(sql`
    select ${columns}
      from files
     where tenant_id = ${tenantId}
       and file_id = ${fileId}`);
}

/** Newest first; ids are ordered by time, so the id of the last row is the cursor. */
export async function listFiles(
  tx: Tx,
  { tenantId, beforeFileId, limit }: { tenantId: string; beforeFileId: string | null; limit: number },
): Promise<FileRecord[]> {
  const last = beforeFileId ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  return tx.rows<FileRecord>(sql`
    select ${columns}
      from files
     where tenant_id = ${tenantId}
       and file_id < ${last}
     order by file_id desc
     limit ${limit}`);
}

export async function deleteFile(tx: Tx, { tenantId, fileId }: FileKey): Promise<FileRecord | null> {
  return tx.find<FileRecord>(sql`
    delete from files
     where tenant_id = ${tenantId}
       and file_id = ${fileId}
    returning ${columns}`);
}

/** Which of these keys a row still names, over all tenants, for the sweep. Needs the kernel role. */
export async function listNamedKeys(
  tx: Tx,
  { storage, storageKeys }: { storage: FilesBackend; storageKeys: string[] },
): Promise<string[]> {
  const rows = await tx.rows<{ storageKey: string }>(sql`
    select distinct storage_key as "storageKey"
      from files
     where storage = ${storage}
       and storage_key = any(${storageKeys}::text[])`);
  return rows.map((row) => row.storageKey);
}
