import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { jobColumns, logMoved } from '../store.ts';
import type { Job, JobId, JobStatus, NewJob } from '../types.ts';

// Jobs whose slices run side by side, and jobs that are still being written.

/** A job that is neither shown nor claimed until `revealJob`: its rows are still coming in. */
export async function insertHiddenJob(
  tx: Tx,
  tenantId: string,
  job: NewJob & { jobId: string },
): Promise<void> {
  await tx.run(sql`
    insert into ingestion_jobs (
      tenant_id, job_id, pipeline, subject_id, workspace_id, stage, run_at, max_retries, correlation_id, payload,
      shared, user_id, ip_address, file_id, created_by)
    values (
      ${tenantId}, ${job.jobId}, ${job.pipeline}, ${job.subjectId}, ${job.workspaceId ?? null}, 'ingesting', 'infinity',
      ${job.maxRetries}, ${job.correlationId ?? job.jobId}, ${JSON.stringify(job.payload ?? {})},
      ${job.shared ?? false}, ${job.userId ?? null}, ${job.ipAddress ?? null}, ${job.fileId ?? null},
      ${job.createdBy})`);
}

export function revealJob(tx: Tx, { tenantId, jobId }: JobId): Promise<Job | null> {
  return tx.find<Job>(sql`
    with moved as (
      update only ingestion_jobs j
         set stage = null,
             run_at = clock_timestamp(),
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status = 'queued'
         and j.stage = 'ingesting'
      returning j.*
    ), logged as (${logMoved('job.queued', `, 'subject_id', j.subject_id, 'created_by', j.created_by`)})
    select ${jobColumns} from moved j`);
}

/** Deletes a job whose rows did not all come in; what belongs to it is its house's to delete. */
export async function deleteHiddenJob(tx: Tx, { tenantId, jobId }: JobId): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from only ingestion_jobs
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and stage = 'ingesting'`);
  return deleted === 1;
}

/** For a house that removes a job with everything that belongs to it. False: it has not ended. */
export async function deleteEndedJob(tx: Tx, { tenantId, jobId }: JobId): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from ingestion_jobs
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and status in ('success', 'canceled', 'dead_letter')
       and not cleanup_open`);
  return deleted === 1;
}

/** The job is not claimed again before this time has passed. */
export async function parkJob(tx: Tx, { tenantId, jobId }: JobId, delayMs: number): Promise<void> {
  await tx.run(sql`
    update only ingestion_jobs
       set run_at = clock_timestamp() + ${Math.round(delayMs)} * interval '1 millisecond',
           progressed_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and status = 'running'
       and shared`);
}

/** There is work earlier than expected: now, or after a delay. */
export async function unparkJob(tx: Tx, { tenantId, jobId }: JobId, delayMs = 0): Promise<void> {
  await tx.run(sql`
    update only ingestion_jobs
       set run_at = clock_timestamp() + ${Math.round(delayMs)} * interval '1 millisecond',
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and status in ('running', 'queued')
       and run_at > clock_timestamp() + ${Math.round(delayMs)} * interval '1 millisecond'
       and stage is distinct from 'ingesting'`);
}

/** The last slice of a shared job was committed in this transaction. */
export function finishSharedJob(
  tx: Tx,
  { tenantId, jobId }: JobId,
  counters: Record<string, number>,
): Promise<{ jobId: string } | null> {
  return tx.find<{ jobId: string }>(sql`
    with moved as (
      update only ingestion_jobs j
         set status = 'success',
             counters = ${JSON.stringify(counters)}::jsonb,
             finished_at = clock_timestamp(),
             error_code = null,
             error_message = null,
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status in ('running', 'paused')
         and j.shared
      returning j.*
    ), logged as (${logMoved(
      'job.completed',
      `, 'subject_id', j.subject_id, 'counters', j.counters,
               'duration_seconds', extract(epoch from j.finished_at - j.started_at)`,
    )})
    select m.job_id as "jobId" from moved m`);
}

/** A finished shared job has work again: it comes back among the open ones. */
export async function reopenSharedJob(tx: Tx, { tenantId, jobId }: JobId): Promise<{ jobId: string } | null> {
  await tx.run(sql`select recall_ended_job(${tenantId}, ${jobId})`);
  return tx.find<{ jobId: string }>(sql`
    with moved as (
      update only ingestion_jobs j
         set status = 'queued',
             run_at = clock_timestamp(),
             finished_at = null,
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status = 'success'
         and j.shared
      returning j.*
    ), logged as (${logMoved('job.requeued', `, 'subject_id', j.subject_id`)})
    select m.job_id as "jobId" from moved m`);
}

/** Only of an open job; an ended one has left the queue. */
const statusOf = ({ tenantId, jobId }: JobId) => sql`
    select status
      from only ingestion_jobs
     where tenant_id = ${tenantId}
       and job_id = ${jobId}`;

/**
 * The gate at the end of a shared slice's transaction: locks the job's row and returns its status. It comes last in
 * the transaction, because all workers of the job wait here for each other.
 */
export async function lockStatus(tx: Tx, key: JobId): Promise<JobStatus | null> {
  const row = await tx.find<{ status: JobStatus }>(sql`${statusOf(key)} for no key update`);
  return row?.status ?? null;
}

/** Without a lock; the gate checks it again at the end of the slice. */
export async function readStatus(tx: Tx, key: JobId): Promise<JobStatus | null> {
  const row = await tx.find<{ status: JobStatus }>(statusOf(key));
  return row?.status ?? null;
}
