import type { Tx } from '../../lib/postgres/db.ts';
import { columnList, type Sql, sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { Job, JobId, JobStatus, NewJob } from './types.ts';

const columns = `
  tenant_id job_id pipeline subject_id workspace_id status stage run_at next_retry_at retry_count max_retries run_id
  correlation_id error_code error_message payload checkpoint counters lease_epoch leased_by lease_expires_at
  heartbeat_at struck_by cleanup_open requeued_from shared connector_id external_account_id user_id file_id
  created_by created_at started_at finished_at updated_at`;

/** The columns of a Job, for `from ingestion_jobs j`. */
export const jobColumns = columnList(columns, 'j.');

/** The same for what a claim returns. */
export const claimedColumns = columnList(columns, '(c.claimed).');

/** The event of each job that the statement has `moved`; `more` adds to what every such event says. */
export function logMoved(type: string, more = ''): Sql {
  return trustedSql(`
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select j.tenant_id, '${type}', j.job_id::text, j.user_id, j.correlation_id,
             jsonb_build_object('job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline${more})
        from moved j`);
}

export type JobToMake = NewJob & { jobId: string; requeuedFrom?: string };

/** A process with a free slot takes the job over at once, if nothing else waits. */
export interface HandOver {
  workerId: string;
  leaseMs: number;
  tenantLimit: number;
}

/**
 * Creates the job, or brings the retry of its subject forward: then the result is that job, with an id of its own. No
 * row when the subject has an active job.
 */
export function dispatchStatement(tenantId: string, job: JobToMake, handOver: HandOver | null = null) {
  return sql`
    select ${jobColumns}
      from dispatch_job(
        ${tenantId}, ${job.jobId}, ${job.pipeline}, ${job.subjectId}, ${job.workspaceId ?? null}::uuid,
        ${job.stage ?? null}, ${job.runAt ?? null}::timestamptz, ${job.maxRetries}, ${job.correlationId ?? job.jobId},
        ${JSON.stringify(job.payload ?? {})}::jsonb, ${job.requeuedFrom ?? null}::uuid, ${job.shared ?? false},
        ${job.connectorId ?? null}, ${job.externalAccountId ?? null}, ${job.userId ?? null}, ${job.ipAddress ?? null},
        ${job.fileId ?? null}::uuid, ${job.createdBy}, ${handOver?.workerId ?? null}::uuid,
        ${handOver?.leaseMs ?? null}::integer, ${handOver?.tenantLimit ?? null}::integer) j`;
}

export interface SubjectKey {
  tenantId: string;
  pipeline: string;
  subjectId: string;
}

/** Lets a retry that waits for this subject start now, or when its upstream's Retry-After allows. */
export function bringRetryForward(
  tx: Tx,
  { tenantId, pipeline, subjectId }: SubjectKey,
): Promise<Job | null> {
  return tx.find<Job>(sql`
    select ${jobColumns}
      from forward_retry(${tenantId}, ${pipeline}, ${subjectId}) j`);
}

export function findActive(tx: Tx, { tenantId, pipeline, subjectId }: SubjectKey): Promise<Job | null> {
  return tx.find<Job>(sql`
    select ${jobColumns}
      from only ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.pipeline = ${pipeline}
       and j.subject_id = ${subjectId}
       and (j.status in ('queued', 'running', 'paused') or j.cleanup_open)`);
}

/** How many jobs wait, counted only up to the limit. */
export async function readQueueRoom(
  tx: Tx,
  { tenantId, maxQueued }: { tenantId: string; maxQueued: number },
): Promise<{ waiting: number; limit: number }> {
  const row = await tx.find<{ waiting: number; limit: number }>(sql`
    with allowed as (
      select coalesce((
        select (t.limits ->> 'queued_jobs')::bigint
          from tenants t
         where t.tenant_id = ${tenantId}), ${maxQueued}) as "limit"
    )
    select a."limit", (
             select count(*)
               from (select
                       from only ingestion_jobs j
                      where j.tenant_id = ${tenantId}
                        and (case j.status when 'queued' then 1 else 0 end) = 1
                        and j.leased_by is null
                        and j.struck_by = '{}'
                        and (j.status in ('queued', 'running', 'failed') or j.cleanup_open)
                      limit a."limit") waiting) as waiting
      from allowed a`);
  return row ?? { waiting: 0, limit: maxQueued };
}

/** `ownerId` narrows to one member's own jobs. */
export function findJob(tx: Tx, key: JobId & { ownerId?: string | undefined }): Promise<Job | null> {
  return tx.find<Job>(sql`
    select ${jobColumns}
      from ingestion_jobs j
     where j.tenant_id = ${key.tenantId}
       and j.job_id = ${key.jobId}
       and j.stage is distinct from 'ingesting'
       and (${key.ownerId ?? null}::text is null or j.user_id = ${key.ownerId ?? null})`);
}

export interface JobFilter {
  tenantId: string;
  ownerId?: string | undefined;
  status?: JobStatus | undefined;
  pipeline?: string | undefined;
  subjectId?: string | undefined;
  connectorId?: string | undefined;
  errorCode?: string | undefined;
  after: string | null;
  limit: number;
}

/** Newest first: job ids are in the order of time. */
export function listJobs(tx: Tx, filter: JobFilter): Promise<Job[]> {
  return tx.rows<Job>(sql`
    select ${jobColumns}
      from ingestion_jobs j
     where j.tenant_id = ${filter.tenantId}
       and ${shownAndMatching(filter)}
       and (${filter.connectorId ?? null}::text is null or j.connector_id = ${filter.connectorId ?? null})
       and (${filter.errorCode ?? null}::text is null or j.error_code = ${filter.errorCode ?? null})
       and (${filter.after}::uuid is null or j.job_id < ${filter.after}::uuid)
     order by j.job_id desc
     limit ${filter.limit}`);
}

/** How many match, counted only up to `limit`. */
export async function countJobsUpTo(tx: Tx, filter: Omit<JobFilter, 'after'>): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from (
        select
          from ingestion_jobs j
         where j.tenant_id = ${filter.tenantId}
           and ${shownAndMatching(filter)}
         limit ${filter.limit}) found`);
  return row?.count ?? 0;
}

function shownAndMatching(filter: Pick<JobFilter, 'ownerId' | 'status' | 'pipeline' | 'subjectId'>): Sql {
  return sql`j.stage is distinct from 'ingesting'
       and (${filter.ownerId ?? null}::text is null or j.user_id = ${filter.ownerId ?? null})
       and (${filter.status ?? null}::text is null or j.status = ${filter.status ?? null})
       and (${filter.pipeline ?? null}::text is null or j.pipeline = ${filter.pipeline ?? null})
       and (${filter.subjectId ?? null}::text is null or j.subject_id = ${filter.subjectId ?? null})`;
}

/** Dead letters that have not been requeued yet, oldest first. */
export function listRequeueable(
  tx: Tx,
  filter: { tenantId: string; errorCode?: string | undefined; pipeline?: string | undefined; limit: number },
): Promise<{ jobId: string }[]> {
  return tx.rows<{ jobId: string }>(sql`
    select j.job_id as "jobId"
      from ingestion_jobs j
     where j.tenant_id = ${filter.tenantId}
       and j.status = 'dead_letter'
       and (${filter.errorCode ?? null}::text is null or j.error_code = ${filter.errorCode ?? null})
       and (${filter.pipeline ?? null}::text is null or j.pipeline = ${filter.pipeline ?? null})
       and not exists (
         select from ingestion_jobs r
          where r.tenant_id = j.tenant_id
            and r.requeued_from = j.job_id)
     order by j.job_id
     limit ${filter.limit}`);
}

/** Makes two requeues of one dead letter wait for each other, so that the second can name the job of the first. */
export async function lockJob(tx: Tx, { tenantId, jobId }: JobId): Promise<void> {
  await tx.run(sql`
    select 1
      from ingestion_jobs
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       for no key update`);
}

export function findRequeued(tx: Tx, { tenantId, jobId }: JobId) {
  return tx.find<{ jobId: string }>(sql`
    select job_id as "jobId"
      from ingestion_jobs
     where tenant_id = ${tenantId}
       and requeued_from = ${jobId}`);
}

interface ControlKey extends JobId {
  from: JobStatus[];
}

/** A slice in flight keeps its lease and may still commit; no further slice starts. */
export function pauseJob(tx: Tx, { tenantId, jobId, from }: ControlKey): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update only ingestion_jobs j
         set status = 'paused',
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status = any(${from})
      returning j.*
    ), logged as (${logMoved('job.paused')})
    select ${jobColumns} from moved j`);
}

export function resumeJob(tx: Tx, { tenantId, jobId, from }: ControlKey): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update only ingestion_jobs j
         set status = case
               when j.next_retry_at is not null and j.leased_by is null then 'failed'
               when j.started_at is null then 'queued'
               else 'running' end,
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status = any(${from})
      returning j.*
    ), logged as (${logMoved('job.resumed')})
    select ${jobColumns} from moved j`);
}

/** The newer epoch fences off the slice in flight, so that cleanup can start at once. */
export function cancelJob(
  tx: Tx,
  { tenantId, jobId, from, needsCleanup }: ControlKey & { needsCleanup: boolean },
): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update only ingestion_jobs j
         set status = 'canceled',
             cleanup_open = ${needsCleanup} and j.started_at is not null,
             lease_epoch = j.lease_epoch + 1,
             leased_by = null,
             lease_expires_at = null,
             run_at = clock_timestamp(),
             next_retry_at = null,
             error_code = 'canceled',
             error_message = 'Canceled by user',
             finished_at = clock_timestamp(),
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status = any(${from})
      returning j.*
    ), logged as (${logMoved('job.canceled', `, 'cleanup_open', j.cleanup_open`)})
    select ${jobColumns} from moved j`);
}
