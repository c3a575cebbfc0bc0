import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { JobId } from '../types.ts';

export interface NewWorker {
  workerId: string;
  name: string;
  guardedBy: 'lock' | 'expiry';
  lockKey: string;
  concurrency: number;
  version: string;
  /** It takes jobs by itself, and not only for a kickoff. */
  isWorking?: boolean;
}

export interface WorkerRow extends Omit<NewWorker, 'lockKey' | 'isWorking'> {
  startedAt: Date;
  heartbeatAt: Date;
  lostAt: Date | null;
  leases: number;
}

/** Registers a worker, or restores a lost one: the same boot id means that the process never died. */
export async function registerWorker(tx: Tx, worker: NewWorker): Promise<void> {
  await tx.run(sql`
    insert into workers (worker_id, name, guarded_by, lock_key, concurrency, version, is_working)
    values (${worker.workerId}, ${worker.name}, ${worker.guardedBy}, ${worker.lockKey}, ${worker.concurrency},
            ${worker.version}, ${worker.isWorking ?? true})
    on conflict (worker_id) do update
       set guarded_by = excluded.guarded_by,
           lock_key = excluded.lock_key,
           heartbeat_at = clock_timestamp(),
           lost_at = null`);
  await takeStrikesBack(tx, worker.workerId);
}

/** A worker that reappears was cut off or stopped, not dead: its strikes do not count. */
async function takeStrikesBack(tx: Tx, workerId: string): Promise<void> {
  await tx.run(sql`
    update only ingestion_jobs
       set struck_by = array_remove(struck_by, ${workerId}::uuid)
     where struck_by <> '{}'
       and struck_by @> array[${workerId}::uuid]`);
}

export interface Beat {
  wasLost: boolean;
  /** Its place among the workers that live, and how many there are. */
  rank: number;
  count: number;
}

/**
 * Records that the worker lives, and removes its strikes if others had declared it lost. In one statement: if the
 * response were lost in between, nothing would remember the strikes. Returns no row when the worker is not listed.
 */
export function beatStatement(workerId: string) {
  return sql`
    with before as (
      select worker_id, lost_at from workers where worker_id = ${workerId} for update
    ), beaten as (
      update workers w
         set heartbeat_at = clock_timestamp(),
             lost_at = null
        from before b
       where w.worker_id = b.worker_id
    ), cleared as (
      update only ingestion_jobs
         set struck_by = array_remove(struck_by, ${workerId}::uuid)
       where (select b.lost_at is not null from before b)
         and struck_by <> '{}'
         and struck_by @> array[${workerId}::uuid]
    )
    select b.lost_at is not null as "wasLost", w.rank, w.count
      from before b,
           (select count(*) as count, count(*) filter (where worker_id < ${workerId}::uuid) as rank
              from workers
             where is_working
               and lost_at is null) w`;
}

export async function deregisterWorker(tx: Tx, workerId: string): Promise<void> {
  await tx.run(sql`delete from workers where worker_id = ${workerId}`);
}

export function listWorkers(tx: Tx): Promise<WorkerRow[]> {
  return tx.rows<WorkerRow>(sql`
    select w.worker_id as "workerId", w.name, w.guarded_by as "guardedBy", w.concurrency, w.version,
           w.started_at as "startedAt", w.heartbeat_at as "heartbeatAt", w.lost_at as "lostAt",
           coalesce(l.leases, 0) as leases
      from workers w
      left join (
        select j.leased_by, count(*) as leases
          from only ingestion_jobs j
         where j.leased_by is not null
         group by j.leased_by) l on l.leased_by = w.worker_id
     order by w.started_at
     limit 1000`);
}

export interface RescuedJob extends JobId {
  pipeline: string;
  subjectId: string;
  status: string;
  cause: 'lock' | 'expiry';
  struck: boolean;
}

/** Marks the workers whose advisory lock is gone. The lock is only read: taking it would make the worker look alive. */
export function markLostWorkers(tx: Tx): Promise<{ workerId: string }[]> {
  return tx.rows<{ workerId: string }>(sql`
    update workers w
       set lost_at = clock_timestamp()
     where w.guarded_by = 'lock'
       and w.lost_at is null
       and not exists (
         select from pg_locks l
          where l.locktype = 'advisory'
            and l.granted
            and l.objsubid = 1
            and l.database = (select oid from pg_database where datname = current_database())
            and ((l.classid::bigint << 32) | l.objid::bigint) = w.lock_key)
    returning w.worker_id as "workerId"`);
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

/**
 * Takes leases back: from lost workers at once, from silent ones when their leases have expired. A strike needs a dead
 * process: its lock is gone, or (behind a pooler, without locks) it sends no heartbeats. After `maxStrikes` without
 * progress the job becomes a dead letter: a poison job must not kill workers for ever. That cannot be undone when the
 * worker turns out to live, so the last strike waits `rejoinMs` for it to return. Each process counts once: one that
 * was declared lost and claimed again had not died. One that still sends heartbeats causes no strike and no wait: it
 * does not know of the job, for example because the response to its claim was lost.
 */
export function rescueLeases(
  tx: Tx,
  rescue: { maxStrikes: number; limit: number; silentMs: number; rejoinMs?: number },
): Promise<RescuedJob[]> {
  return tx.rows<RescuedJob>(sql`
    with found as (
      select j.tenant_id, j.job_id, j.leased_by as worker_id, j.status as old_status,
             cardinality(array_remove(j.struck_by, j.leased_by)) + 1 >= ${rescue.maxStrikes}
               and j.status = 'running' as is_last_strike,
             case when w.lost_at is not null and w.guarded_by = 'lock' then 'lock' else 'expiry' end as cause,
             (w.worker_id is null
               or (w.guarded_by = 'lock' and w.lost_at is not null)
               or (w.guarded_by = 'expiry'
                   and w.heartbeat_at < clock_timestamp() - ${rescue.silentMs} * interval '1 millisecond')) as struck
        from only ingestion_jobs j
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
      update only ingestion_jobs j
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

/** Workers without a heartbeat for this long. */
export async function listSilentWorkers(tx: Tx, silentMs: number): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select worker_id as "workerId"
      from workers
     where heartbeat_at < clock_timestamp() - ${silentMs} * interval '1 millisecond'`);
  return rows.map(({ workerId }) => workerId);
}

export function removeForgottenWorkers(tx: Tx, olderThanMs: number): Promise<number> {
  return tx.run(sql`
    delete from workers w
     where w.heartbeat_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
       and not exists (
         select from only ingestion_jobs j where j.leased_by is not null and j.leased_by = w.worker_id)`);
}
