import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import { claimedColumns, jobColumns } from './store.ts';
import type { ClaimedJob, Job, JobStatus, Lease, SettledJob, Settlement } from './types.ts';

export interface ClaimRequest {
  workerId: string;
  pipelines: string[];
  limit: number;
  leaseMs: number;
  /** How many jobs a tenant may have running, unless its own limits say otherwise. */
  tenantLimit: number;
  tenantId?: string;
  jobId?: string;
  /** Only jobs that a worker died with; they run alone. */
  struck?: boolean;
}

/** The claim itself is the database's function claim_jobs; see the migration for why. */
export function claimStatement(request: ClaimRequest) {
  return sql`
    select ${claimedColumns}, c.was
      from claim_jobs(
        ${request.workerId}, ${request.pipelines}, ${request.limit}, ${request.leaseMs}, ${request.tenantLimit},
        ${request.tenantId ?? null}, ${request.jobId ?? null}, ${request.struck ?? false}) c`;
}

export function claimMany(tx: Tx, request: ClaimRequest): Promise<ClaimedJob[]> {
  return tx.rows<ClaimedJob>(claimStatement(request));
}

/** Whether a job that a worker died with waits for a worker that runs nothing else. */
export async function hasStruckJobs(tx: Tx): Promise<boolean> {
  const row = await tx.find(sql`
    select 1 as found
      from ingestion_jobs
     where struck_by <> '{}'
       and leased_by is null
       and (status in ('queued', 'running', 'failed') or cleanup_open)
       and run_at <= clock_timestamp()
     limit 1`);
  return row !== null;
}

/**
 * The fence: locks the job's row for the rest of the transaction if the lease is still ours. A paused job lets its
 * slice in flight commit, a canceled one only its own cleanup slices; an old epoch never commits. A lease that was
 * given back keeps its epoch until the next claim, so `leased_by` is checked too.
 */
export function fenceStatement({ tenantId, jobId, leaseEpoch }: Lease) {
  return sql`
    select ${jobColumns}
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.job_id = ${jobId}
       and j.lease_epoch = ${leaseEpoch}
       and j.leased_by is not null
       and (j.status in ('running', 'paused') or j.cleanup_open)
       for no key update`;
}

export function lockIfHeld(tx: Tx, lease: Lease): Promise<Job | null> {
  return tx.find<Job>(fenceStatement(lease));
}

/**
 * Saves a slice's state in the middle of it; the transaction has locked the row with the fence. It renews the lease as
 * well: a slice that goes from transaction to transaction keeps its row locked, and every heartbeat passes it by.
 */
export async function saveState(
  tx: Tx,
  lease: Lease,
  { state, leaseMs }: { state: Settlement['state']; leaseMs: number },
): Promise<void> {
  await tx.run(sql`
    update ingestion_jobs
       set checkpoint = coalesce(${jsonOrNull(state.checkpoint)}::jsonb, checkpoint),
           counters = coalesce(${jsonOrNull(state.counters)}::jsonb, counters),
           stage = coalesce(${state.stage ?? null}, stage),
           run_id = case when ${state.runId !== undefined} then ${state.runId ?? null} else run_id end,
           progressed_at = case
             when ${jsonOrNull(state.checkpoint)}::jsonb is distinct from checkpoint then clock_timestamp()
             else progressed_at end,
           struck_by = '{}',
           lease_expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond',
           heartbeat_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where tenant_id = ${lease.tenantId}
       and job_id = ${lease.jobId}
       and lease_epoch = ${lease.leaseEpoch}`);
}

/**
 * The audit events of settled slices, read from `moved`. A retry makes two events: it failed, and it will run again.
 */
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

/**
 * Ends slices: moves status, checkpoint and counters, gives the lease back and writes the audit events, in one
 * statement for any number of jobs. Jobs whose lease is no longer ours are left alone and missing from the result.
 */
export function settleMany(tx: Tx, settlements: Settlement[]): Promise<SettledJob[]> {
  return tx.rows<SettledJob>(settleStatement(settlements));
}

function settleStatement(settlements: Settlement[]) {
  return sql`
    with input as (
      select * from jsonb_to_recordset(${JSON.stringify(settlements.map(toRecord))}::jsonb) as i (
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
      from moved m`;
}

