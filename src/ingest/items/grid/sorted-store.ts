import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { type ItemStatus, itemStatuses, type JobKey } from '../types.ts';
import { type GridRow, gridColumns, listById } from './store.ts';
import type { Order } from './types.ts';

/** The place behind the last row of a page: its value in the column of the order, its id, and its status. */
export interface Place {
  value: string;
  id: number;
  status: ItemStatus;
}

export interface SortedRow extends GridRow {
  place: Place;
}

export interface SortedQuery extends JobKey, Order {
  after: Place | null;
  limit: number;
  withInput: boolean;
}

const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * A page in the order of one column. Each status has its own stretch of an index, so a page takes at most a page of
 * each and merges them: what it reads depends neither on the size of the job nor on how deep the page is.
 */
export function listSorted(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  if (query.column === 'status') return listByStatus(tx, query);
  if (query.column === 'updatedAt') return listByTime(tx, query);
  if (query.column === 'attempts') return listByAttempts(tx, query);
  if (query.column === 'errorCode') return listByCode(tx, query);
  return listByNextAttempt(tx, query);
}

/** One status after the other, in the order of their life. */
async function listByStatus(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  const { after, limit, descending } = query;
  const inOrder = itemStatuses.filter((status) => query.statuses.includes(status));
  if (descending) inOrder.reverse();
  const from = after === null ? 0 : inOrder.indexOf(after.status);
  const found: SortedRow[] = [];
  for (const status of inOrder.slice(Math.max(0, from))) {
    const place = after?.status === status ? after : null;
    const one = { ...query, statuses: [status], after: place, limit: limit - found.length };
    found.push(...(status === 'DONE' ? await listDone(tx, one) : await listByTime(tx, one)));
    if (found.length >= limit) break;
  }
  return found;
}

/**
 * Rows that are done have no index of their own, so that finishing one stays cheap. In the order of the file, in which
 * rows are claimed, the next ones are near.
 */
async function listDone(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  const rows = await listById(tx, { ...query, descending: false, afterId: query.after?.id ?? 0 });
  return rows.map((row) => ({ ...row, place: { value: '', id: row.id, status: 'DONE' } }));
}

function listByTime(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  const { statuses, limit } = query;
  const waiting = statuses.filter((status) => status === 'PENDING');
  const failed = statuses.filter((status) => ['ERROR', 'NOT_FOUND', 'SKIPPED'].includes(status));
  const held = statuses.filter((status) => status === 'PROCESSING');
  const by = { column: trustedSql('i.updated_at'), type: trustedSql('timestamptz') };
  const page = sql`
    select ${gridColumns(query)}, ${placeOf(trustedSql(utc('i.updated_at')))}, i.updated_at as at`;
  // Held rows are only as many as workers have at work, so all of them are sorted.
  return merged(
    tx,
    query,
    sql`
    (${page}
       from unnest(${waiting}::text[]) as s (status)
      cross join lateral (
             select i.*
               from job_items i
              where i.tenant_id = ${query.tenantId}
                and ${inStretch(query, { ...by, first: trustedSql('i.job_id'), value: sql`${query.jobId}::uuid` })}
                and i.status in ('PENDING', 'PROCESSING')
                and i.status = s.status
              order by ${ordering(query, sql`i.job_id`, by.column)}
              limit ${limit}) i)
    union all
    (${page}
       from unnest(${failed}::text[]) as s (status)
      cross join lateral (
             select i.*
               from job_items i
              where ${ofJob(query)}
                and i.status in ('ERROR', 'NOT_FOUND', 'SKIPPED')
                and ${inStretch(query, { ...by, first: trustedSql('i.status'), value: sql`s.status` })}
              order by ${ordering(query, sql`i.status`, by.column)}
              limit ${limit}) i)
    union all
    (${page}
       from unnest(${held}::text[]) as s (status)
      cross join lateral (
             select i.*
               from job_items i
              where ${ofJob(query)}
                and i.status = 'PROCESSING'
                and i.lock_expires_at > '-infinity'
             offset 0) i
      where ${inStretch(query, { ...by, first: trustedSql('i.job_id'), value: sql`${query.jobId}::uuid` })}
      order by ${ordering(query, by.column)}
      limit ${limit})`,
  );
}

