import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { fileColumns } from '../adapter-columns.ts';
import type { AdapterFile, AdapterKey, FileKey, FileState } from '../types.ts';

export interface FilePage extends AdapterKey {
  after: string | null;
  limit: number;
}

/** Newest first. */
export function listFiles(tx: Tx, { tenantId, name, after, limit }: FilePage): Promise<AdapterFile[]> {
  return tx.rows<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and (${after}::uuid is null or f.file_id < ${after}::uuid)
     order by f.file_id desc
     limit ${limit}`);
}

export function listFilesOf(
  tx: Tx,
  { tenantId, name, state, after, limit }: FilePage & { state: FileState },
): Promise<AdapterFile[]> {
  return tx.rows<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.state = ${state}
       and (${after}::uuid is null or f.file_id < ${after}::uuid)
     order by f.file_id desc
     limit ${limit}`);
}

export function findFile(
  tx: Tx,
  { tenantId, name, fileId }: AdapterKey & FileKey,
): Promise<AdapterFile | null> {
  return tx.find<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.file_id = ${fileId}`);
}

/** How many files of each adapter are in which state. */
export function countFiles(
  tx: Tx,
  { tenantId, names }: { tenantId: string; names: readonly string[] },
): Promise<{ adapter: string; state: FileState; count: number }[]> {
  return tx.rows(sql`
    select adapter, state, count(*) as count
      from adapter_files
     where tenant_id = ${tenantId}
       and adapter = any(${names}::text[])
     group by adapter, state`);
}

/** Another version of the path that waits already is the one to be tried; false then too. */
export async function reopenFailed(
  tx: Tx,
  { tenantId, name, fileId }: AdapterKey & FileKey,
): Promise<boolean> {
  const reopened = await tx.run(sql`
    update adapter_files f
       set state = 'waiting',
           attempts = 0,
           looks = 2,
           same_since = clock_timestamp() - interval '1 day',
           finished_at = null,
           reason_code = null,
           reason = null
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.file_id = ${fileId}
       and f.state = 'failed'
       and (f.moved_to is not null or not exists (
         select from adapter_files other
          where other.tenant_id = f.tenant_id
            and other.adapter = f.adapter
            and other.path = f.path
            and other.state = 'waiting'
            and other.moved_to is null))`);
  return reopened === 1;
}
