import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { ItemKey, ItemStatus, JobKey } from '../types.ts';

/**
 * Rows of the grid as JSON text from the database: results hold numbers of any length and keys of any name, and neither
 * survives a conversion to JavaScript objects.
 */
export interface GridRow {
  id: number;
  updatedAt: string;
  json: string;
}

/** What keeps all rows of the job, such as a pause that its provider has asked for. Not correlated: it is read once. */
const jobWait = ({ tenantId, jobId }: JobKey, column: 'waiting_for' | 'waiting_until') => sql`
  (select j.${trustedSql(column)}
     from item_jobs j
    where j.tenant_id = ${tenantId} and j.job_id = ${jobId} and j.waiting_until > statement_timestamp())`;

/** `more`: further members, such as the input. */
const rowJson = (key: JobKey, more: string) => sql`
  json_build_object(
    'id', i.id::text, 'rowNo', i.row_no, 'status', i.status, 'attempts', i.attempts,
    ${trustedSql(more)}'result', i.result_json,
    'errorCode', i.error_code, 'lastError', i.last_error, 'lockedBy', i.locked_by, 'lockedAt', i.locked_at,
    'nextAttemptAt', case when i.status <> 'PENDING' then null
       when i.due_at > statement_timestamp() then i.due_at
       else coalesce(${jobWait(key, 'waiting_until')}, nullif(i.due_at, '-infinity')) end,
    'waitingFor', case when i.status <> 'PENDING' then null
       when i.due_at > statement_timestamp() then coalesce(i.waiting_for, 'retry')
       else ${jobWait(key, 'waiting_for')} end,
    'updatedAt', i.updated_at)::text as json`;

const updatedAt = `to_char(i.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "updatedAt"`;

export function gridColumns({ withInput, ...key }: JobKey & { withInput: boolean }): Sql {
  return sql`i.id, ${trustedSql(updatedAt)}, ${rowJson(key, withInput ? `'input', i.input_json, ` : '')}`;
}

export interface PageQuery extends JobKey {
  status: ItemStatus | null;
  page: number;
  pageSize: number;
  descending: boolean;
  withInput: boolean;
}

export function listPage(tx: Tx, query: PageQuery): Promise<GridRow[]> {
  if (query.status === 'PENDING') return listWaitingPage(tx, query);
  const direction = trustedSql(query.descending ? 'desc' : 'asc');
  return tx.rows<GridRow>(sql`
    select ${gridColumns(query)}
      from job_items i
     where i.tenant_id = ${query.tenantId}
       and i.job_id = ${query.jobId}
       and (${query.status}::text is null or i.status = ${query.status})
     order by i.id ${direction}
     limit ${query.pageSize}
    offset ${(query.page - 1) * query.pageSize}`);
}

/**
 * Rows are claimed in the order of the file, so pending rows come after all finished ones, and a search from the start
 * would read the whole job. Rows that are due are in order in the index of claimable rows; the few that wait for a
 * retry are merged in. The range of a single value keeps the planner on that index.
 */
function listWaitingPage(tx: Tx, query: PageQuery): Promise<GridRow[]> {
  const { tenantId, jobId, page, pageSize } = query;
  const direction = trustedSql(query.descending ? 'desc' : 'asc');
  return tx.rows<GridRow>(sql`
    select ${gridColumns(query)}
      from job_items i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.id = any(array(
         select w.id
           from ((select id
                    from job_items
                   where tenant_id = ${tenantId}
                     and job_id = ${jobId}
                     and status = 'PENDING'
                     and due_at >= '-infinity'
                     and due_at <= '-infinity'
                   order by due_at ${direction}, id ${direction}
                   limit ${page * pageSize})
                 union all
                 (select id
                    from job_items
                   where tenant_id = ${tenantId}
                     and job_id = ${jobId}
                     and status = 'PENDING'
                     and due_at > '-infinity')) w
          order by w.id ${direction}
          limit ${pageSize}
         offset ${(page - 1) * pageSize}))
     order by i.id ${direction}`);
}

export interface KeysetQuery extends JobKey {
  statuses: ItemStatus[] | null;
  /** Of the row before the page; of the row after it when `descending`. */
  afterId: number;
  descending?: boolean;
  limit: number;
  withInput: boolean;
}

/** In the order of the file, or from its end. */
export function listById(tx: Tx, query: KeysetQuery): Promise<GridRow[]> {
  return tx.rows<GridRow>(sql`
    select ${gridColumns(query)}
      from job_items i
     where i.tenant_id = ${query.tenantId}
       and i.job_id = ${query.jobId}
       and ${pastId(query)}
       and (${query.statuses}::text[] is null or i.status = any(${query.statuses}::text[]))
     order by i.id ${trustedSql(query.descending ? 'desc' : 'asc')}
     limit ${query.limit}`);
}