function listByAttempts(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  const by = { column: trustedSql('i.attempts'), type: trustedSql('integer') };
  return merged(
    tx,
    query,
    sql`
    select ${gridColumns(query)}, ${placeOf(trustedSql('i.attempts::text'))}, i.attempts as at
      from unnest(${query.statuses}::text[]) as s (status)
     cross join lateral (
            select i.*
              from job_items i
             where ${ofJob(query)}
               and i.attempts > 1
               and i.attempts >= ${query.minAttempts}
               and ${inStretch(query, { ...by, first: trustedSql('i.status'), value: sql`s.status` })}
             order by ${ordering(query, sql`i.status`, by.column)}
             limit ${query.limit}) i`,
  );
}

function listByCode(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  const by = { column: trustedSql('i.error_code'), type: trustedSql('text') };
  return tx.rows<SortedRow>(sql`
    select ${gridColumns(query)}, ${placeOf(by.column)}
      from job_items i
     where i.tenant_id = ${query.tenantId}
       and ${inStretch(query, { ...by, first: trustedSql('i.job_id'), value: sql`${query.jobId}::uuid` })}
       and i.status in ('ERROR', 'NOT_FOUND')
       and i.status = any(${query.statuses}::text[])
       and i.error_code is not null
     order by ${ordering(query, sql`i.job_id`, by.column)}
     limit ${query.limit}`);
}

function listByNextAttempt(tx: Tx, query: SortedQuery): Promise<SortedRow[]> {
  const by = { column: trustedSql('i.due_at'), type: trustedSql('timestamptz') };
  return tx.rows<SortedRow>(sql`
    select ${gridColumns(query)}, ${placeOf(trustedSql('i.due_at::text'))}
      from job_items i
     where i.tenant_id = ${query.tenantId}
       and ${inStretch(query, { ...by, first: trustedSql('i.job_id'), value: sql`${query.jobId}::uuid` })}
       and i.status = 'PENDING'
     order by ${ordering(query, sql`i.job_id`, by.column)}
     limit ${query.limit}`);
}

function merged(tx: Tx, { descending, limit }: SortedQuery, parts: Sql): Promise<SortedRow[]> {
  const direction = trustedSql(descending ? 'desc' : 'asc');
  return tx.rows<SortedRow>(sql`
    select p.id, p."updatedAt", p.json, p.place
      from (${parts}) p
     order by p.at ${direction}, p.id ${direction}
     limit ${limit}`);
}

const ofJob = ({ tenantId, jobId }: JobKey) => sql`i.tenant_id = ${tenantId} and i.job_id = ${jobId}`;

const placeOf = (value: Sql) =>
  sql`json_build_object('value', ${value}, 'id', i.id, 'status', i.status) as place`;

function ordering({ descending }: SortedQuery, ...columns: Sql[]): Sql {
  const direction = trustedSql(descending ? 'desc' : 'asc');
  const all = [...columns, sql`i.id`].map((column) => sql`${column} ${direction}`);
  return all.reduce((list, column) => sql`${list}, ${column}`);
}

interface Stretch {
  /** The column of the index before the one that the rows are sorted by, and its only value. */
  first: Sql;
  value: Sql;
  column: Sql;
  type: Sql;
}

/**
 * The part of an index with one value in its column before. It is a range of one value and part of the order, although
 * equality would mean the same: then no other index has that order, and a planner without statistics cannot choose a
 * wrong one.
 */
function inStretch({ after, descending }: SortedQuery, { first, value, column, type }: Stretch): Sql {
  const [beyond, within] = descending ? ['<', '>='] : ['>', '<='];
  if (after === null) return sql`${first} >= ${value} and ${first} <= ${value}`;
  return sql`(${first}, ${column}, i.id) ${trustedSql(beyond)} (${value}, ${after.value}::${type}, ${after.id}::bigint)
                and ${first} ${trustedSql(within)} ${value}`;
}
