import type { Tx } from '../../src/lib/postgres/db.ts';
import { sql } from '../../src/lib/postgres/sql.ts';
import { logMoved, type OldJobId } from './old-jobs.ts';

// Shared jobs in the version before; see old-jobs.ts.

/** The last slice of a shared job was committed in this transaction. */
export function finishSharedJob(tx: Tx, { tenantId, jobId }: OldJobId): Promise<{ jobId: string } | null> {
  return tx.find<{ jobId: string }>(sql`
    with moved as (
      update ingestion_jobs j
         set status = 'success',
             counters = '{}',
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

/** A finished shared job has work again. */
export function reopenSharedJob(tx: Tx, { tenantId, jobId }: OldJobId): Promise<{ jobId: string } | null> {
  return tx.find<{ jobId: string }>(sql`
    with moved as (
      update ingestion_jobs j
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
