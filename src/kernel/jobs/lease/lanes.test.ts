import { beforeEach, expect, test } from 'vitest';
import { openSession, untilWaitedFor } from '../../../../test/support/probes/sessions.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { newId } from '../../../lib/ids.ts';
import type { ClaimedJob } from '../types.ts';
import { claimMany, claimStatement, settleMany } from './lease-store.ts';

// A lane is what a tenant has waiting in one pipeline. Claims read lanes, so no lane may rest while it has a due job.
const database = useDatabase();
beforeEach(() => database.owner('delete from ingestion_jobs; delete from tenants'));

const insert = (tenantId: string, runAt = 'clock_timestamp()') => `
  insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, created_by, run_at)
  values ('${tenantId}', '${newId()}', 'probe', '${newId()}', 'c', 't', ${runAt})`;

function claim(limit: number): Promise<ClaimedJob[]> {
  const wish = { workerId: newId(), pipelines: ['probe'], limit, leaseMs: 60_000, tenantLimit: 1_000 };
  return database.db.statement<ClaimedJob>({ role: 'sluice_kernel' }, claimStatement(wish));
}

async function finish(jobs: ClaimedJob[]): Promise<void> {
  const settlements = jobs.map((job) => ({ ...job, outcome: { type: 'done' } as const, state: {} }));
  await database.db.kernel((tx) => settleMany(tx, settlements));
}

/** Claims and ends what is due, until the lane of this tenant rests. */
async function untilRested(tenantId: string): Promise<void> {
  await eventually(async () => {
    await finish(await claim(10));
    const due = await database.owner('select from tenant_queue where tenant_id = $1 and is_due', [tenantId]);
    return due.length === 0;
  }, 'the lane rests');
}

test('one claim takes as much from each tenant that has work', async () => {
  const tenants = [await newTenant(database), await newTenant(database), await newTenant(database)];
  for (const tenantId of tenants) {
    for (let n = 0; n < 20; n += 1) await database.owner(insert(tenantId));
  }
  const taken = await claim(9);
  const counts = tenants.map((tenantId) => taken.filter((job) => job.tenantId === tenantId).length);
  expect(counts).toEqual([3, 3, 3]);
});

test('a lane that has rested is claimed from again with its next job, at once or when it is due', async () => {
  const tenantId = await newTenant(database);
  await database.owner(insert(tenantId));
  await untilRested(tenantId);
  expect(await claim(10)).toEqual([]);
  await database.owner(insert(tenantId));
  const again = await claim(10);
  expect(again).toHaveLength(1);
  await finish(again);
  await untilRested(tenantId);
  await database.owner(insert(tenantId, `clock_timestamp() + interval '300 ms'`));
  expect(await claim(10)).toEqual([]);
  await eventually(async () => (await claim(10)).length === 1, 'the job is due');
});

test('a lane does not rest while a transaction is about to commit a job into it', async () => {
  const tenantId = await newTenant(database);
  await database.owner(insert(tenantId));
  await finish(await claim(10));
  // As claims leave it that find it busy: due, with nothing in it.
  await database.owner(
    `update tenant_queue set is_due = true, busy_until = '-infinity' where tenant_id = $1`,
    [tenantId],
  );
  const dispatching = await openSession(database);
  await dispatching.query(`begin; ${insert(tenantId)}`);
  expect(await claim(10)).toEqual([]);
  await dispatching.query('commit');
  expect(await claim(10)).toHaveLength(1);
});

test('the head of a lane does not pass a job that is about to be committed before it', async () => {
  const tenantId = await newTenant(database);
  const ago = (seconds: number) => `clock_timestamp() - interval '${seconds} s'`;
  for (const seconds of [60, 30, 10]) await database.owner(insert(tenantId, ago(seconds)));
  // The head is now the second job, and has not moved for a while.
  expect(await claim(1)).toHaveLength(1);
  await database.owner(`update tenant_queue set moved_at = '-infinity' where tenant_id = $1`, [tenantId]);
  const dispatching = await openSession(database);
  await dispatching.query(`begin; ${insert(tenantId, ago(20))}`);
  expect(await claim(1)).toHaveLength(1);
  await dispatching.query('commit');
  expect(await claim(10)).toHaveLength(2);
});

