import type { ClaimedJob, Outcome } from '../../src/kernel/jobs/types.ts';
import type { Tx } from '../../src/lib/postgres/db.ts';
import { sql } from '../../src/lib/postgres/sql.ts';
import { claimedColumns, type OldLease } from './old-jobs.ts';

// Leases in the version before; see old-jobs.ts.

export interface OldSettlement extends OldLease {
  outcome: Outcome;
}

export interface OldClaim {
  workerId: string;
  pipelines: string[];
  limit: number;
  leaseMs: number;
  tenantLimit: number;
  struck?: boolean;
}

export function claim(tx: Tx, request: OldClaim): Promise<ClaimedJob[]> {
  return tx.rows<ClaimedJob>(sql`
    select ${claimedColumns}, c.was
      from claim_jobs(
        ${request.workerId}, ${request.pipelines}, ${request.limit}, ${request.leaseMs}, ${request.tenantLimit},
        ${null}, ${null}, ${request.struck ?? false}) c`);
}

/** The fence: locks the job's row for the rest of the transaction if the lease is still held. */
export async function lockIfHeld(tx: Tx, { tenantId, jobId, leaseEpoch }: OldLease): Promise<boolean> {
  const held = await tx.find(sql`
    select j.job_id
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.job_id = ${jobId}
       and j.lease_epoch = ${leaseEpoch}
       and j.leased_by is not null
       and (j.status in ('running', 'paused') or j.cleanup_open)
       for no key update`);
  return held !== null;
}

const logOutcomes = sql`
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select m.tenant_id, e.type, m.job_id::text, m.user_id, m.correlation_id,
             jsonb_strip_nulls(jsonb_build_object(
               'job_id', m.job_id, 'tenant_id', m.tenant_id, 'pipeline', m.pipeline, 'subject_id', m.subject_id,
               'connector_id', m.connector_id, 'run_id', m.run_id, 'retry_count', m.retry_count) || e.data)
        from moved m,
             lateral (
               select 'job.completed' as type,
                      jsonb_build_object(
                        'duration_seconds', extract(epoch from m.finished_at - m.started_at),
                        'counters', m.counters) || coalesce(m.result, '{}') as data
                where m.outcome = 'done' and m.old_status <> 'canceled'
               union all
               select 'job.failed',
                      jsonb_build_object('error_code', m.error_code, 'error_message', m.error_message)
                where m.outcome = 'retry' and m.old_status <> 'canceled'
               union all
               select 'job.retry',
                      jsonb_build_object('delay_seconds', m.delay_ms / 1000.0, 'error_code', m.error_code,
                        'error_class', m.error_class, 'next_retry_at', m.next_retry_at)
                where m.outcome = 'retry' and m.old_status <> 'canceled'
               union all
               select 'job.dead_lettered',
                      jsonb_build_object('error_code', m.error_code, 'error_message', m.error_message)
                where m.outcome = 'dead' and m.old_status <> 'canceled'
             ) e`;

