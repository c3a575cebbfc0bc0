import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import { kernelTasks } from './tasks.ts';

// What is past its retention goes with its table: it takes no longer for many rows than for few.
const database = useDatabase();
const rowCount = 5_000;
const perTenant = rowCount / 50;

/** Runs a task; returns how many rows of this table it has read, and its result. */
async function run(name: string, { table }: { table: string }) {
  const relations = await database.owner<{ oid: number }>(
    `select '${table}'::regclass::oid::integer as oid
     union all
     select indexrelid::integer from pg_index where indrelid = '${table}'::regclass`,
  );
  const oids = relations.map(({ oid }) => oid);
  let read = 0;
  const kernel = <T>(work: (tx: Tx) => Promise<T>) =>
    database.db.kernel(async (tx) => {
      const result = await work(tx);
      // Counted by PostgreSQL for this transaction, even after the table is gone.
      const row = await tx.find<{ count: number }>(sql`
        select sum(pg_stat_get_xact_tuples_returned(o.oid) + pg_stat_get_xact_tuples_fetched(o.oid))::integer as count
          from unnest(${oids}::integer[]::oid[]) o (oid)`);
      read += row?.count ?? 0;
      return result;
    });
  const db = { kernel } as unknown as Database;
  const tasks = kernelTasks({ db, eventRetentionDays: 90, jobRetentionDays: 90 });
  const result = await tasks.find((task) => task.name === name)?.run();
  return { read, result };
}

/** From now on, deleting a row of this table by itself fails. */
async function refuseDeletes(table: string): Promise<void> {
  await database.owner(`
    create or replace function refuse_delete() returns trigger language plpgsql as $$
      begin raise exception 'a row of % was deleted by itself', tg_table_name; end $$`);
  await database.owner(`create trigger refuse_delete before delete on ${table}
                          for each row execute function refuse_delete()`);
}

const tableOf = async (name: string) =>
  (await database.owner<{ name: string | null }>('select to_regclass($1)::text as name', [name]))[0]?.name;

/** Each of these tenants has so many jobs that ended then. */
async function endJobs(tenantIds: string[], { daysAgo, count = 1 }: { daysAgo: number; count?: number }) {
  await database.owner(
    `insert into ingestion_jobs_ended (
       tenant_id, job_id, pipeline, subject_id, status, correlation_id, created_by, finished_at)
     select tenant_id, gen_random_uuid(), 'probe', n::text, 'success', 'c', 't', now() - $2 * interval '1 day'
       from generate_series(1, $3) n, unnest($1::text[]) tenant_id`,
    [tenantIds, daysAgo, count],
  );
}

/** So many that the planner takes none of them for the owner of everything. */
const newTenants = () => Promise.all(Array.from({ length: 50 }, () => newTenant(database)));

/** Closes the present period, as it would have been that many days ago. */
async function closePeriod({ began, ended }: { began: number; ended: number }): Promise<string> {
  const [closed] = await database.owner<{ name: string }>('select rotate_ended_jobs() as name');
  const name = `ingestion_jobs_ended_${newId().slice(-12)}`;
  await database.owner(`alter table ${closed?.name} rename to ${name}`);
  await database.owner(
    `update ended_job_tables
        set name = $2, began_at = now() - $3 * interval '1 day', ended_before = now() - $4 * interval '1 day'
      where name = $1`,
    [closed?.name, name, began, ended],
  );
  await database.owner(`vacuum analyze ${name}`);
  return name;
}

async function countOf(table: string, tenantIds: string[]): Promise<number> {
  const [row] = await database.owner<{ count: number }>(
    `select count(*)::integer as count from ${table} where tenant_id = any($1)`,
    [tenantIds],
  );
  return row?.count ?? 0;
}

test('a period of ended jobs goes with its table, none of its rows read or deleted', async () => {
  const tenants = await newTenants();
  await endJobs(tenants, { daysAgo: 92, count: perTenant });
  const period = await closePeriod({ began: 98, ended: 91 });
  await refuseDeletes(period);
  expect((await run('purge_jobs', { table: period })).read).toBe(0);
  expect(await tableOf(period)).toBeNull();
  expect(await countOf('ingestion_jobs', tenants)).toBe(0);
});

test('jobs past their retention wait for the end of their period, and none is deleted by itself', async () => {
  const tenants = await newTenants();
  await endJobs(tenants, { daysAgo: 92, count: perTenant });
  const period = await closePeriod({ began: 96, ended: 89 });
  await refuseDeletes(period);
  const { read, result } = await run('purge_jobs', { table: period });
  expect(result).toEqual({ removed: 0 });
  // An index of blocks knows nothing about the last, incomplete range of them.
  expect(read).toBeLessThan(rowCount / 5);
  expect(await countOf(period, tenants)).toBe(rowCount);
});

test('a job that had ended before its period began does not wait for the end of the period', async () => {
  const tenantId = await newTenant(database);
  await endJobs([tenantId], { daysAgo: 91 });
  await endJobs([tenantId], { daysAgo: 80 });
  const period = await closePeriod({ began: 50, ended: 43 });
  expect((await run('purge_jobs', { table: period })).result).toEqual({ removed: 1 });
  expect(await countOf('ingestion_jobs', [tenantId])).toBe(1);
});

test('of a period that goes, only the jobs of tenants that keep theirs for longer are read and kept', async () => {
  const tenants = await newTenants();
  const patient = await newTenant(database);
  const limits = { job_retention_days: 365 };
  await database.owner('update tenants set limits = $2 where tenant_id = $1', [patient, limits]);
  await endJobs(tenants, { daysAgo: 92, count: perTenant });
  await endJobs([patient], { daysAgo: 92 });
  const period = await closePeriod({ began: 98, ended: 91 });
  await refuseDeletes(period);
  expect((await run('purge_jobs', { table: period })).read).toBeLessThan(10);
  expect(await tableOf(period)).toBeNull();
  expect(await countOf('ingestion_jobs', tenants)).toBe(0);
  expect(await countOf('ingestion_jobs', [patient])).toBe(1);
});

test('a partition of events goes with its table, none of its rows read or deleted', async () => {
  const tenantId = await newTenant(database);
  const write = () =>
    database.owner<{ name: string }>(
      `with made as (
         insert into events (tenant_id, type, subject, data)
         select $1, 'job.queued', n::text, '{}' from generate_series(1, $2) n
         returning tableoid)
       select distinct tableoid::regclass::text as name from made`,
      [tenantId, rowCount],
    );
  const partition = (await write())[0]?.name ?? '';
  await database.owner(`select roll_event_log('0 s')`);
  const opened = 'update event_partitions set opened_at = now() - $1::interval where opened_at is not null';
  await database.owner(opened, ['91 days']);
  await write();
  await database.owner(`vacuum analyze ${partition}`);
  await refuseDeletes(partition);
  expect((await run('purge_events', { table: partition })).read).toBe(0);
  expect(await tableOf(partition)).toBeNull();
  expect(await countOf('events', [tenantId])).toBe(rowCount);
});