/** The tenant of each of so many claims of one job. */
async function turns(count: number): Promise<string[]> {
  const taken: string[] = [];
  for (let n = 0; n < count; n += 1) taken.push(...(await claim(1)).map(({ tenantId }) => tenantId));
  return taken;
}

async function enqueue(tenantId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await database.owner(insert(tenantId));
}

test('a tenant that comes to others that took many turns gets no extra ones', async () => {
  const [first, second, late] = [
    await newTenant(database),
    await newTenant(database),
    await newTenant(database),
  ];
  for (const tenantId of [first, second]) await enqueue(tenantId, 40);
  await turns(40);
  await enqueue(late, 20);
  const taken = await turns(15);
  expect(taken.filter((tenantId) => tenantId === late).length).toBeLessThanOrEqual(6);
});

test('a tenant that took many turns and comes back beside newcomers does not wait for them to catch up', async () => {
  const [old, ...others] = [await newTenant(database), await newTenant(database), await newTenant(database)];
  for (const tenantId of [old, ...others]) await enqueue(tenantId, 20);
  await turns(60);
  await untilRested(old);
  for (const tenantId of others) await untilRested(tenantId);
  for (let n = 0; n < 2; n += 1) await enqueue(await newTenant(database), 40);
  await turns(4);
  // Its first job goes before all that wait.
  await enqueue(old, 20);
  const taken = await turns(9);
  expect(taken[0]).toBe(old);
  expect(taken.filter((tenantId) => tenantId === old)).toHaveLength(3);
});

/** How many sessions of this database wait for a lock. */
async function waiting(): Promise<number> {
  const [row] = await database.owner<{ count: number }>(
    `select count(*)::integer as count
       from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return row?.count ?? 0;
}

test('a claim counts the leases of another claim that has not committed yet', async () => {
  const tenantId = await newTenant(database);
  await enqueue(tenantId, 10);
  // The lane is there for both.
  expect(await claim(1)).toHaveLength(1);
  const wish = { workerId: newId(), pipelines: ['probe'], limit: 10, leaseMs: 60_000, tenantLimit: 3 };
  let other: Promise<ClaimedJob[]> = Promise.resolve([]);
  const first = await database.db.kernel(async (tx) => {
    const taken = await claimMany(tx, wish);
    other = database.db.statement<ClaimedJob>({ role: 'sluice_kernel' }, claimStatement(wish));
    const isWaiting = eventually(async () => (await waiting()) > 0, 'the other claim waits');
    await Promise.race([other, isWaiting]);
    isWaiting.catch(() => {});
    return taken;
  });
  expect(first).toHaveLength(2);
  expect(await other).toEqual([]);
});

test('two claims that wait for one tenant take all that is due, also what came before the head meanwhile', async () => {
  const tenantId = await newTenant(database);
  for (const seconds of [30, 10]) {
    await database.owner(insert(tenantId, `clock_timestamp() - interval '${seconds} s'`));
  }
  await claim(1);
  const session = await openSession(database);
  await session.query(`begin; select from tenants where tenant_id = '${tenantId}' for no key update`);
  const first = claim(10);
  await untilWaitedFor(database, session);
  // The second claim wakes the lane for it, and has the lane locked while it waits for the tenant.
  await database.owner(insert(tenantId, `clock_timestamp() - interval '60 s'`));
  const second = claim(10);
  await eventually(async () => (await waiting()) === 2, 'both claims wait');
  await session.query('commit');
  expect((await Promise.all([first, second])).flat()).toHaveLength(2);
});

test('the end of a job makes the lanes due that had to wait for room in their tenant', async () => {
  const tenantId = await newTenant(database);
  await database.owner(`update tenants set limits = '{"concurrent_jobs": 1}' where tenant_id = $1`, [
    tenantId,
  ]);
  await database.owner(insert(tenantId));
  await database.owner(insert(tenantId));
  const first = await claim(10);
  expect(first).toHaveLength(1);
  expect(await claim(10)).toEqual([]);
  // Not even the time after which a lane is looked at in any case.
  await database.owner(`update tenant_queue set next_due = 'infinity' where tenant_id = $1 and is_limited`, [
    tenantId,
  ]);
  await finish(first);
  expect(await claim(10)).toHaveLength(1);
});