/** Failed rows with one reason, in the order of the file, or from its end. */
export function listByReason(tx: Tx, query: KeysetQuery & { errorCode: string }): Promise<GridRow[]> {
  return tx.rows<GridRow>(sql`
    select ${gridColumns(query)}
      from job_items i
     where i.tenant_id = ${query.tenantId}
       and i.job_id = ${query.jobId}
       and i.status in ('ERROR', 'NOT_FOUND')
       and (${query.statuses}::text[] is null or i.status = any(${query.statuses}::text[]))
       and i.error_code = ${query.errorCode}
       and ${pastId(query)}
     order by i.id ${trustedSql(query.descending ? 'desc' : 'asc')}
     limit ${query.limit}`);
}

const pastId = ({ afterId, descending }: KeysetQuery) =>
  descending ? sql`i.id < ${afterId}` : sql`i.id > ${afterId}`;

/**
 * The id after which a row of the file and all that follow it lie; for a row beyond the end, that of the last row. Row
 * numbers have no index of their own, because every insert would pay for it. Ids grow with row numbers, so a binary
 * search over ids finds the row with one lookup in the primary key per step.
 */
export async function findIdBefore(
  tx: Tx,
  { tenantId, jobId, rowNo }: JobKey & { rowNo: number },
): Promise<number> {
  const found = await tx.find<{ id: number }>(sql`
    with recursive search (low, high, middle, step) as (
      select first.id, last.id, (first.id + last.id) / 2, 0
        from (select id from job_items
               where tenant_id = ${tenantId} and job_id = ${jobId} order by id limit 1) first,
             (select id from job_items
               where tenant_id = ${tenantId} and job_id = ${jobId} order by id desc limit 1) last
      union all
      select n.low, n.high, (n.low + n.high) / 2, n.step
        from (select case when next.row_no < ${rowNo} then next.id + 1 else s.low end as low,
                     case when next.row_no < ${rowNo} then s.high else s.middle end as high,
                     s.step + 1 as step
                from search s
               cross join lateral (
                       select id, row_no
                         from job_items
                        where tenant_id = ${tenantId}
                          and job_id = ${jobId}
                          and id >= s.middle
                        order by id
                        limit 1) next
               where s.low < s.high) n
    )
    select low - 1 as id
      from search
     order by step desc
     limit 1`);
  return found?.id ?? 0;
}

export interface OpenQuery extends JobKey {
  statuses: ItemStatus[];
  after: { updatedAt: string; id: number } | null;
  limit: number;
  withInput: boolean;
}

/** Open rows, least recently updated first: the Pending tab of a job. */
export function listOpen(tx: Tx, query: OpenQuery): Promise<(GridRow & { inputHead: string })[]> {
  return tx.rows<GridRow & { inputHead: string }>(sql`
    select ${gridColumns(query)}, left(i.input_json::text, 4000) as "inputHead"
      from job_items i
     where i.tenant_id = ${query.tenantId}
       and i.job_id = ${query.jobId}
       and i.status in ('PENDING', 'PROCESSING')
       and i.status = any(${query.statuses}::text[])
       and (i.updated_at, i.id) >
           (coalesce(${query.after?.updatedAt ?? null}::timestamptz, '-infinity'), ${query.after?.id ?? 0}::bigint)
     order by i.updated_at, i.id
     limit ${query.limit}`);
}

export interface PendingRow {
  id: number;
  jobId: string;
  userId: string;
  jobType: string;
  status: ItemStatus;
  attempts: number;
  lockedBy: string | null;
  lockedAt: Date | null;
  updatedAt: string;
  /** At most the first few thousand characters, for a summary. */
  inputHead: string;
  total: number;
  processed: number;
}

export interface PendingQuery {
  tenantId: string;
  userId: string | null;
  jobId: string | null;
  jobType: string | null;
  statuses: ItemStatus[];
  updatedFrom: Date | null;
  updatedTo: Date | null;
  after: { updatedAt: string; id: number } | null;
  limit: number;
}

const pendingColumns = trustedSql(`
  i.id, i.job_id as "jobId", i.user_id as "userId", i.job_type as "jobType", i.status, i.attempts,
  i.locked_by as "lockedBy", i.locked_at as "lockedAt", ${updatedAt},
  left(i.input_json::text, 4000) as "inputHead", j.total, j.total - j.pending - j.processing as processed`);

/** One lookup of the job per row. The offset prevents a join that might read all jobs for each row. */
const pendingTables = trustedSql(`
  job_items i
      join lateral (
             select total, pending, processing
               from item_jobs
              where tenant_id = i.tenant_id
                and job_id = i.job_id
                and ingesting_by is null
             offset 0) j on true`);

/**
 * Over all jobs of a tenant, of one of its users, or of one job: three shapes, because each has an index of its own.
 * User and job are a range of one value and part of the order, although equality would mean the same: then no other
 * index has that order, and a planner without statistics cannot choose a wrong one.
 */