/**
 * Of these jobs, which have just ended in this transaction, those for which the database created the next one: their
 * places among the active jobs are not free for anybody else before it has committed.
 */
export function listFollowed(
  tx: Tx,
  ended: readonly Pick<Job, 'tenantId' | 'jobId' | 'pipeline' | 'subjectId'>[],
): Promise<{ jobId: string; pipeline: string }[]> {
  return tx.rows(sql`
    select e.job_id as "jobId", e.pipeline
      from jsonb_to_recordset(${JSON.stringify(ended.map(subjectRecord))}::jsonb)
             as e (tenant_id text, job_id uuid, pipeline text, subject_id text),
           lateral (
             select
               from ingestion_jobs j
              where j.tenant_id = e.tenant_id
                and j.pipeline = e.pipeline
                and j.subject_id = e.subject_id
                and j.status = 'queued'
              limit 1) next`);
}

function subjectRecord({ tenantId, jobId, pipeline, subjectId }: Parameters<typeof listFollowed>[1][number]) {
  return { tenant_id: tenantId, job_id: jobId, pipeline, subject_id: subjectId };
}

/** Gives leases back without an outcome: the work was dropped, and another worker may take it at once. */
export async function releaseMany(tx: Tx, workerId: string, leases: Lease[]): Promise<number> {
  return tx.run(sql`
    update ingestion_jobs j
       set leased_by = null,
           lease_expires_at = null,
           updated_at = clock_timestamp()
      from jsonb_to_recordset(${JSON.stringify(leases.map(leaseRecord))}::jsonb)
             as l (tenant_id text, job_id uuid, lease_epoch bigint)
     where j.tenant_id = l.tenant_id
       and j.job_id = l.job_id
       and j.lease_epoch = l.lease_epoch
       and j.leased_by = ${workerId}`);
}

export interface RenewedLease extends Lease {
  status: JobStatus;
}

/**
 * Renews a worker's leases. A lease that is missing from the result was lost, or its row is locked at the moment: a
 * slice in its transaction must not keep the other leases of its process from being renewed.
 */
export function renewStatement(renewal: { workerId: string; leases: Lease[]; leaseMs: number }) {
  const { workerId, leases, leaseMs } = renewal;
  return sql`
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
    returning j.tenant_id as "tenantId", j.job_id as "jobId", j.lease_epoch as "leaseEpoch", j.status`;
}

/** Which of these leases are the worker's, without waiting for locked rows. */
export function heldStatement({ workerId, leases }: { workerId: string; leases: Lease[] }) {
  return sql`
    select j.tenant_id as "tenantId", j.job_id as "jobId", j.lease_epoch as "leaseEpoch", j.status
      from ingestion_jobs j
      join jsonb_to_recordset(${JSON.stringify(leases.map(leaseRecord))}::jsonb)
             as l (tenant_id text, job_id uuid, lease_epoch bigint)
        on j.tenant_id = l.tenant_id and j.job_id = l.job_id and j.lease_epoch = l.lease_epoch
     where j.leased_by = ${workerId}`;
}

function leaseRecord({ tenantId, jobId, leaseEpoch }: Lease) {
  return { tenant_id: tenantId, job_id: jobId, lease_epoch: leaseEpoch };
}

function toRecord({ outcome, state, ...lease }: Settlement) {
  const failure = outcome.type === 'retry' || outcome.type === 'dead' ? outcome.failure : null;
  return {
    ...leaseRecord(lease),
    outcome: outcome.type,
    delay_ms: 'delayMs' in outcome ? Math.max(0, Math.round(outcome.delayMs)) : null,
    not_before: outcome.type === 'retry' && outcome.notBefore === true,
    error_code: failure?.code ?? null,
    error_message: failure?.message ?? null,
    error_class: failure?.class ?? null,
    result: outcome.type === 'done' ? (outcome.result ?? null) : null,
    checkpoint: state.checkpoint ?? null,
    counters: state.counters ?? null,
    stage: state.stage ?? null,
    run_id: state.runId ?? null,
    sets_run_id: state.runId !== undefined,
  };
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
