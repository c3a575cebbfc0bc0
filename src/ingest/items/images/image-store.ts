import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { ItemKey, JobKey } from '../types.ts';
import type { ImageFile, ImageKind } from './types.ts';

/** The files have their rows already. */
export async function insertImages(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  { kind, images }: { kind: ImageKind; images: readonly { rowNo: number; fileId: string }[] },
): Promise<void> {
  if (images.length === 0) return;
  await tx.run(sql`
    insert into item_images (tenant_id, job_id, row_no, kind, file_id)
    select ${tenantId}, ${jobId}, i.row_no, ${kind}, i.file_id
      from unnest(${images.map(({ rowNo }) => rowNo)}::integer[],
                  ${images.map(({ fileId }) => fileId)}::uuid[]) as i (row_no, file_id)`);
}

export function findImage(
  tx: Tx,
  { tenantId, jobId, itemId, kind }: ItemKey & { kind: ImageKind },
): Promise<ImageFile | null> {
  return tx.find<ImageFile>(sql`
    select f.name, f.media_type as "mediaType", f.size_bytes as "sizeBytes", f.sha256, f.storage_key as "storageKey"
      from job_items i
      join item_images m on m.tenant_id = i.tenant_id and m.job_id = i.job_id and m.row_no = i.row_no
      join files f on f.tenant_id = m.tenant_id and f.file_id = m.file_id
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.id = ${itemId}
       and m.kind = ${kind}`);
}

export function listImages(
  tx: Tx,
  { tenantId, jobId, kind, rowNos }: JobKey & { kind: ImageKind; rowNos: readonly number[] },
): Promise<(ImageFile & { rowNo: number })[]> {
  return tx.rows<ImageFile & { rowNo: number }>(sql`
    select m.row_no as "rowNo", f.name, f.media_type as "mediaType", f.size_bytes as "sizeBytes", f.sha256,
           f.storage_key as "storageKey"
      from item_images m
      join files f on f.tenant_id = m.tenant_id and f.file_id = m.file_id
     where m.tenant_id = ${tenantId}
       and m.job_id = ${jobId}
       -- Repeated: by the range alone the index finds them, whatever the planner does with the list.
       and m.row_no between ${Math.min(...rowNos)} and ${Math.max(...rowNos)}
       and m.row_no = any(${rowNos}::integer[])
       and m.kind = ${kind}`);
}

/** Makes other writers of these thumbnails wait. Returns the row numbers of items that still exist, by id. */
export async function lockRows(
  tx: Tx,
  { tenantId, jobId, itemIds }: JobKey & { itemIds: readonly number[] },
): Promise<Map<number, number>> {
  const rows = await tx.rows<{ id: number; rowNo: number }>(sql`
    select id, row_no as "rowNo"
      from job_items
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and id between ${Math.min(...itemIds)} and ${Math.max(...itemIds)}
       and id = any(${itemIds}::bigint[])
     order by id
       for no key update`);
  return new Map(rows.map(({ id, rowNo }) => [id, rowNo]));
}

/** With the rows of their files, by trigger. */
export async function deleteImages(
  tx: Tx,
  { tenantId, jobId, kind, rowNos }: JobKey & { kind: ImageKind; rowNos: readonly number[] },
): Promise<void> {
  await tx.run(sql`
    delete from item_images
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and row_no between ${Math.min(...rowNos)} and ${Math.max(...rowNos)}
       and row_no = any(${rowNos}::integer[])
       and kind = ${kind}`);
}

/** All stored files of a job; read before the job is deleted, because afterwards nothing names them. */
export async function listStorageKeys(tx: Tx, { tenantId, jobId }: JobKey): Promise<string[]> {
  const rows = await tx.rows<{ storageKey: string }>(sql`
    select f.storage_key as "storageKey"
      from item_images m
      join files f on f.tenant_id = m.tenant_id and f.file_id = m.file_id
     where m.tenant_id = ${tenantId}
       and m.job_id = ${jobId}`);
  return rows.map(({ storageKey }) => storageKey);
}
