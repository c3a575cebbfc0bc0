import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { CountDelta, Counts, ItemJob, ItemStatus, JobKey, RowsFile, Unreported } from './types.ts';

/** Rows are sent as lines of JSON: JSON text has no raw line break, so a line break can separate two rows. */
const lines = (texts: readonly string[]): string => texts.join('\n');

const itemJobColumns = trustedSql(`
  i.tenant_id as "tenantId", i.job_id as "jobId", i.job_type as "jobType", i.processor, i.options, i.columns,
  i.result_columns as "resultColumns", i.file_id as "fileId", i.file_name as "fileName", i.user_id as "userId",
  coalesce(i.user_role, 'member') as "userRole",
  json_build_object('total', i.total, 'pending', i.pending, 'processing', i.processing, 'done', i.done,
    'error', i.error, 'notFound', i.not_found, 'skipped', i.skipped) as counts, i.controllers, i.notes, i.mapping`);

export async function insertItemJob(
  tx: Tx,
  job: Omit<ItemJob, 'counts' | 'controllers' | 'resultColumns' | 'notes' | 'mapping'> & {
    ingestingBy: string;
  },
): Promise<void> {
  await tx.run(sql`
    insert into item_jobs (tenant_id, job_id, job_type, processor, options, columns, file_id, file_name, user_id,
                           user_role, ingesting_by)
    values (${job.tenantId}, ${job.jobId}, ${job.jobType}, ${job.processor}, ${JSON.stringify(job.options)},
            ${JSON.stringify(job.columns)}, ${job.fileId}, ${job.fileName}, ${job.userId},
            ${job.userRole}, ${job.ingestingBy})`);
}

/** A whole small file, with the record of its job. */
export async function insertItemsAtOnce(
  tx: Tx,
  job: Omit<ItemJob, 'counts' | 'resultColumns' | 'fileId'> & { file: RowsFile },
  { firstRowNo, inputs, normalized }: Pick<ItemBatch, 'firstRowNo' | 'inputs' | 'normalized'>,
): Promise<void> {
  const { fileId, mediaType, sizeBytes, sha256 } = job.file;
  await tx.run(sql`
    select insert_items_of_file(
      ${job.tenantId}, ${job.jobId}, ${job.jobType}, ${job.processor}, ${JSON.stringify(job.options)},
      ${JSON.stringify(job.columns)}, ${job.fileName}, ${job.userId}, ${job.userRole},
      ${JSON.stringify(job.controllers)}, ${firstRowNo}, ${lines(inputs)},
      ${normalized === null ? null : lines(normalized.map((text) => text ?? ''))},
      ${fileId}, ${mediaType}, ${sizeBytes}, ${sha256})`);
  if (job.notes.length === 0 && job.mapping === null) return;
  await tx.run(sql`
    update item_jobs
       set notes = ${JSON.stringify(job.notes)}::jsonb,
           mapping = ${job.mapping === null ? null : JSON.stringify(job.mapping)}::jsonb
     where tenant_id = ${job.tenantId}
       and job_id = ${job.jobId}`);
}

export interface ItemBatch extends JobKey {
  userId: string;
  jobType: string;
  /** The number of the first of these rows; the others follow it. */
  firstRowNo: number;
  inputs: readonly string[];
  /** One per input; null for a row whose fields are canonical already. Null instead of a list: all rows are. */
  normalized: readonly (string | null)[] | null;
}

export async function insertItems(tx: Tx, batch: ItemBatch): Promise<void> {
  if (batch.normalized === null) await insertCanonical(tx, batch);
  else await insertNormalized(tx, { ...batch, normalized: batch.normalized });
  await tx.run(sql`
    update item_jobs
       set total = total + ${batch.inputs.length},
           pending = pending + ${batch.inputs.length}
     where tenant_id = ${batch.tenantId}
       and job_id = ${batch.jobId}`);
}

