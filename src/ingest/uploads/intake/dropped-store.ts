import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';

export interface DroppedKey {
  tenantId: string;
  path: string;
  sizeBytes: number;
  modifiedAt: Date;
}

export async function tenantExists(tx: Tx, tenantId: string): Promise<boolean> {
  const found = await tx.find(sql`
    select 1 as found
      from tenants
     where tenant_id = ${tenantId}`);
  return found !== null;
}

/** Whether the error says that another worker has just recorded the same file. */
export function isRecordedAlready(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23505' && constraint === 'dropped_files_pkey';
}

export async function findDropped(tx: Tx, key: DroppedKey): Promise<boolean> {
  const found = await tx.find(sql`
    select 1 as found
      from dropped_files
     where tenant_id = ${key.tenantId}
       and path = ${key.path}
       and size_bytes = ${key.sizeBytes}
       and modified_at = ${key.modifiedAt}`);
  return found !== null;
}

export async function insertDropped(
  tx: Tx,
  dropped: DroppedKey & { uploadId: string | null; errorText: string | null },
): Promise<void> {
  await tx.run(sql`
    insert into dropped_files (tenant_id, path, size_bytes, modified_at, upload_id, error_text)
    values (${dropped.tenantId}, ${dropped.path}, ${dropped.sizeBytes}, ${dropped.modifiedAt}, ${dropped.uploadId},
            ${dropped.errorText})`);
}