export function settle(tx: Tx, settlements: OldSettlement[]): Promise<{ jobId: string; status: string }[]> {
  return tx.rows(sql`
    with input as (
      select * from jsonb_to_recordset(${JSON.stringify(settlements.map(recordOf))}::jsonb) as i (
        tenant_id text, job_id uuid, lease_epoch bigint, outcome text, delay_ms bigint, not_before boolean,
        error_code text, error_message text, error_class text, result jsonb,
        checkpoint jsonb, counters jsonb, stage text, run_id text, sets_run_id boolean)
    ), held as (
      select j.tenant_id, j.job_id, j.status as old_status, j.checkpoint as old_checkpoint
        from ingestion_jobs j
        join input i on i.tenant_id = j.tenant_id and i.job_id = j.job_id and i.lease_epoch = j.lease_epoch
       where j.leased_by is not null
         and (j.status in ('running', 'paused') or j.cleanup_open)
       order by j.tenant_id, j.job_id
         for no key update of j
    ), moved as (
      update ingestion_jobs j
         set status = settled_status(h.old_status, i.outcome),
             cleanup_open = j.cleanup_open and i.outcome <> 'done',
             run_at = case
               when i.outcome in ('wait', 'retry') then clock_timestamp() + i.delay_ms * interval '1 millisecond'
               else clock_timestamp() end,
             next_retry_at = case
               when i.outcome = 'retry' then clock_timestamp() + i.delay_ms * interval '1 millisecond' end,
             not_before = case
               when i.outcome = 'retry' and i.not_before
               then clock_timestamp() + i.delay_ms * interval '1 millisecond' end,
             retry_count = j.retry_count + case i.outcome when 'retry' then 1 else 0 end,
             error_code = case
               when h.old_status = 'canceled' then j.error_code
               when i.outcome in ('retry', 'dead') then i.error_code
               when i.outcome = 'done' then null
               else j.error_code end,
             error_message = case
               when h.old_status = 'canceled' then j.error_message
               when i.outcome in ('retry', 'dead') then i.error_message
               when i.outcome = 'done' then null
               else j.error_message end,
             checkpoint = coalesce(i.checkpoint, j.checkpoint),
             counters = coalesce(i.counters, j.counters),
             stage = coalesce(i.stage, j.stage),
             run_id = case when i.sets_run_id then i.run_id else j.run_id end,
             progressed_at = case
               when i.outcome = 'wait' or coalesce(i.checkpoint, j.checkpoint) <> j.checkpoint
               then clock_timestamp() else j.progressed_at end,
             finished_at = case
               when h.old_status = 'canceled' then j.finished_at
               when i.outcome in ('done', 'dead') then clock_timestamp() end,
             struck_by = '{}',
             leased_by = null,
             lease_expires_at = null,
             updated_at = clock_timestamp()
        from input i, held h
       where j.tenant_id = i.tenant_id and j.job_id = i.job_id
         and h.tenant_id = j.tenant_id and h.job_id = j.job_id
      returning j.*, h.old_status, i.outcome, i.result, i.delay_ms, i.error_class
    ), logged as (${logOutcomes})
    select m.tenant_id as "tenantId", m.job_id as "jobId", m.status, m.cleanup_open as "cleanupOpen"
      from moved m`);
}

export function renew(
  tx: Tx,
  { workerId, leases, leaseMs }: { workerId: string; leases: OldLease[]; leaseMs: number },
): Promise<{ jobId: string }[]> {
  return tx.rows(sql`
    with free as (
      select j.tenant_id, j.job_id
        from ingestion_jobs j
        join jsonb_to_recordset(${JSON.stringify(leases.map(leaseRecord))}::jsonb)
               as l (tenant_id text, job_id uuid, lease_epoch bigint)
          on j.tenant_id = l.tenant_id and j.job_id = l.job_id and j.lease_epoch = l.lease_epoch
       where j.leased_by = ${workerId}
         for no key update of j skip locked
    )
    update ingestion_jobs j
       set lease_expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond',
           heartbeat_at = clock_timestamp()
      from free f
     where j.tenant_id = f.tenant_id
       and j.job_id = f.job_id
    returning j.tenant_id as "tenantId", j.job_id as "jobId", j.lease_epoch as "leaseEpoch", j.status`);
}

/** Its leases, those of jobs that were arranged. */
export function listHeld(
  tx: Tx,
  { workerId, limit }: { workerId: string; limit: number },
): Promise<OldLease[]> {
  return tx.rows<OldLease>(sql`
    select j.tenant_id as "tenantId", j.job_id as "jobId", j.lease_epoch as "leaseEpoch"
      from ingestion_jobs j
     where j.leased_by = ${workerId}
       and j.created_by = 'arranged'
       and j.lease_expires_at > clock_timestamp() + interval '1 minute'
     limit ${limit}`);
}

function leaseRecord({ tenantId, jobId, leaseEpoch }: OldLease) {
  return { tenant_id: tenantId, job_id: jobId, lease_epoch: leaseEpoch };
}

function recordOf({ outcome, ...lease }: OldSettlement) {
  const failure = outcome.type === 'retry' || outcome.type === 'dead' ? outcome.failure : null;
  return {
    ...leaseRecord(lease),
    outcome: outcome.type,
    delay_ms: 'delayMs' in outcome ? outcome.delayMs : null,
    not_before: false,
    error_code: failure?.code ?? null,
    error_message: failure?.message ?? null,
    error_class: failure?.class ?? null,
    sets_run_id: false,
  };
}