async function insertCanonical(tx: Tx, batch: ItemBatch): Promise<void> {
  await tx.run(sql`
    insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json)
    select ${batch.tenantId}, ${batch.jobId}, ${batch.firstRowNo} + r.n - 1, ${batch.userId}, ${batch.jobType},
           r.input::json
      from string_to_table(${lines(batch.inputs)}, ${'\n'}) with ordinality as r (input, n)`);
}

/** The two lists have the same length, so PostgreSQL steps through both at once. */
async function insertNormalized(
  tx: Tx,
  batch: ItemBatch & { normalized: readonly (string | null)[] },
): Promise<void> {
  await tx.run(sql`
    insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json, normalized_json)
    select ${batch.tenantId}, ${batch.jobId}, ${batch.firstRowNo} + r.n - 1, ${batch.userId}, ${batch.jobType},
           r.input::json, nullif(r.normalized, '')::jsonb
      from rows from (
             string_to_table(${lines(batch.inputs)}, ${'\n'}),
             string_to_table(${lines(batch.normalized.map((text) => text ?? ''))}, ${'\n'}))
           with ordinality as r (input, normalized, n)`);
}

/** Updates the planner's statistics; the migration says why. */
export async function analyzeItems(tx: Tx): Promise<void> {
  await tx.run(sql`select analyze_items()`);
}

export async function endIngest(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  told: Pick<ItemJob, 'columns' | 'fileName' | 'processor' | 'options' | 'controllers' | 'notes' | 'mapping'>,
): Promise<boolean> {
  const ended = await tx.run(sql`
    update item_jobs
       set ingesting_by = null,
           columns = ${JSON.stringify(told.columns)},
           file_name = ${told.fileName},
           processor = ${told.processor},
           options = ${JSON.stringify(told.options)},
           controllers = controllers || ${JSON.stringify(told.controllers)}::jsonb,
           notes = ${JSON.stringify(told.notes)}::jsonb,
           mapping = ${told.mapping === null ? null : JSON.stringify(told.mapping)}::jsonb
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and ingesting_by is not null`);
  return ended === 1;
}

/** Ingests whose process has died: nobody will finish them. */
export function listDeadIngests(tx: Tx, limit: number): Promise<JobKey[]> {
  return tx.rows<JobKey>(sql`
    select i.tenant_id as "tenantId", i.job_id as "jobId"
      from item_jobs i
     where i.ingesting_by is not null
       and not exists (
         select from workers w
          where w.worker_id = i.ingesting_by
            and w.lost_at is null
            and w.heartbeat_at > clock_timestamp() - interval '5 minutes')
     limit ${limit}`);
}

/**
 * Item jobs whose job is gone, or ended longer ago than its tenant keeps jobs. A job and its record are written in one
 * transaction, so one without the other is left over.
 */
export function listOverdueJobs(tx: Tx, { days, limit }: { days: number; limit: number }): Promise<JobKey[]> {
  return tx.rows<JobKey>(sql`
    select i.tenant_id as "tenantId", i.job_id as "jobId"
      from item_jobs i
      join tenants t on t.tenant_id = i.tenant_id
      left join ingestion_jobs j on j.tenant_id = i.tenant_id and j.job_id = i.job_id
     where j.job_id is null
        or (j.finished_at < statement_timestamp()
              - coalesce((t.limits ->> 'job_retention_days')::integer, ${days}) * interval '1 day'
            and not j.cleanup_open)
     limit ${limit}`);
}

