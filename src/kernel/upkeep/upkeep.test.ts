import pino from 'pino';
import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { testElections } from '../../../test/support/worlds/elections.ts';
import { newId } from '../../lib/ids.ts';
import { stuckJobsTask } from '../stats/tasks.ts';
import { listTasks } from './store.ts';
import { kernelTasks } from './tasks.ts';
import type { UpkeepTask } from './types.ts';
import { Upkeep } from './upkeep.ts';

const database = useDatabase();
const logger = pino({ level: 'silent' });

async function upkeepWith(tasks: UpkeepTask[]): Promise<Upkeep> {
  const upkeep = new Upkeep({ db: database.db, logger, tasks, lookEveryMs: 3_600_000 });
  // Never elected: tests say themselves when to look.
  await upkeep.start(testElections(database.db).office('upkeep'));
  return upkeep;
}

async function stateOf(task: string) {
  return (await database.db.kernel(listTasks)).find((row) => row.task === task);
}

test('exactly one of many processes runs a due task, and it is not due again before its interval', async () => {
  let runs = 0;
  const task = { name: 'once', everyMs: 60_000, run: async () => ({ runs: ++runs }) };
  const processes = await Promise.all(Array.from({ length: 8 }, () => upkeepWith([task])));
  await Promise.all(processes.map((upkeep) => upkeep.runDue()));
  await Promise.all(processes.map((upkeep) => upkeep.runDue()));
  expect(runs).toBe(1);
  expect(await stateOf('once')).toMatchObject({ lastResult: { runs: 1 }, lastError: null });
  await Promise.all(processes.map((upkeep) => upkeep.stop()));
});

test('a task that fails is recorded with its reason and does not keep the others from running', async () => {
  const upkeep = await upkeepWith([
    { name: 'broken', everyMs: 60_000, run: () => Promise.reject(new Error('no space left')) },
    { name: 'fine', everyMs: 60_000, run: async () => ({}) },
  ]);
  expect(await upkeep.runDue()).toEqual(['broken', 'fine']);
  expect(await stateOf('broken')).toMatchObject({ lastError: 'no space left', lastResult: null });
  await upkeep.stop();
});

async function insertJob(
  tenantId: string,
  { status, finishedDaysAgo }: { status: string; finishedDaysAgo: number | null },
) {
  const jobId = newId();
  await database.owner(
    `insert into ingestion_jobs (
       tenant_id, job_id, pipeline, subject_id, status, correlation_id, created_by, finished_at)
     values ($1, $2::uuid, 'probe', $2::uuid::text, $3, 'c', 't', clock_timestamp() - $4 * interval '1 day')`,
    [tenantId, jobId, status, finishedDaysAgo],
  );
  return jobId;
}

async function run(name: string): Promise<Record<string, number>> {
  const own = kernelTasks({ db: database.db, eventRetentionDays: 90, jobRetentionDays: 90 });
  const tasks = [...own, stuckJobsTask({ db: database.db, logger })];
  const task = tasks.find((candidate) => candidate.name === name);
  if (!task) throw new Error(`There is no task ${name}`);
  return task.run();
}

test('finished jobs go after the retention, the tenant’s own where it has one; unfinished ones never', async () => {
  const tenantId = await newTenant(database);
  const brief = await newTenant(database);
  await database.owner(`update tenants set limits = '{"job_retention_days": 7}' where tenant_id = $1`, [
    brief,
  ]);
  const kept = [
    await insertJob(tenantId, { status: 'success', finishedDaysAgo: 30 }),
    await insertJob(tenantId, { status: 'running', finishedDaysAgo: null }),
    await insertJob(brief, { status: 'success', finishedDaysAgo: 3 }),
  ];
  await insertJob(tenantId, { status: 'success', finishedDaysAgo: 91 });
  await insertJob(brief, { status: 'dead_letter', finishedDaysAgo: 8 });
  expect(await run('purge_jobs')).toEqual({ removed: 2 });
  const rows = await database.owner<{ job_id: string }>(
    'select job_id from ingestion_jobs where tenant_id = any($1) order by job_id',
    [[tenantId, brief]],
  );
  expect(rows.map((row) => row.job_id).sort()).toEqual([...kept].sort());
});

test('events go after the retention, a partition at a time', async () => {
  const tenantId = await newTenant(database);
  const partitions: string[] = [];
  for (const days of [92, 91, 89, 1]) {
    const [made] = await database.owner<{ name: string }>(
      `insert into events (tenant_id, type, subject, data) values ($1, 'job.queued', 's', '{}')
       returning tableoid::regclass::text as name`,
      [tenantId],
    );
    partitions.push(made?.name ?? '');
    await database.owner(`select roll_event_log('0 s')`);
    // The next partition was opened so long ago: everything in this one is older.
    await database.owner(
      `update event_partitions set opened_at = now() - $1 * interval '1 day'
        where opened_at is not null
          and from_id = (select max(from_id) from event_partitions where opened_at is not null)`,
      [days],
    );
  }
  const { removed, needed } = (await run('purge_events')) as { removed: number; needed: number };
  expect({ removed, needed }).toEqual({ removed: 3, needed: 0 });
  const left = await database.owner<{ name: string }>(
    'select tableoid::regclass::text as name from events where tenant_id = $1 order by event_id',
    [tenantId],
  );
  expect(left.map(({ name }) => name)).toEqual(partitions.slice(2));
  const [gone] = await database.owner(`select to_regclass($1) as table`, [partitions[0]]);
  expect(gone).toEqual({ table: null });
});

test('kept answers go after a day, expired logins at once', async () => {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into idempotency_keys (tenant_id, principal, route, key, request_hash, owner, owner_expires_at, created_at)
     select $1, 'p', 'r', hours::text, 'h', gen_random_uuid(), clock_timestamp(),
            clock_timestamp() - hours * interval '1 hour' from unnest(array[1, 25]) hours`,
    [tenantId],
  );
  await database.owner(
    `insert into sessions (tenant_id, session_hash, user_id, role, expires_at)
     values ($1, 'a', 'u', 'admin', clock_timestamp() - interval '1 s'),
            ($1, 'b', 'u', 'admin', clock_timestamp() + interval '1 h')`,
    [tenantId],
  );
  expect(await run('purge_idempotency_keys')).toEqual({ removed: 1 });
  expect(await run('purge_logins')).toEqual({ removed: 1 });
});

test('stuck jobs are counted', async () => {
  const tenantId = await newTenant(database);
  const jobId = await insertJob(tenantId, { status: 'running', finishedDaysAgo: null });
  await database.owner(
    `update ingestion_jobs set started_at = clock_timestamp() - interval '3 h' where job_id = $1`,
    [jobId],
  );
  expect(await run('report_stuck_jobs')).toEqual({ stuck: 1 });
});
