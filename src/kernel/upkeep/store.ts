import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { UpkeepTaskState } from './types.ts';

export async function enterTasks(tx: Tx, tasks: string[]): Promise<void> {
  await tx.run(sql`
    insert into upkeep_tasks (task)
    select unnest(${tasks}::text[])
    on conflict (task) do nothing`);
}

/** Takes a due task for this process by moving its next run; of many processes exactly one gets it. */
export async function claimTask(
  tx: Tx,
  { task, everyMs }: { task: string; everyMs: number },
): Promise<boolean> {
  const claimed = await tx.run(sql`
    update upkeep_tasks
       set next_run_at = clock_timestamp() + ${everyMs} * interval '1 millisecond',
           last_started_at = clock_timestamp()
     where task = ${task}
       and next_run_at <= clock_timestamp()`);
  return claimed === 1;
}

export async function recordRun(
  tx: Tx,
  run: { task: string; result: Record<string, number> | null; error: string | null },
): Promise<void> {
  await tx.run(sql`
    update upkeep_tasks
       set last_finished_at = clock_timestamp(),
           last_result = ${run.result === null ? null : JSON.stringify(run.result)},
           last_error = ${run.error}
     where task = ${run.task}`);
}

export function listTasks(tx: Tx): Promise<UpkeepTaskState[]> {
  return tx.rows<UpkeepTaskState>(sql`
    select task, next_run_at as "nextRunAt", last_started_at as "lastStartedAt",
           last_finished_at as "lastFinishedAt", last_result as "lastResult", last_error as "lastError"
      from upkeep_tasks
     order by task`);
}

export function purgeIdempotencyKeys(
  tx: Tx,
  { hours, limit }: { hours: number; limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from idempotency_keys
     where ctid = any(array(
       select ctid
         from idempotency_keys
        where created_at < (select clock_timestamp() - ${hours} * interval '1 hour')
        limit ${limit}))`);
}

export async function purgeLogins(tx: Tx): Promise<number> {
  const links = await tx.run(sql`delete from login_links where expires_at < clock_timestamp()`);
  const sessions = await tx.run(sql`delete from sessions where expires_at < clock_timestamp()`);
  return links + sessions;
}
