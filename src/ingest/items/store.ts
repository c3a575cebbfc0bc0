import type { Tx } from '../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { CountDelta, Counts, ItemJob, ItemStatus, JobKey, Unreported } from './types.ts';

/** Rows are sent as lines of JSON: JSON text has no raw line break, so a line break can separate two rows. */
const lines = (texts: readonly string[]): string => texts.join('\n');

const itemJobColumns = trustedSql(`
  i.tenant_id as "tenantId", i.job_id as "jobId", i.job_type as "jobType", i.processor, i.options, i.columns,
  i.result_columns as "resultColumns", i.file_id as "fileId", i.file_name as "fileName", i.user_id as "userId",
  coalesce(i.user_role, 'member') as "userRole",
  json_build_object('total', i.total, 'pending', i.pending, 'processing', i.processing, 'done', i.done,
    'error', i.error, 'notFound', i.not_found, 'skipped', i.skipped) as counts, i.controllers`);

export async function insertItemJob(
  tx: Tx,
  job: Omit<ItemJob, 'counts' | 'controllers' | 'resultColumns'> & { ingestingBy: string },
): Promise<void> {
  await tx.run(sql`
    insert into item_jobs (tenant_id, job_id, job_type, processor, options, columns, file_id, file_name, user_id,
                           user_role, ingesting_by)
    values (${job.tenantId}, ${job.jobId}, ${job.jobType}, ${job.processor}, ${JSON.stringify(job.options)},
            ${JSON.stringify(job.columns)}, ${job.fileId}, ${job.fileName}, ${job.userId},
            ${job.userRole}, ${job.ingestingBy})`);
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
  told: Pick<ItemJob, 'columns' | 'fileName' | 'processor' | 'options'>,
): Promise<boolean> {
  const ended = await tx.run(sql`
    update item_jobs
       set ingesting_by = null,
           columns = ${JSON.stringify(told.columns)},
           file_name = ${told.fileName},
           processor = ${told.processor},
           options = ${JSON.stringify(told.options)}
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

/** How many rows of a tenant are open, and how many may be: its own limit `open_items`, or the given one. */
export async function readItemRoom(
  tx: Tx,
  { tenantId, maxOpenItems }: { tenantId: string; maxOpenItems: number },
): Promise<{ open: number; limit: number }> {
  const row = await tx.find<{ open: number; limit: number }>(sql`
    select coalesce((
             select (t.limits ->> 'open_items')::bigint
               from tenants t
              where t.tenant_id = ${tenantId}), ${maxOpenItems}) as "limit",
           coalesce((
             select sum(i.pending + i.processing)::bigint
               from item_jobs i
              where i.tenant_id = ${tenantId}), 0) as open`);
  return row ?? { open: 0, limit: maxOpenItems };
}

export function findItemJob(tx: Tx, { tenantId, jobId }: JobKey): Promise<ItemJob | null> {
  return tx.find<ItemJob>(sql`
    select ${itemJobColumns}
      from item_jobs i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}`);
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
  /** What no event has reported yet, this transaction included. */
  unreported: Unreported;
  /** How long ago the last event was; null: no event yet. */
  reportAgeMs: number | null;
}

/** Moves the counts by what this transaction did. Called last, because every worker of the job needs this row. */
export async function moveItemCounts(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  { delta, fresh = {} }: { delta: CountDelta; fresh?: Unreported },
): Promise<MovedCounts | null> {
  const freshJson = JSON.stringify(fresh);
  return tx.find<MovedCounts>(sql`
    update item_jobs i
       set pending = pending + ${delta.pending ?? 0},
           processing = processing + ${delta.processing ?? 0},
           done = done + ${delta.done ?? 0},
           error = error + ${delta.error ?? 0},
           not_found = not_found + ${delta.notFound ?? 0},
           skipped = skipped + ${delta.skipped ?? 0},
           unreported = case when ${freshJson}::jsonb = '{}' then i.unreported else (
             select jsonb_object_agg(s.key, s.n)
               from (select b.key, sum(b.value::bigint) as n
                       from (select key, value from jsonb_each_text(i.unreported)
                             union all
                             select key, value from jsonb_each_text(${freshJson}::jsonb)) b
                      group by b.key) s) end
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
    returning i.total, i.pending, i.processing, i.done, i.error, i.not_found as "notFound", i.skipped, i.unreported,
              extract(epoch from clock_timestamp() - i.reported_at)::float8 * 1000 as "reportAgeMs"`);
}

/** For the transaction that writes the events. */
export async function markReported(tx: Tx, { tenantId, jobId }: JobKey, controllers: object): Promise<void> {
  await tx.run(sql`
    update item_jobs
       set unreported = '{}',
           reported_at = clock_timestamp(),
           controllers = controllers || ${JSON.stringify(controllers)}::jsonb
     where tenant_id = ${tenantId}
       and job_id = ${jobId}`);
}

export async function addResultColumns(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  names: readonly string[],
): Promise<void> {
  await tx.run(sql`
    update item_jobs i
       set result_columns = i.result_columns || coalesce((
             select jsonb_agg(n.name)
               from jsonb_array_elements_text(${JSON.stringify(names)}::jsonb) n (name)
              where not i.result_columns ? n.name), '[]')
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}`);
}

export async function saveControllers(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  controllers: object,
): Promise<void> {
  await tx.run(sql`
    update item_jobs
       set controllers = controllers || ${JSON.stringify(controllers)}::jsonb
     where tenant_id = ${tenantId}
       and job_id = ${jobId}`);
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
       order by id
       limit ${request.limit}
         for update
    ), changed as (
      update job_items j
         set status = 'PENDING',
             attempts = case when ${request.resetAttempts} then 0 else j.attempts end,
             strategy = j.strategy + 1,
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
