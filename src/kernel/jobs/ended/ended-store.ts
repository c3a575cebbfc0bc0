import type { Tx } from '../../../lib/postgres/db.ts';
import { quoteIdentifier, type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';

// Jobs that have ended. They lie in tables by period, which inherit from ingestion_jobs; see the migration.

/** Moves jobs that ended among the open ones to the ended ones. Returns how many. */
export async function moveEndedJobs(tx: Tx, limit: number): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`select move_ended_jobs(${limit}) as count`);
  return row?.count ?? 0;
}

/** Begins a new period when the present one is this old. Returns whether it did. */
export async function rotateEndedJobs(tx: Tx, { periodDays }: { periodDays: number }): Promise<boolean> {
  const rotated = await tx.find(sql`
    select rotate_ended_jobs() as closed
      from ended_job_tables t
     where t.ended_before is null
       and t.began_at < clock_timestamp() - ${periodDays} * interval '1 day'`);
  return rotated !== null;
}

/** Closed periods whose last job ended this long ago. */
export function listOldPeriods(tx: Tx, { days }: { days: number }): Promise<{ name: string }[]> {
  return tx.rows<{ name: string }>(sql`
    select name
      from ended_job_tables
     where ended_before < clock_timestamp() - ${days} * interval '1 day'
     order by ended_before`);
}

/**
 * Moves what tenants keep longer than others into the present period, then drops the old one. Only the rows of those
 * tenants are read: `offset 0` keeps the planner from reading all rows, for a hash join or by their time.
 */
export async function dropPeriod(tx: Tx, { name, days }: { name: string; days: number }): Promise<void> {
  await tx.run(sql`
    insert into ingestion_jobs_ended
    select kept.*
      from tenants t
     cross join lateral (
       select j.*
         from only ${tableOf(name)} j
        where j.tenant_id = t.tenant_id
       offset 0) kept
     where (t.limits ->> 'job_retention_days')::integer > ${days}
       and kept.finished_at >= clock_timestamp() - (t.limits ->> 'job_retention_days')::integer * interval '1 day'`);
  await tx.run(sql`select drop_ended_jobs(${name})`);
}

/** Names of our own, from ended_job_tables. */
function tableOf(name: string): Sql {
  return trustedSql(quoteIdentifier(name));
}

/** A table, and the moment before which jobs that ended may be deleted from it row by row. */
export interface StrayBound {
  name: string;
  before: Date;
}

/** A closed period goes as a whole, so only what had ended before it began is deleted from it. */
export function listStrayBounds(tx: Tx, before: Date): Promise<StrayBound[]> {
  return tx.rows<StrayBound>(sql`
    select p.name,
           case when p.ended_before is null then ${before}::timestamptz
                else least(p.began_at, ${before}::timestamptz) end as before
      from ended_job_tables p
    union all
    select 'ingestion_jobs', ${before}::timestamptz`);
}

/** Jobs of tenants without a time of their own. */
export function deleteStrays(tx: Tx, { name, before }: StrayBound, limit: number): Promise<number> {
  return tx.run(sql`
    delete from only ${tableOf(name)} d
     using (
       select j.tenant_id, j.job_id
         from only ${tableOf(name)} j
         join tenants t on t.tenant_id = j.tenant_id
        where j.finished_at < ${before}
          and not t.limits ? 'job_retention_days'
          and not j.cleanup_open
        limit ${limit}
          for update of j skip locked) old
     where d.tenant_id = old.tenant_id
       and d.job_id = old.job_id`);
}

/** Tenants that keep their jobs for a time of their own. */
export function listOwnRetentions(tx: Tx): Promise<OwnRetention[]> {
  return tx.rows<OwnRetention>(sql`
    select tenant_id as "tenantId", (limits ->> 'job_retention_days')::integer as days
      from tenants
     where limits ? 'job_retention_days'`);
}

interface OwnRetention {
  tenantId: string;
  days: number;
}

/** The moment is a parameter: with clock_timestamp() in the condition no index would be used. */
export function deleteEndedBefore(
  tx: Tx,
  { before, tenantId, limit }: { before: Date; tenantId: string; limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from ingestion_jobs d
     using (
       select j.tenant_id, j.job_id
         from ingestion_jobs j
        where j.tenant_id = ${tenantId}
          and j.finished_at < ${before}
          and not j.cleanup_open
        limit ${limit}
          for update of j skip locked) old
     where d.tenant_id = old.tenant_id
       and d.job_id = old.job_id`);
}
