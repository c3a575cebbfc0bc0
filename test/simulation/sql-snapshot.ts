import type pg from 'pg';
import type { JobState, LaneState, Snapshot, WorkerState } from './job-store.ts';
import type { Names } from './names.ts';
import { startOfTimeMs } from './virtual-clock.ts';

const jobRows = `
  select j.job_id as "jobId", j.tenant_id as "tenantId", j.pipeline, j.subject_id as "subjectId",
         j.workspace_id as "workspaceId", j.status, ${msOf('j.run_at')} as "runAtMs",
         ${msOf('j.next_retry_at')} as "nextRetryAtMs", ${msOf('j.not_before')} as "notBeforeMs",
         j.retry_count as "retryCount", j.lease_epoch::integer as "leaseEpoch", j.leased_by as "leasedBy",
         ${msOf('j.lease_expires_at')} as "leaseExpiresAtMs", j.struck_by as "struckBy",
         j.cleanup_open as "cleanupOpen", j.requeued_from as "requeuedFrom", j.error_code as "errorCode",
         ${msOf('j.started_at')} as "startedAtMs", ${msOf('j.finished_at')} as "finishedAtMs",
         coalesce((j.checkpoint ->> 'n')::integer, 0) as step,
         coalesce((j.counters ->> 'slices')::integer, 0) as counter,
         array(select e.step from probe_effects e where e.job_id = j.job_id order by e.step) as effects,
         array(select e.type
                 from events e
                where e.tenant_id = j.tenant_id and e.subject = j.job_id::text
                order by e.xid, e.event_id) as events
    from ingestion_jobs j
   order by j.job_id`;

const workerRows = `
  select w.worker_id as "workerId", w.guarded_by as "guardedBy", ${msOf('w.heartbeat_at')} as "heartbeatAtMs",
         ${msOf('w.lost_at')} as "lostAtMs"
    from workers w`;

/** With the word of work that the next claim will read. */
const laneRows = `
  select tenant_id as "tenantId", pipeline, coalesce(q.pass, 0)::integer as pass, coalesce(q.is_due, false) as "isDue",
         case when q.is_due is not true
           then nullif(${msOf('least(q.next_due, m.due_at)')}, 'infinity') end as "nextDueMs"
    from tenant_queue q
    full join (
      select tenant_id, pipeline, min(due_at) as due_at
        from tenant_queue_marks
       group by tenant_id, pipeline) m using (tenant_id, pipeline)
   order by tenant_id, pipeline`;

const clockRow = `select ${msOf('at')} as "nowMs" from virtual_clock`;

/** Everything that the kernel remembers of jobs, workers and turns, with names for ids and virtual times. */
export async function readSnapshot(
  owner: pg.Client,
  { jobs, workers, workspaces }: { jobs: Names; workers: Names; workspaces: Names },
): Promise<Snapshot> {
  // In one message: a snapshot is read after every command.
  const answers: unknown = await owner.query([jobRows, workerRows, laneRows, clockRow].join(';'));
  const [rows, listed, lanes, clock] = (answers as pg.QueryResult[]).map((answer) => answer.rows) as [
    JobState[],
    WorkerState[],
    LaneState[],
    { nowMs: number }[],
  ];
  const nameOf = (names: Names, id: string | null) => (id === null ? null : names.nameOf(id));
  return {
    nowMs: clock[0]?.nowMs ?? Number.NaN,
    jobs: rows.map((row) => ({
      ...row,
      jobId: jobs.nameOf(row.jobId),
      workspaceId: nameOf(workspaces, row.workspaceId),
      leasedBy: nameOf(workers, row.leasedBy),
      requeuedFrom: nameOf(jobs, row.requeuedFrom),
      struckBy: row.struckBy.map((id) => workers.nameOf(id)),
    })),
    workers: listed
      .map((row) => ({ ...row, workerId: workers.nameOf(row.workerId) }))
      .sort((a, b) => (a.workerId < b.workerId ? -1 : 1)),
    lanes,
  };
}

function msOf(column: string): string {
  return `(extract(epoch from ${column}) * 1000 - ${startOfTimeMs})::float8`;
}
