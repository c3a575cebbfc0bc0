import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { claimedColumns, jobColumns } from '../store.ts';
import type { ClaimedJob, Job, JobId, JobStatus, Lease, SettledJob, Settlement } from '../types.ts';

export interface ClaimRequest {
  workerId: string;
  pipelines: string[];
  limit: number;
  leaseMs: number;
  /** How many jobs a tenant may have running, unless its own limits say otherwise. */
  tenantLimit: number;
  tenantId?: string;
  /** Shared jobs that are at work in this process: others come first. */
  spared?: string[];
}

/** The work of claims is done by functions of the database; see the migration for why. */
export function claimStatement(request: ClaimRequest) {
  return sql`
    select ${claimedColumns}, c.was
      from claim_due_jobs(
        ${request.workerId}, ${request.pipelines}, ${request.limit}, ${request.leaseMs}, ${request.tenantLimit},
        ${request.spared ?? []}, ${request.tenantId ?? null}) c`;
}

export function claimMany(tx: Tx, request: ClaimRequest): Promise<ClaimedJob[]> {
  return tx.rows<ClaimedJob>(claimStatement(request));
}

export interface ClaimOneRequest extends JobId, Pick<ClaimRequest, 'workerId' | 'leaseMs' | 'tenantLimit'> {}

export function claimOneStatement(request: ClaimOneRequest) {
  return sql`
    select ${claimedColumns}, c.was
      from claim_one_job(
        ${request.workerId}, ${request.leaseMs}, ${request.tenantLimit}, ${request.tenantId}, ${request.jobId}) c`;
}

/** The first job that a worker died with and that could be claimed now. */
export function struckStatement({
  pipelines,
  tenantLimit,
  tenantId,
}: Pick<ClaimRequest, 'pipelines' | 'tenantLimit' | 'tenantId'>) {
  return sql`
    select f.tenant_id as "tenantId", f.job_id as "jobId"
      from find_struck_job(${pipelines}, ${tenantLimit}, ${tenantId ?? null}) f`;
}

/**
 * The fence: locks the job's row for the rest of the transaction if the lease is still ours. A paused job lets its
 * slice in flight commit, a canceled one only its own cleanup slices; an old epoch or another worker never commits.
 */
export function fenceStatement({ tenantId, jobId, leaseEpoch, leasedBy }: Lease) {
  return sql`
    select ${jobColumns}
      from fence_job(${leasedBy}, ${tenantId}, ${jobId}, ${leaseEpoch}) j`;
}

export function lockIfHeld(tx: Tx, lease: Lease): Promise<Job | null> {
  return tx.find<Job>(fenceStatement(lease));
}

/** Saves a slice's state in the middle of it and renews its lease; the fence has locked the row. */
export function saveStatement(
  lease: Lease,
  { state, leaseMs }: { state: Settlement['state']; leaseMs: number },
) {
  return sql`
    select save_job(
      ${lease.leasedBy}, ${lease.tenantId}, ${lease.jobId}, ${lease.leaseEpoch}, ${leaseMs},
      ${jsonOrNull(state.checkpoint)}::jsonb, ${jsonOrNull(state.counters)}::jsonb, ${state.stage ?? null},
      ${state.runId !== undefined}, ${state.runId ?? null})`;
}

/** Settlements of one worker; see the function in the database. */
export function settleStatement(settlements: readonly Settlement[]) {
  const workerId = settlements[0]?.leasedBy ?? null;
  return sql`
    select s.tenant_id as "tenantId", s.job_id as "jobId", s.status, s.cleanup_open as "cleanupOpen"
      from settle_jobs(${workerId}, ${JSON.stringify(settlements.map(toRecord))}::jsonb) s`;
}

export function settleMany(tx: Tx, settlements: readonly Settlement[]): Promise<SettledJob[]> {
  return tx.rows<SettledJob>(settleStatement(settlements));
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
               from only ingestion_jobs j
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
export async function releaseMany(tx: Tx, workerId: string, leases: readonly Lease[]): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select release_jobs(${workerId}, ${columnsOf(leases)}) as count`);
  return row?.count ?? 0;
}

export interface RenewedLease extends JobId {
  leaseEpoch: number;
  status: JobStatus;
}

interface Holding {
  workerId: string;
  leases: readonly Lease[];
}

export function renewStatement({ workerId, leases, leaseMs }: Holding & { leaseMs: number }) {
  return sql`
    select r.tenant_id as "tenantId", r.job_id as "jobId", r.lease_epoch as "leaseEpoch", r.status
      from renew_jobs(${workerId}, ${columnsOf(leases)}, ${leaseMs}) r`;
}

/** Which of these leases are the worker's, without waiting for locked rows. */
export function heldStatement({ workerId, leases }: Holding) {
  return sql`
    select j.tenant_id as "tenantId", j.job_id as "jobId", j.lease_epoch as "leaseEpoch", j.status
      from unnest(${columnsOf(leases)}) as l (tenant_id, job_id, lease_epoch)
      join only ingestion_jobs j on j.tenant_id = l.tenant_id and j.job_id = l.job_id
     where j.lease_epoch = l.lease_epoch
       and j.leased_by is not distinct from ${workerId}::uuid`;
}

function columnsOf(leases: readonly Lease[]) {
  return sql`${leases.map(({ tenantId }) => tenantId)}::text[], ${leases.map(({ jobId }) => jobId)}::uuid[],
      ${leases.map(({ leaseEpoch }) => leaseEpoch)}::bigint[]`;
}

function toRecord({ tenantId, jobId, leaseEpoch, outcome, state, isFollowed = false }: Settlement) {
  const failure = outcome.type === 'retry' || outcome.type === 'dead' ? outcome.failure : null;
  return {
    tenant_id: tenantId,
    job_id: jobId,
    lease_epoch: leaseEpoch,
    leaves: !isFollowed && (outcome.type === 'done' || outcome.type === 'dead'),
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
