import type { Tx } from '../../lib/db.ts';
import { sql } from '../../lib/sql.ts';

export interface HeldRun {
  runId: string;
  status: string;
}

/** Which of these runs other jobs follow or have followed, over all tenants. */
export function listHeldRuns(
  tx: Tx,
  { runIds, exceptJobId }: { runIds: readonly string[]; exceptJobId: string },
): Promise<HeldRun[]> {
  return tx.rows<HeldRun>(sql`
    select held.run_id as "runId", held.status
      from unnest(${runIds}::text[]) wanted,
           lateral (
             select j.run_id, j.status
               from ingestion_jobs j
              where j.run_id = wanted
                and j.pipeline = 'sync'
                and j.job_id <> ${exceptJobId}) held`);
}

/**
 * Somebody canceled the run in Airbyte, so the job is canceled as well. Inside a slice's transaction, which has locked
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