/** The audit events of rescued jobs, read from `moved`. */
const logRescues = sql`
  insert into events (tenant_id, type, subject, user_id, correlation_id, data)
  select m.tenant_id, case m.status when 'dead_letter' then 'job.dead_lettered' else 'job.rescued' end,
         m.job_id::text, m.user_id, m.correlation_id,
         jsonb_strip_nulls(jsonb_build_object(
           'job_id', m.job_id, 'tenant_id', m.tenant_id, 'pipeline', m.pipeline, 'subject_id', m.subject_id,
           'retry_count', m.retry_count, 'cause', m.cause, 'worker_id', m.worker_id,
           'error_code', m.error_code, 'error_message', m.error_message))
    from moved m`;

export function rescueLeases(
  tx: Tx,
  rescue: { maxStrikes: number; limit: number; silentMs: number; rejoinMs?: number },
): Promise<{ jobId: string }[]> {
  return tx.rows(sql`
    with found as (
      select j.tenant_id, j.job_id, j.leased_by as worker_id, j.status as old_status,
             cardinality(array_remove(j.struck_by, j.leased_by)) + 1 >= ${rescue.maxStrikes}
               and j.status = 'running' as is_last_strike,
             case when w.lost_at is not null and w.guarded_by = 'lock' then 'lock' else 'expiry' end as cause,
             (w.worker_id is null
               or (w.guarded_by = 'lock' and w.lost_at is not null)
               or (w.guarded_by = 'expiry'
                   and w.heartbeat_at < clock_timestamp() - ${rescue.silentMs} * interval '1 millisecond')) as struck
        from ingestion_jobs j
        left join workers w on w.worker_id = j.leased_by
       where j.leased_by is not null
         and (j.lease_expires_at < clock_timestamp() or (w.guarded_by = 'lock' and w.lost_at is not null))
         and not (
           j.status = 'running'
           and cardinality(array_remove(j.struck_by, j.leased_by)) + 1 >= ${rescue.maxStrikes}
           and coalesce(
             case
               when w.guarded_by = 'lock' then w.lost_at
               when w.heartbeat_at < clock_timestamp() - ${rescue.silentMs} * interval '1 millisecond'
               then w.heartbeat_at + ${rescue.silentMs} * interval '1 millisecond'
             end > clock_timestamp() - ${rescue.rejoinMs ?? 0} * interval '1 millisecond', false))
       limit ${rescue.limit}
         for update of j skip locked
    ), lost as (
      select f.*, f.struck and f.is_last_strike as is_poison from found f
    ), moved as (
      update ingestion_jobs j
         set status = case when l.is_poison then 'dead_letter' else l.old_status end,
             error_code = case when l.is_poison then 'worker_crashed' else j.error_code end,
             error_message = case
               when l.is_poison
               then 'The worker process died ' || (cardinality(array_remove(j.struck_by, l.worker_id)) + 1)
                 || ' times in a row with this job'
               else j.error_message end,
             finished_at = case when l.is_poison then clock_timestamp() else j.finished_at end,
             struck_by = case
               when l.struck then array_append(array_remove(j.struck_by, l.worker_id), l.worker_id)
               else j.struck_by end,
             lease_epoch = j.lease_epoch + 1,
             leased_by = null,
             lease_expires_at = null,
             run_at = clock_timestamp(),
             updated_at = clock_timestamp()
        from lost l
       where j.tenant_id = l.tenant_id
         and j.job_id = l.job_id
      returning j.*, l.cause, l.struck, l.worker_id
    ), marked as (
      update workers w
         set lost_at = clock_timestamp()
        from (select distinct worker_id from moved where struck) m
       where w.worker_id = m.worker_id
         and w.lost_at is null
    ), logged as (${logRescues})
    select m.tenant_id as "tenantId", m.job_id as "jobId", m.pipeline, m.subject_id as "subjectId",
           m.status, m.cause, m.struck
      from moved m`);
}

export interface OldWorker {
  workerId: string;
  name: string;
  guardedBy: 'lock' | 'expiry';
  lockKey: string;
  concurrency: number;
  version: string;
}

export async function registerWorker(tx: Tx, worker: OldWorker): Promise<void> {
  await tx.run(sql`
    insert into workers (worker_id, name, guarded_by, lock_key, concurrency, version)
    values (${worker.workerId}, ${worker.name}, ${worker.guardedBy}, ${worker.lockKey}, ${worker.concurrency},
            ${worker.version})
    on conflict (worker_id) do update
       set guarded_by = excluded.guarded_by,
           lock_key = excluded.lock_key,
           heartbeat_at = clock_timestamp(),
           lost_at = null`);
}