export function deleteSomeRows(
  tx: Tx,
  { tenantId, jobId, limit }: JobKey & { limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from job_items
     where ctid = any(array(
       select r.ctid
         from job_items r
        where r.tenant_id = ${tenantId}
          and r.job_id = ${jobId}
        limit ${limit}))`);
}

/** With its images and provider calls; its rows are gone by then. */
export async function deleteItemJob(tx: Tx, { tenantId, jobId }: JobKey): Promise<void> {
  await tx.run(sql`
    delete from item_jobs
     where tenant_id = ${tenantId}
       and job_id = ${jobId}`);
}

/** The records of files of rows. */
export function listRowsFiles(
  tx: Tx,
  { tenantId, fileIds }: { tenantId: string; fileIds: readonly string[] },
): Promise<RowsFile[]> {
  return tx.rows<RowsFile>(sql`
    select file_id as "fileId", media_type as "mediaType", size_bytes as "sizeBytes", sha256
      from files
     where tenant_id = ${tenantId}
       and file_id = any(${fileIds}::uuid[])
       and storage = 'rows'`);
}

export interface ItemLimit {
  open: number;
  limit: number;
}

/**
 * How many rows of a tenant are open, and how many may be: its own limit `open_items`, or the given one. Only active
 * jobs have open rows, and they have an index: ended ones may be millions.
 */
export function itemRoomStatement({
  tenantId,
  maxOpenItems,
}: {
  tenantId: string;
  maxOpenItems: number;
}): Sql {
  return sql`
    select coalesce((
             select (t.limits ->> 'open_items')::bigint
               from tenants t
              where t.tenant_id = ${tenantId}), ${maxOpenItems}) as "limit",
           coalesce((
             select sum(i.pending + i.processing)::bigint
               from ingestion_jobs j
               join item_jobs i on i.tenant_id = j.tenant_id and i.job_id = j.job_id
              where j.tenant_id = ${tenantId}
                and j.pipeline = 'items'
                and (j.status in ('queued', 'running', 'paused') or j.cleanup_open)), 0) as open`;
}

export function findItemJob(tx: Tx, key: JobKey): Promise<ItemJob | null> {
  return tx.find<ItemJob>(itemJobStatement(key));
}

export function itemJobStatement({ tenantId, jobId }: JobKey): Sql {
  return sql`
    select ${itemJobColumns}
      from item_jobs i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}`;
}

export function listItemJobs(
  tx: Tx,
  { tenantId, jobIds }: { tenantId: string; jobIds: string[] },
): Promise<ItemJob[]> {
  return tx.rows<ItemJob>(sql`
    select ${itemJobColumns}
      from item_jobs i
     where i.tenant_id = ${tenantId}
       and i.job_id = any(${jobIds}::uuid[])`);
}

export interface MovedCounts extends Counts {
  /** What an event has to report now; null: no event is due. */
  told: Unreported | null;
}

export interface CountMove {
  delta: CountDelta;
  fresh?: Unreported;
  /** Of results; those that are new become columns of the grid and of exports. */
  resultColumns?: readonly string[];
  /** What the controllers decided, saved with the event; without it no event is due. */
  report?: object;
}

/**
 * Events of items are summaries: at most one of each type per job in this time, and the rest with the last item. One
 * event per item would double what a fast processor has to write.
 */
const reportEveryMs = 2_000;

/** Moves the counts by what this transaction did. Called last, because every worker of the job needs this row. */
export async function moveItemCounts(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  { delta, fresh = {}, resultColumns = [], report }: CountMove,
): Promise<MovedCounts | null> {
  return tx.find<MovedCounts>(sql`
    select m.total, m.pending, m.processing, m.done, m.error, m.not_found as "notFound", m.skipped, m.told
      from move_item_counts(
        ${tenantId}, ${jobId}, ${JSON.stringify(delta)}, ${JSON.stringify(fresh)},
        ${JSON.stringify(resultColumns)}, ${report === undefined ? null : JSON.stringify(report)},
        ${reportEveryMs}) m`);
}

/** For a transaction that moves no items and wants to know that no other one does. */
export async function lockItemCounts(tx: Tx, { tenantId, jobId }: JobKey): Promise<Counts | null> {
  return tx.find<Counts>(sql`
    select i.total, i.pending, i.processing, i.done, i.error, i.not_found as "notFound", i.skipped
      from item_jobs i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       for no key update`);
}

/** Over all tenants, from the counts of the jobs: the cost does not depend on the number of items. */
export async function countOpen(tx: Tx): Promise<{ pending: number; processing: number }> {
  const row = await tx.find<{ pending: number; processing: number }>(sql`
    select coalesce(sum(pending), 0)::bigint as pending,
           coalesce(sum(processing), 0)::bigint as processing
      from item_jobs
     where ingesting_by is null`);
  return row ?? { pending: 0, processing: 0 };
}

/** Open items of a canceled job, a batch at a time. */
export async function skipOpenItems(
  tx: Tx,
  { tenantId, jobId, limit }: JobKey & { limit: number },
): Promise<{ pending: number; processing: number }> {
  const row = await tx.find<{ pending: number; processing: number }>(sql`
    with open as (
      select id, status
        from job_items
       where tenant_id = ${tenantId}
         and job_id = ${jobId}
         and status in ('PENDING', 'PROCESSING')
       limit ${limit}
         for update
    ), skipped as (
      update job_items j
         set status = 'SKIPPED',
             last_error = 'Canceled by user',
             error_code = 'canceled',
             locked_by = null,
             lock_token = null,
             locked_at = null,
             lock_expires_at = null,
             updated_at = clock_timestamp()
        from open o
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.id = o.id
      returning o.status
    )
    select count(*) filter (where status = 'PENDING') as pending,
           count(*) filter (where status = 'PROCESSING') as processing
      from skipped`);
  return row ?? { pending: 0, processing: 0 };
}

export interface ReprocessRequest extends JobKey {
  statuses: ItemStatus[];
  itemIds: number[] | null;
  errorCode: string | null;
  resetAttempts: boolean;
  maxAttemptsError: number;
  maxAttemptsNotFound: number;
  afterId: number;
  limit: number;
}

export interface ReprocessBatch {
  /** How many were reset, by the status that they had. */
  reset: Partial<Record<ItemStatus, number>>;
  exhausted: number;
  lastId: number | null;
}

/** One batch, in the order of ids. An item that is being processed is left alone. */
export async function resetItems(tx: Tx, request: ReprocessRequest): Promise<ReprocessBatch> {
  const rows = await tx.rows<{ status: ItemStatus; isReset: boolean; count: number; lastId: number }>(sql`
    with chosen as (
      select id, status,
             ${request.resetAttempts} or attempts < case status
               when 'NOT_FOUND' then ${request.maxAttemptsNotFound}::int
               else ${request.maxAttemptsError}::int end as is_reset
        from job_items
       where tenant_id = ${request.tenantId}
         and job_id = ${request.jobId}
         and id > ${request.afterId}
         and status = any(${request.statuses}::text[])
         and status not in ('PROCESSING', 'PENDING')
         and (${request.itemIds}::bigint[] is null or id = any(${request.itemIds}::bigint[]))
         and (${request.errorCode}::text is null or error_code = ${request.errorCode})
       order by id
       limit ${request.limit}
         for update
    ), changed as (
      update job_items j
         set status = 'PENDING',
             earlier_attempts = case when ${request.resetAttempts}
               then coalesce(j.earlier_attempts, 0) + j.attempts else j.earlier_attempts end,
             attempts = case when ${request.resetAttempts} then 0 else j.attempts end,
             throttled_count = case when ${request.resetAttempts} then null else j.throttled_count end,
             not_found_count = case when ${request.resetAttempts} then null else j.not_found_count end,
             waiting_for = null,
             strategy = j.strategy + 1,
             -- What failed goes on at the step that failed; what had ended well begins again.
             progress_json = case when c.status in ('ERROR', 'NOT_FOUND') then j.progress_json end,
             due_at = '-infinity',
             lock_token = null,
             crashes = 0,
             updated_at = clock_timestamp()
        from chosen c
       where c.is_reset
         and j.tenant_id = ${request.tenantId}
         and j.job_id = ${request.jobId}
         and j.id = c.id
    )
    select status, is_reset as "isReset", count(*) as count, max(id) as "lastId"
      from chosen
     group by status, is_reset`);
  const batch: ReprocessBatch = { reset: {}, exhausted: 0, lastId: null };
  for (const row of rows) {
    if (row.isReset) batch.reset[row.status] = (batch.reset[row.status] ?? 0) + row.count;
    else batch.exhausted += row.count;
    batch.lastId = Math.max(batch.lastId ?? 0, row.lastId);
  }
  return batch;
}
