import type { Job, JobStatus, NewJob } from '../../src/kernel/jobs/types.ts';
import type { Tx } from '../../src/lib/postgres/db.ts';
import { columnList, type Sql, sql, trustedSql } from '../../src/lib/postgres/sql.ts';

// The statements of the version before the job queue (migration 22): what its programs send while the schema is
// upgraded under them. They are copies, with fewer filters and columns where no test needs them.

const columns = `
  tenant_id job_id pipeline subject_id workspace_id status stage run_at next_retry_at retry_count max_retries run_id
  correlation_id error_code error_message payload checkpoint counters lease_epoch leased_by lease_expires_at
  heartbeat_at struck_by cleanup_open requeued_from shared connector_id external_account_id user_id file_id
  created_by created_at started_at finished_at updated_at`;

const jobColumns = columnList(columns, 'j.');
export const claimedColumns = columnList(columns, '(c.claimed).');

const logMade: Sql = trustedSql(`
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select j.tenant_id, told.type, j.job_id::text, j.user_id, j.correlation_id,
             jsonb_strip_nulls(jsonb_build_object(
               'job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline, 'subject_id', j.subject_id,
               'connector_id', j.connector_id, 'requeued_from', j.requeued_from, 'created_by', j.created_by))
        from made j,
             unnest(case when j.requeued_from is null then array['job.queued']
                         else array['job.queued', 'job.requeued'] end) told (type)`);

export function logMoved(type: string, more = ''): Sql {
  return trustedSql(`
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select j.tenant_id, '${type}', j.job_id::text, j.user_id, j.correlation_id,
             jsonb_build_object('job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline${more})
        from moved j`);
}

export interface OldJobId {
  tenantId: string;
  jobId: string;
}

type OldJob = NewJob & { jobId: string; requeuedFrom?: string };

export interface OldLease extends OldJobId {
  leaseEpoch: number;
}

/** Brings the retry of the subject forward, or creates the job; does nothing when the subject has an active job. */
export function dispatch(tx: Tx, tenantId: string, job: OldJob): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (${forwarding({ tenantId, ...job })}), told as (${logForwarded}),
         made as (${insertion(tenantId, job, trustedSql('not exists (select from moved)'))}), logged as (${logMade})
    select ${jobColumns} from moved j
    union all
    select ${jobColumns} from made j`);
}

function insertion(tenantId: string, job: OldJob, condition: Sql) {
  return sql`
      insert into ingestion_jobs (
        tenant_id, job_id, pipeline, subject_id, workspace_id, stage, run_at, max_retries, correlation_id, payload,
        requeued_from, shared, connector_id, external_account_id, user_id, ip_address, file_id, created_by)
      select
        ${tenantId}, ${job.jobId}, ${job.pipeline}, ${job.subjectId}, ${job.workspaceId ?? null}, ${job.stage ?? null},
        coalesce(${job.runAt ?? null}::timestamptz, clock_timestamp()), ${job.maxRetries},
        ${job.correlationId ?? job.jobId}, ${JSON.stringify(job.payload ?? {})}, ${job.requeuedFrom ?? null},
        ${job.shared ?? false},
        ${job.connectorId ?? null}, ${job.externalAccountId ?? null}, ${job.userId ?? null}, ${job.ipAddress ?? null},
        ${job.fileId ?? null}, ${job.createdBy}
       where ${condition}
      on conflict (tenant_id, pipeline, subject_id)
        where status in ('queued', 'running', 'paused') or cleanup_open
        do nothing
      returning *`;
}

function forwarding({
  tenantId,
  pipeline,
  subjectId,
}: {
  tenantId: string;
  pipeline: string;
  subjectId: string;
}) {
  return sql`
      update ingestion_jobs j
         set run_at = least(j.run_at, greatest(clock_timestamp(), j.not_before)),
             next_retry_at = least(j.next_retry_at, greatest(clock_timestamp(), j.not_before)),
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = (
           select f.job_id
             from ingestion_jobs f
            where f.tenant_id = ${tenantId}
              and f.pipeline = ${pipeline}
              and f.subject_id = ${subjectId}
              and f.status = 'failed'
              and not exists (
                select from ingestion_jobs a
                 where a.tenant_id = ${tenantId}
                   and a.pipeline = ${pipeline}
                   and a.subject_id = ${subjectId}
                   and (a.status in ('queued', 'running', 'paused') or a.cleanup_open))
            order by f.job_id
            limit 1
              for update)
         and j.status = 'failed'
      returning j.*`;
}

const logForwarded = logMoved(
  'job.retry',
  `, 'subject_id', j.subject_id, 'retry_count', j.retry_count, 'brought_forward', true,
     'delay_seconds', greatest(0, extract(epoch from j.next_retry_at - clock_timestamp()))`,
);

/** Subjects that have an active job are left out. */
export function dispatchMany(
  tx: Tx,
  tenantId: string,
  jobs: readonly OldJob[],
): Promise<{ jobId: string }[]> {
  return tx.rows<{ jobId: string }>(sql`
    with input as (
      select * from jsonb_to_recordset(${JSON.stringify(jobs.map(recordOf))}::jsonb) as i (
        job_id uuid, pipeline text, subject_id text, max_retries integer, correlation_id text, payload jsonb,
        user_id text, created_by text)
    ), made as (
      insert into ingestion_jobs (
        tenant_id, job_id, pipeline, subject_id, max_retries, correlation_id, payload, user_id, created_by)
      select ${tenantId}, i.job_id, i.pipeline, i.subject_id, i.max_retries, i.correlation_id, i.payload, i.user_id,
             i.created_by
        from input i
       order by i.subject_id
      on conflict (tenant_id, pipeline, subject_id)
        where status in ('queued', 'running', 'paused') or cleanup_open
        do nothing
      returning *
    ), logged as (${logMade})
    select j.job_id as "jobId", j.subject_id as "subjectId" from made j`);
}

function recordOf(job: OldJob) {
  return {
    job_id: job.jobId,
    pipeline: job.pipeline,
    subject_id: job.subjectId,
    max_retries: job.maxRetries,
    correlation_id: job.correlationId ?? job.jobId,
    payload: job.payload ?? {},
    user_id: job.userId ?? null,
    created_by: job.createdBy,
  };
}

export interface OldControl extends OldJobId {
  from: JobStatus[];
}

export function pauseJob(tx: Tx, { tenantId, jobId, from }: OldControl): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update ingestion_jobs j
         set status = 'paused',
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status = any(${from})
      returning j.*
    ), logged as (${logMoved('job.paused')})
    select ${jobColumns} from moved j`);
}

export function resumeJob(tx: Tx, { tenantId, jobId, from }: OldControl): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update ingestion_jobs j
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

export function cancelJob(
  tx: Tx,
  { tenantId, jobId, from, needsCleanup }: OldControl & { needsCleanup: boolean },
): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update ingestion_jobs j
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

export function listPaused(tx: Tx, tenantId: string): Promise<{ jobId: string }[]> {
  return tx.rows<{ jobId: string }>(sql`
    select j.job_id as "jobId"
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.status = 'paused'`);
}
