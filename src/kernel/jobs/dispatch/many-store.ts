import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { NewJob } from '../types.ts';

/** The events of jobs `made` by the statement that it stands in. */
const logMade: Sql = trustedSql(`
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select j.tenant_id, 'job.queued', j.job_id::text, j.user_id, j.correlation_id,
             jsonb_strip_nulls(jsonb_build_object(
               'job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline, 'subject_id', j.subject_id,
               'connector_id', j.connector_id, 'requeued_from', j.requeued_from, 'created_by', j.created_by))
        from made j`);

export interface MadeJob {
  jobId: string;
  subjectId: string;
}

/**
 * Inserts queued jobs with their events in one statement, as a dispatch does with one. Subjects that have an active
 * job are left out and missing from the result.
 */
export function insertJobs(
  tx: Tx,
  tenantId: string,
  jobs: readonly (NewJob & { jobId: string })[],
): Promise<MadeJob[]> {
  return tx.rows<MadeJob>(sql`
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

function recordOf(job: NewJob & { jobId: string }) {
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
