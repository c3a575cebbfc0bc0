import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { ConnectorKey } from '../types.ts';

export interface HeldRun {
  runId: string;
  status: string;
}

export interface RunSeeker {
  tenantId: string;
  connectorId: string | null;
  jobId: string;
}

/** How many jobs of a connector are searched for failed runs: Airbyte lists only its newest runs. */
const maxJobs = 100;

/**
 * Which of these runs other jobs follow or have followed: over all tenants the last run of each job, and those of the
 * connector that a job gave up when they failed.
 */
export function listHeldRuns(
  tx: Tx,
  { runIds, seeker }: { runIds: readonly string[]; seeker: RunSeeker },
): Promise<HeldRun[]> {
  return tx.rows<HeldRun>(sql`
    select held.run_id as "runId", held.status
      from unnest(${runIds}::text[]) wanted,
           lateral (
             select j.run_id, j.status
               from ingestion_jobs j
              where j.run_id = wanted
                and j.pipeline = 'sync'
                and j.job_id <> ${seeker.jobId}) held
    union all
    select failed.run_id, earlier.status
      from (
             select j.status, j.checkpoint
               from ingestion_jobs j
              where j.tenant_id = ${seeker.tenantId}
                and j.connector_id = ${seeker.connectorId}
                and j.pipeline = 'sync'
                and j.job_id <> ${seeker.jobId}
              order by j.job_id desc
              limit ${maxJobs}) earlier,
           jsonb_array_elements_text(earlier.checkpoint -> 'failedRuns') failed (run_id)
     where failed.run_id = any(${runIds}::text[])`);
}

/** Brings the retry that waits after these failed runs forward, so that a worker looks at it again. */
export async function hurryRetry(tx: Tx, { tenantId, connectorId }: ConnectorKey): Promise<void> {
  await tx.run(sql`
    update only ingestion_jobs
       set run_at = clock_timestamp(),
           next_retry_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and pipeline = 'sync'
       and subject_id = ${connectorId}
       and status = 'failed'
       and run_at > clock_timestamp()`);
}

/**
 * Somebody canceled the run in Airbyte, so the job is canceled too. Runs inside a slice's transaction, which has locked
 * the row; the newer epoch ends the slice's lease.
 */
export async function cancelWithRun(
  tx: Tx,
  { tenantId, jobId, message }: { tenantId: string; jobId: string; message: string },
): Promise<void> {
  await tx.run(sql`
    with moved as (
      update ingestion_jobs j
         set status = 'canceled',
             lease_epoch = j.lease_epoch + 1,
             leased_by = null,
             lease_expires_at = null,
             run_at = clock_timestamp(),
             next_retry_at = null,
             error_code = 'canceled_in_airbyte',
             error_message = ${message},
             finished_at = clock_timestamp(),
             updated_at = clock_timestamp()
       where j.tenant_id = ${tenantId}
         and j.job_id = ${jobId}
         and j.status in ('running', 'paused')
      returning j.*
    )
    insert into events (tenant_id, type, subject, user_id, correlation_id, data)
    select j.tenant_id, 'job.canceled', j.job_id::text, j.user_id, j.correlation_id,
           jsonb_build_object('job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline,
             'connector_id', j.connector_id, 'run_id', j.run_id, 'cleanup_open', false,
             'error_code', j.error_code, 'error_message', j.error_message)
      from moved j`);
}
