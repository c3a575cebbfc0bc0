import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { Scope } from './types.ts';

export interface JobCount {
  pipeline: string;
  status: string;
  count: number;
  oldestAt: Date;
}

export function countJobs(tx: Tx, { tenantId, ownerId }: Scope): Promise<JobCount[]> {
  return tx.rows<JobCount>(sql`
    select pipeline, status, count(*) as count, min(created_at) as "oldestAt"
      from ingestion_jobs
     where tenant_id = ${tenantId}
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
     group by pipeline, status
     order by pipeline, status`);
}

export interface StuckJob {
  tenantId: string;
  jobId: string;
  pipeline: string;
  subjectId: string;
  connectorId: string | null;
  startedAt: Date;
  since: Date;
}

/** Running without a change of checkpoint for two hours; a sync that is being polled makes progress by waiting. */
export function findStuckJobs(tx: Tx, { tenantId, ownerId, limit }: Partial<Scope> & { limit: number }) {
  return tx.rows<StuckJob>(sql`
    select tenant_id as "tenantId", job_id as "jobId", pipeline, subject_id as "subjectId",
           connector_id as "connectorId", started_at as "startedAt", coalesce(progressed_at, started_at) as since
      from ingestion_jobs
     where (${tenantId ?? null}::text is null or tenant_id = ${tenantId ?? null})
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
       and status = 'running'
       and coalesce(progressed_at, started_at) < clock_timestamp() - interval '2 hours'
     order by since
     limit ${limit}`);
}

export interface DeadLetterCount {
  errorCode: string | null;
  count: number;
  requeued: number;
  oldestAt: Date;
  newestAt: Date;
}

export function countDeadLetters(tx: Tx, { tenantId, ownerId }: Scope): Promise<DeadLetterCount[]> {
  return tx.rows<DeadLetterCount>(sql`
    select d.error_code as "errorCode", count(*) as count, count(r.job_id) as requeued,
           min(d.finished_at) as "oldestAt", max(d.finished_at) as "newestAt"
      from ingestion_jobs d
      left join ingestion_jobs r on r.tenant_id = d.tenant_id and r.requeued_from = d.job_id
     where d.tenant_id = ${tenantId}
       and d.status = 'dead_letter'
       and (${ownerId ?? null}::text is null or d.user_id = ${ownerId ?? null})
     group by d.error_code
     order by count(*) desc, d.error_code`);
}

export interface ConnectorStats {
  connectorId: string;
  jobs: number;
  succeeded: number;
  failed: number;
  averageSeconds: number | null;
}

export function connectorStats(tx: Tx, { tenantId, ownerId }: Scope): Promise<ConnectorStats[]> {
  return tx.rows<ConnectorStats>(sql`
    select connector_id as "connectorId", count(*) as jobs,
           count(*) filter (where status = 'success') as succeeded,
           count(*) filter (where status = 'dead_letter') as failed,
           avg(extract(epoch from finished_at - started_at)) filter (where status = 'success')::float8
             as "averageSeconds"
      from ingestion_jobs
     where tenant_id = ${tenantId}
       and connector_id is not null
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
     group by connector_id
     order by connector_id
     limit 500`);
}

export interface RetryCount {
  connectorId: string;
  errorClass: string;
  count: number;
}

export function countRetries(tx: Tx, { tenantId, ownerId }: Scope): Promise<RetryCount[]> {
  return tx.rows<RetryCount>(sql`
    select data ->> 'connector_id' as "connectorId", coalesce(data ->> 'error_class', 'unknown') as "errorClass",
           count(*) as count
      from events
     where tenant_id = ${tenantId}
       and type = 'job.retry'
       and data ? 'connector_id'
       and (${ownerId ?? null}::text is null or user_id = ${ownerId ?? null})
     group by 1, 2
     order by 1, 2`);
}

export interface Gauges {
  queueDepth: { pipeline: string; count: number }[];
  deadLetters: { tenantId: string; count: number }[];
}

/** What the metrics page shows of the database. Both are counted over partial indexes. */
export async function readGauges(tx: Tx): Promise<Gauges> {
  const queueDepth = await tx.rows<Gauges['queueDepth'][number]>(sql`
    select pipeline, count(*) as count
      from ingestion_jobs
     where status in ('queued', 'running', 'paused') or cleanup_open
     group by pipeline`);
  const deadLetters = await tx.rows<Gauges['deadLetters'][number]>(sql`
    select tenant_id as "tenantId", count(*) as count
      from ingestion_jobs
     where status = 'dead_letter'
     group by tenant_id
     order by count(*) desc
     limit 1000`);
  return { queueDepth, deadLetters };
}