export function listPending(tx: Tx, query: PendingQuery): Promise<PendingRow[]> {
  if (query.jobId !== null) return listPendingOfJob(tx, { ...query, jobId: query.jobId });
  if (query.userId !== null) return listPendingOfUser(tx, { ...query, userId: query.userId });
  const start = startOf(query);
  return tx.rows<PendingRow>(sql`
    select ${pendingColumns}
      from ${pendingTables}
     where i.tenant_id = ${query.tenantId}
       and (i.updated_at, i.id) > (${start.updatedAt}::timestamptz, ${start.id}::bigint)
       ${pendingFilter(query)}
     order by i.updated_at, i.id
     limit ${query.limit}`);
}

function listPendingOfUser(tx: Tx, query: PendingQuery & { userId: string }): Promise<PendingRow[]> {
  const start = startOf(query);
  return tx.rows<PendingRow>(sql`
    select ${pendingColumns}
      from ${pendingTables}
     where i.tenant_id = ${query.tenantId}
       and (i.user_id, i.updated_at, i.id) >
           (${query.userId}, ${start.updatedAt}::timestamptz, ${start.id}::bigint)
       and i.user_id <= ${query.userId}
       ${pendingFilter(query)}
     order by i.user_id, i.updated_at, i.id
     limit ${query.limit}`);
}

function listPendingOfJob(tx: Tx, query: PendingQuery & { jobId: string }): Promise<PendingRow[]> {
  const start = startOf(query);
  return tx.rows<PendingRow>(sql`
    select ${pendingColumns}
      from ${pendingTables}
     where i.tenant_id = ${query.tenantId}
       and (i.job_id, i.updated_at, i.id) >
           (${query.jobId}::uuid, ${start.updatedAt}::timestamptz, ${start.id}::bigint)
       and i.job_id <= ${query.jobId}::uuid
       and (${query.userId}::text is null or i.user_id = ${query.userId})
       ${pendingFilter(query)}
     order by i.job_id, i.updated_at, i.id
     limit ${query.limit}`);
}

/** A page token lies within the dates that it was created for, so it takes precedence. */
function startOf({ after, updatedFrom }: PendingQuery): { updatedAt: string; id: number } {
  return after ?? { updatedAt: updatedFrom?.toISOString() ?? '-infinity', id: 0 };
}

function pendingFilter(query: PendingQuery): Sql {
  return sql`
       and i.status in ('PENDING', 'PROCESSING')
       and i.status = any(${query.statuses}::text[])
       and (${query.jobType}::text is null or i.job_type = ${query.jobType})
       and i.updated_at >= coalesce(${query.updatedFrom}::timestamptz, '-infinity')
       and i.updated_at <= coalesce(${query.updatedTo}::timestamptz, 'infinity')`;
}

/** From the counts of the jobs, not from the items, of which there may be millions. */
export async function countPending(
  tx: Tx,
  query: { tenantId: string; userId: string | null },
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select coalesce(sum(pending + processing), 0)::bigint as count
      from item_jobs
     where tenant_id = ${query.tenantId}
       and (${query.userId}::text is null or user_id = ${query.userId})
       and ingesting_by is null`);
  return row?.count ?? 0;
}

export interface ExportRow {
  id: number;
  rowNo: number;
  status: ItemStatus;
  resultJson: string | null;
}

/** A batch of an export; by keyset, so that each batch costs the same. */
export function listForExport(
  tx: Tx,
  { tenantId, jobId, afterId, limit }: JobKey & { afterId: number; limit: number },
): Promise<ExportRow[]> {
  return tx.rows<ExportRow>(sql`
    select i.id, i.row_no as "rowNo", i.status, i.result_json::text as "resultJson"
      from job_items i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.id > ${afterId}
     order by i.id
     limit ${limit}`);
}

/** The same with the input and the reason of each row. */
export function listForDetailedExport(
  tx: Tx,
  { tenantId, jobId, afterId, limit }: JobKey & { afterId: number; limit: number },
): Promise<ExportRow[]> {
  return tx.rows<ExportRow>(sql`
    select i.id, i.row_no as "rowNo", i.status, i.result_json::text as "resultJson", i.error_code as "errorCode",
           i.last_error as "lastError", i.input_json::text as "inputJson"
      from job_items i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.id > ${afterId}
     order by i.id
     limit ${limit}`);
}

export interface ItemRow {
  /** The row as in the grid, with its input. */
  json: string;
  inputJson: string;
  /** Null: the input is canonical already. */
  normalizedJson: string | null;
}

const itemRow = (key: JobKey) => rowJson(key, `'strategy', i.strategy, 'input', i.input_json, `);

export function findItemRow(tx: Tx, { tenantId, jobId, itemId }: ItemKey): Promise<ItemRow | null> {
  return tx.find<ItemRow>(sql`
    select ${itemRow({ tenantId, jobId })},
           i.input_json::text as "inputJson",
           i.normalized_json::text as "normalizedJson"
      from job_items i
     where i.tenant_id = ${tenantId}
       and i.job_id = ${jobId}
       and i.id = ${itemId}`);
}
