import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { Period, Scope } from './types.ts';

export interface ActiveCount {
  pipeline: string;
  status: string;
  count: number;
  /** Since when the first of them could start; null when none is due. */
  waitingSince: Date | null;
}

/**
 * Jobs that have not ended, each state over its own partial index: the many jobs that have ended are not read. An items
 * job whose file is still being read does not count yet.
 */
export function countActive(tx: Tx, { tenantId, ownerId }: Scope): Promise<ActiveCount[]> {
  return tx.rows<ActiveCount>(sql`
    select j.pipeline, j.status, count(*) as count,
           min(j.run_at) filter (where j.status = 'queued' and j.run_at <= clock_timestamp()) as "waitingSince"
      from (
        select pipeline, status, run_at, user_id, stage
          from ingestion_jobs
         where tenant_id = ${tenantId}
           and status in ('queued', 'running', 'paused')
         union all
        select pipeline, status, run_at, user_id, stage
          from ingestion_jobs
         where tenant_id = ${tenantId}
           and status = 'failed') j
     where (${ownerId ?? null}::text is null or j.user_id = ${ownerId ?? null})
       and j.stage is distinct from 'ingesting'
     group by j.pipeline, j.status
     order by j.pipeline, j.status`);
}

export interface EndedPoint {
  at: Date;
  pipeline: string;
  status: string;
  errorCode: string | null;
  count: number;
  rows: number;
}

/** Jobs that ended in the period, by step of time. `rowCounters` names for each pipeline the counter of its rows. */
export function countEnded(
  tx: Tx,
  { tenantId, ownerId }: Scope,
  { since, stepSeconds, rowCounters }: Period & { rowCounters: Record<string, string> },
): Promise<EndedPoint[]> {
  return tx.rows<EndedPoint>(sql`
    select date_bin(${stepSeconds} * interval '1 second', finished_at, ${since}) as at,
           pipeline, status, case when status = 'dead_letter' then error_code end as "errorCode",
           count(*) as count,
           coalesce(sum((counters ->> (${JSON.stringify(rowCounters)}::jsonb ->> pipeline))::float8), 0) as rows
      from ingestion_jobs
     where tenant_id = ${tenantId}
       and finished_at >= ${since}
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
     group by 1, 2, 3, 4`);
}

export interface OpenDeadLetters {
  errorCode: string | null;
  count: number;
  oldestAt: Date;
}

/** Dead letters that have not been requeued yet. */
export function countOpenDeadLetters(tx: Tx, { tenantId, ownerId }: Scope): Promise<OpenDeadLetters[]> {
  return tx.rows<OpenDeadLetters>(sql`
    select d.error_code as "errorCode", count(*) as count, min(d.finished_at) as "oldestAt"
      from ingestion_jobs d
     where d.tenant_id = ${tenantId}
       and d.status = 'dead_letter'
       and (${ownerId ?? null}::text is null or d.user_id = ${ownerId ?? null})
       and not exists (
         select from ingestion_jobs r
          where r.tenant_id = d.tenant_id
            and r.requeued_from = d.job_id)
     group by d.error_code
     order by count(*) desc, d.error_code
     limit 50`);
}

export async function countWorkersAlive(tx: Tx): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from workers
     where lost_at is null`);
  return row?.count ?? 0;
}
