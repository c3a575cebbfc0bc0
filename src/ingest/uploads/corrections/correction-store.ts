import type { Tx } from '../../../lib/postgres/db.ts';
import { columnList, sql } from '../../../lib/postgres/sql.ts';
import type { StagedRow, UploadKey } from '../types.ts';
import type { Correction } from './types.ts';

const columns = columnList('row_index column_index header old_value new_value user_id created_at');

export function listCorrections(
  tx: Tx,
  { tenantId, uploadId, limit }: UploadKey & { limit: number },
): Promise<Correction[]> {
  return tx.rows<Correction>(sql`
    select ${columns}, line_no as line
      from upload_corrections
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
     order by row_index, column_index
     limit ${limit}`);
}

/** A cell that was corrected before keeps what the file says as its old value. */
export async function saveCorrection(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  made: Omit<Correction, 'createdAt'>,
): Promise<void> {
  await tx.run(sql`
    insert into upload_corrections (
      tenant_id, upload_id, row_index, column_index, line_no, header, old_value, new_value, user_id)
    values (${tenantId}, ${uploadId}, ${made.rowIndex}, ${made.columnIndex}, ${made.line}, ${made.header},
            ${made.oldValue}, ${made.newValue}, ${made.userId})
    on conflict (tenant_id, upload_id, row_index, column_index) do update
       set new_value = excluded.new_value,
           user_id = excluded.user_id,
           created_at = clock_timestamp()`);
}

/** Of one row, or of the whole upload; returns what was deleted. */
export function deleteCorrections(
  tx: Tx,
  { tenantId, uploadId, rowIndex }: UploadKey & { rowIndex: number | null },
): Promise<Correction[]> {
  return tx.rows<Correction>(sql`
    delete from upload_corrections
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and (${rowIndex}::integer is null or row_index = ${rowIndex})
    returning ${columns}, line_no as line`);
}

/** The upload's file is read again; false when the upload is not held for review. */
export async function askForNewReading(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<boolean> {
  const updated = await tx.run(sql`
    update data_uploads
       set mapping_version = mapping_version + 1,
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and status = 'staging_complete'
       and review`);
  return updated === 1;
}

/** Refused lines whose cells are known: those that validation refused. */
export function listRefusedCells(
  tx: Tx,
  { tenantId, uploadId, rowIndexes }: UploadKey & { rowIndexes: readonly number[] },
): Promise<Pick<StagedRow, 'rowIndex' | 'line' | 'rawData'>[]> {
  return tx.rows<Pick<StagedRow, 'rowIndex' | 'line' | 'rawData'>>(sql`
    select s.row_index as "rowIndex", s.line_no as line, s.raw_data as "rawData"
      from staging_rows s
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.validation_status = 'invalid'
       and s.row_index = any(${rowIndexes}::integer[])`);
}
