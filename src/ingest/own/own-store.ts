import type { DispatchClient } from '../../kernel/house/own-door.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';

export interface RegisteredPipeline {
  name: string;
  maxRetries: number;
  /** Changes with the schedule; null without one. */
  schedule: string | null;
  nextRunAt: Date | null;
}

export async function readNow(tx: Tx): Promise<Date> {
  const row = await tx.find<{ now: Date }>(sql`select clock_timestamp() as now`);
  return row?.now ?? new Date();
}

/** A schedule that is as it was keeps its next tick. */
export async function registerPipelines(tx: Tx, pipelines: readonly RegisteredPipeline[]): Promise<void> {
  await tx.run(sql`
    insert into own_pipelines as p (name, max_retries, schedule, next_run_at)
    select i.name, i."maxRetries", i.schedule, i."nextRunAt"
      from jsonb_to_recordset(${JSON.stringify(pipelines)}::jsonb) as i (
        name text, "maxRetries" integer, schedule text, "nextRunAt" timestamptz)
     order by i.name
    on conflict (name) do update
       set max_retries = excluded.max_retries,
           schedule = excluded.schedule,
           next_run_at = case
             when p.schedule is distinct from excluded.schedule then excluded.next_run_at
             else p.next_run_at end,
           updated_at = clock_timestamp()
     where (p.max_retries, p.schedule) is distinct from (excluded.max_retries, excluded.schedule)`);
}

export interface DueSchedule {
  name: string;
  nextRunAt: Date;
  now: Date;
}

export function listDueSchedules(tx: Tx, names: readonly string[]): Promise<DueSchedule[]> {
  return tx.rows<DueSchedule>(sql`
    select p.name, p.next_run_at as "nextRunAt", clock_timestamp() as now
      from own_pipelines p
     where p.name = any(${names})
       and p.next_run_at <= clock_timestamp()
     order by p.next_run_at, p.name`);
}

/** True for one process of all. */
export async function takeTick(
  tx: Tx,
  { name, seen, next }: { name: string; seen: Date; next: Date },
): Promise<boolean> {
  const row = await tx.find<{ taken: boolean }>(
    sql`select take_schedule_tick(${name}, ${seen}::timestamptz, ${next}::timestamptz) as taken`,
  );
  return row?.taken ?? false;
}

export interface SlotWish {
  tenantId: string;
  pipeline: string;
  key: string;
  limit: number;
  jobId: string;
  leaseEpoch: number;
  leasedBy: string | null;
}

/** False when as many others run under this key as may. */
export async function takeSlot(tx: Tx, wish: SlotWish): Promise<boolean> {
  const row = await tx.find<{ taken: boolean }>(sql`
    select take_own_slot(
      ${wish.tenantId}, ${wish.pipeline}, ${wish.key}, ${wish.limit}, ${wish.jobId}::uuid, ${wish.leaseEpoch},
      ${wish.leasedBy}::uuid) as taken`);
  return row?.taken ?? false;
}

/** Slots whose slices have ended count no more; this only makes room. */
export function purgeSlots(tx: Tx): Promise<number> {
  return tx.run(sql`
    delete from own_slots s
     where not exists (
       select
         from only ingestion_jobs j
        where j.tenant_id = s.tenant_id
          and j.job_id = s.job_id
          and j.lease_epoch = s.lease_epoch
          and j.leased_by = s.leased_by)`);
}

/** Through the application's own connection, under its own login. */
export async function dispatchThrough(
  client: DispatchClient,
  job: { tenantId: string; name: string; input: unknown; subjectId: string | null; runAt: Date | null },
): Promise<string> {
  const { rows } = await client.query(
    'select public.sluice_dispatch($1::text, $2::text, $3::jsonb, $4::text, $5::timestamptz) as id',
    [job.tenantId, job.name, JSON.stringify(job.input), job.subjectId, job.runAt?.toISOString() ?? null],
  );
  return String(rows[0]?.id);
}
