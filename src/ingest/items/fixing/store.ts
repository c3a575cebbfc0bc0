import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { ItemKey, ItemStatus, JobKey } from '../types.ts';

export interface LockedItem {
  rowNo: number;
  status: ItemStatus;
  inputJson: string;
}

export function lockItem(tx: Tx, { tenantId, jobId, itemId }: ItemKey): Promise<LockedItem | null> {
  return tx.find<LockedItem>(sql`
    select i.row_no as "rowNo", i.status, i.input_json::text as "inputJson"
      from job_items i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.id = ${itemId}
       for update`);
}

/** The row is pending again, as if it had never been tried. Its last result stays until there is a new one. */
export async function correctItem(
  tx: Tx,
  { tenantId, jobId, itemId, ...row }: ItemKey & { inputJson: string; normalizedJson: string | null },
): Promise<void> {
  await tx.run(sql`
    update job_items
       set input_json = ${row.inputJson}::json,
           normalized_json = ${row.normalizedJson}::jsonb,
           status = 'PENDING',
           earlier_attempts = coalesce(earlier_attempts, 0) + attempts,
           attempts = 0,
           uncharged = null,
           throttled_count = null,
           not_found_count = null,
           waiting_for = null,
           strategy = 0,
           progress_json = null,
           crashes = 0,
           due_at = '-infinity',
           lock_token = null,
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and id = ${itemId}`);
}

export interface Correction {
  itemId: string;
  rowNo: number;
  column: string;
  /** JSON text; null: the row did not have the column. */
  oldValue: string | null;
  newValue: string;
  userId: string;
  createdAt: Date;
}

export async function insertCorrection(
  tx: Tx,
  made: ItemKey & Omit<Correction, 'itemId' | 'createdAt'>,
): Promise<void> {
  await tx.run(sql`
    insert into item_corrections (tenant_id, job_id, item_id, row_no, column_name, old_value, new_value, user_id)
    values (${made.tenantId}, ${made.jobId}, ${made.itemId}, ${made.rowNo}, ${made.column}, ${made.oldValue}::json,
            ${made.newValue}::json, ${made.userId})`);
}

/** Newest first. */
export function listCorrections(
  tx: Tx,
  { tenantId, jobId, limit }: JobKey & { limit: number },
): Promise<Correction[]> {
  return tx.rows<Correction>(sql`
    select c.item_id::text as "itemId", c.row_no as "rowNo", c.column_name as "column",
           c.old_value::text as "oldValue", c.new_value::text as "newValue", c.user_id as "userId",
           c.created_at as "createdAt"
      from item_corrections c
     where c.tenant_id = ${tenantId}
       and c.job_id = ${jobId}
     order by c.correction_id desc
     limit ${limit}`);
}

export interface FailureGroup {
  status: ItemStatus;
  errorCode: string | null;
  count: number;
  firstRowNo: number;
  /** The message of one of its rows. */
  example: string | null;
}

/** Failed rows by reason, the most frequent first; bounded, because a processor may make up codes. */
export function listFailures(
  tx: Tx,
  { tenantId, jobId, limit }: JobKey & { limit: number },
): Promise<FailureGroup[]> {
  return tx.rows<FailureGroup>(sql`
    select i.status, i.error_code as "errorCode", count(*) as count, min(i.row_no) as "firstRowNo",
           (array_agg(i.last_error order by i.id))[1] as example
      from job_items i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.status in ('ERROR', 'NOT_FOUND')
     group by i.status, i.error_code
     order by count(*) desc, i.status, i.error_code
     limit ${limit}`);
}
