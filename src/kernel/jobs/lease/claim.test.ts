import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { newId } from '../../../lib/ids.ts';
import type { ClaimedJob } from '../types.ts';
import {
  type ClaimRequest,
  claimMany,
  claimOneStatement,
  claimStatement,
  settleMany,
  struckStatement,
} from './lease-store.ts';

const database = useDatabase();
const workerId = newId();
let owner: pg.Client;

beforeAll(async () => {
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
beforeEach(() => owner.query('delete from ingestion_jobs; delete from tenants'));
afterAll(() => owner?.end());

/** Jobs of a tenant, in the order of their due times: the first has waited longest. */
async function enqueue(
  tenantId: string,
  count: number,
  columns: Record<string, string> = {},
): Promise<string[]> {
  const all = { run_at: "clock_timestamp() - (1000000 - n) * interval '1 ms'", ...columns };
  const { rows } = await owner.query<{ job_id: string }>(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, created_by,
                                 ${Object.keys(all).join(', ')})
     select $1, gen_random_uuid(), 'probe', gen_random_uuid()::text, 'c', 'tester',
            ${Object.values(all).join(', ')}
       from generate_series(1, $2) n
     returning job_id`,
    [tenantId, count],
  );
  return rows.map((row) => row.job_id);
}

function claim(limit: number, request: Partial<ClaimRequest> = {}): Promise<ClaimedJob[]> {
  const wish = { workerId, pipelines: ['probe'], limit, leaseMs: 60_000, tenantLimit: 1_000_000, ...request };
  return database.db.statement<ClaimedJob>({ role: 'sluice_kernel' }, claimStatement(wish));
}

function claimOne(tenantId: string, jobId: string): Promise<ClaimedJob[]> {
  const request = { workerId, leaseMs: 60_000, tenantLimit: 1_000_000, tenantId, jobId };
  return database.db.statement<ClaimedJob>({ role: 'sluice_kernel' }, claimOneStatement(request));
}

/** The tenant of each claim, in order. */
async function turns(count: number): Promise<string[]> {
  const taken: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const [job] = await claim(1);
    if (job) taken.push(job.tenantId);
  }
  return taken;
}

function giveBack(jobs: ClaimedJob[], outcome: 'done' | 'continue'): Promise<unknown> {
  const settlements = jobs.map((job) => ({ ...job, outcome: { type: outcome }, state: {} }));
  return database.db.kernel((tx) => settleMany(tx, settlements));
}

async function setLimits(tenantId: string, limits: Record<string, number>): Promise<void> {
  await owner.query('update tenants set limits = $2 where tenant_id = $1', [tenantId, limits]);
}

describe('turns', () => {
  test('a single job of another tenant is in the very next claim, behind 10,000 of one tenant', async () => {
    const busy = await newTenant(database);
    const other = await newTenant(database);
    await enqueue(busy, 10_000);
    expect(new Set(await turns(20))).toEqual(new Set([busy]));
    await enqueue(other, 1);
    expect(await turns(2)).toEqual([other, busy]);
    // The same holds for each later one.
    await enqueue(other, 1);
    expect((await turns(2)).indexOf(other)).toBeLessThanOrEqual(1);
  });

  test('a tenant that was idle gets no extra turns for it', async () => {
    const busy = await newTenant(database);
    const idle = await newTenant(database);
    await enqueue(busy, 500);
    await turns(100);
    await enqueue(idle, 500);
    const taken = await turns(20);
    expect(taken.filter((tenantId) => tenantId === idle)).toHaveLength(10);
    expect(taken.slice(2).filter((tenantId) => tenantId === idle)).toHaveLength(9);
  });

  test('two newcomers with backlogs delay the single job of an old tenant by one turn each', async () => {
    const old = await newTenant(database);
    await enqueue(old, 300);
    await giveBack(await claim(300), 'done');
    for (const newcomer of [await newTenant(database), await newTenant(database)]) {
      await enqueue(newcomer, 1_000);
    }
    await turns(2);
    await enqueue(old, 1);
    expect(await turns(3)).toContain(old);
  });

  test('a tenant that was idle for long and comes back beside newcomers waits one turn of each', async () => {
    const old = await newTenant(database);
    await owner.query('update tenants set pass = 1000000 where tenant_id = $1', [old]);
    await enqueue(old, 100);
    for (let n = 0; n < 3; n += 1) await enqueue(await newTenant(database), 100);
    const taken = await turns(40);
    expect(taken.filter((tenantId) => tenantId === old)).toHaveLength(10);
  });

  test('a batch is shared by the tenants that have work, and what one leaves goes to the next claim', async () => {
    const tenants = [await newTenant(database), await newTenant(database), await newTenant(database)];
    for (const tenantId of tenants) await enqueue(tenantId, 100);
    const counts = new Map(tenants.map((tenantId) => [tenantId, 0]));
    for (let round = 0; round < 6; round += 1) {
      for (const { tenantId } of await claim(10)) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1);
    }
    expect([...counts.values()].reduce((sum, count) => sum + count)).toBe(60);
    for (const count of counts.values()) expect(Math.abs(count - 20)).toBeLessThanOrEqual(4);
  });

  test('started jobs go before queued ones, however long those have waited', async () => {
    const tenantId = await newTenant(database);
    await enqueue(tenantId, 50);
    const started = await enqueue(tenantId, 2, {
      status: "'running'",
      started_at: 'clock_timestamp()',
      run_at: 'clock_timestamp()',
    });
    expect((await claim(2)).map(({ jobId }) => jobId).sort()).toEqual(started.sort());
  });

  test('jobs of one kind go in the order of their due times', async () => {
    const tenantId = await newTenant(database);
    const jobs = await enqueue(tenantId, 5);
    const taken: string[] = [];
    for (let n = 0; n < 5; n += 1) taken.push((await claim(1))[0]?.jobId ?? '');
    expect(taken).toEqual(jobs);
  });
});

describe('limits', () => {
  /** Repeats until done: a claimer that finds the tenant's row locked returns nothing. */
  async function claimAtOnce(claimers: number, request: Partial<ClaimRequest>): Promise<ClaimedJob[]> {
    const taken: ClaimedJob[] = [];
    for (let round = 0; round < 10; round += 1) {
      const rounds = await Promise.all(Array.from({ length: claimers }, () => claim(3, request)));
      taken.push(...rounds.flat());
    }
    return taken;
  }

  test('a tenant gets exactly its limit of leases, under eight claimers at once', async () => {
    const tenantId = await newTenant(database);
    await enqueue(tenantId, 200);
    const taken = await claimAtOnce(8, { tenantLimit: 5 });
    expect(taken).toHaveLength(5);
    expect(new Set(taken.map(({ jobId }) => jobId)).size).toBe(5);
    await giveBack(taken.slice(0, 2), 'done');
    expect(await claimAtOnce(8, { tenantLimit: 5 })).toHaveLength(2);
  });

  test('the tenant’s own limit wins over the default', async () => {
    const tenantId = await newTenant(database);
    await enqueue(tenantId, 20);
    await setLimits(tenantId, { concurrent_jobs: 3 });
    expect(await claim(10, { tenantLimit: 5 })).toHaveLength(3);
    await setLimits(tenantId, { concurrent_jobs: 7 });
    expect(await claim(10, { tenantLimit: 5 })).toHaveLength(4);
  });

  test('a tenant at its limit does not block the next one', async () => {
    const full = await newTenant(database);
    const other = await newTenant(database);
    await enqueue(full, 20);
    await claim(5, { tenantLimit: 5 });
    await enqueue(other, 1);
    await owner.query('update tenants set pass = 1000 where tenant_id = $1', [other]);
    expect((await claim(1, { tenantLimit: 5 })).map(({ tenantId }) => tenantId)).toEqual([other]);
  });

  test('each workspace has its own limit, under eight claimers at once', async () => {
    // Repeated, because whether they meet is left to chance.
    for (let round = 0; round < 5; round += 1) {
      const tenantId = await newTenant(database);
      const [first, second] = [newId(), newId()];
      await setLimits(tenantId, { concurrent_jobs_per_workspace: 2 });
      await enqueue(tenantId, 20, { workspace_id: `'${first}'::uuid` });
      await enqueue(tenantId, 20, { workspace_id: `'${second}'::uuid` });
      await enqueue(tenantId, 3);
      const taken = await claimAtOnce(8, {});
      const count = (id: string | null) => taken.filter(({ workspaceId }) => workspaceId === id).length;
      expect([count(first), count(second), count(null)]).toEqual([2, 2, 3]);
    }
  });
});

describe('a claim leaves alone', () => {
  test('jobs that are not due, are leased, paused, ended, or of a pipeline that the worker does not know', async () => {
    const tenantId = await newTenant(database);
    const later = "clock_timestamp() + interval '1 min'";
    const lease = { leased_by: 'gen_random_uuid()', lease_expires_at: later };
    await enqueue(tenantId, 1, { run_at: later });
    await enqueue(tenantId, 1, { status: "'running'", run_at: later });
    await enqueue(tenantId, 1, { status: "'failed'", run_at: later });
    await enqueue(tenantId, 1, { status: "'running'", ...lease });
    // Expired is not free: a lease is given back by the rescuer, which raises the epoch and looks for dead workers.
    await enqueue(tenantId, 1, { status: "'running'", ...lease, lease_expires_at: "now() - interval '1 h'" });
    for (const status of ['paused', 'success', 'dead_letter', 'canceled']) {
      await enqueue(tenantId, 1, { status: `'${status}'` });
    }
    await enqueue(tenantId, 1, { struck_by: 'array[gen_random_uuid()]' });
    await owner.query("update ingestion_jobs set pipeline = 'unknown' where job_id = $1", [
      (await enqueue(tenantId, 1))[0],
    ]);
    const snapshot = () => owner.query('select j::text as row from ingestion_jobs j order by job_id');
    const before = (await snapshot()).rows;
    expect(await claim(100)).toEqual([]);
    expect((await snapshot()).rows).toEqual(before);
  });

  test('a job that a worker died with is claimed only by a worker that runs it alone', async () => {
    const tenantId = await newTenant(database);
    const [struck] = await enqueue(tenantId, 1, { struck_by: 'array[gen_random_uuid()]' });
    const [usual] = await enqueue(tenantId, 1);
    const [found] = await database.db.statement<{ jobId: string }>(
      { role: 'sluice_kernel' },
      struckStatement({ pipelines: ['probe'], tenantLimit: 10 }),
    );
    expect(found?.jobId).toBe(struck);
    expect((await claim(10)).map(({ jobId }) => jobId)).toEqual([usual]);
    expect((await claimOne(tenantId, struck ?? '')).map(({ jobId }) => jobId)).toEqual([struck]);
  });

  test('a claim of one tenant, or of one job, takes nothing else', async () => {
    const [one, other] = [await newTenant(database), await newTenant(database)];
    await enqueue(one, 3);
    const [first, second] = await enqueue(other, 2);
    expect((await claimOne(other, second ?? '')).map(({ jobId }) => jobId)).toEqual([second]);
    expect((await claim(10, { tenantId: other })).map(({ jobId }) => jobId)).toEqual([first]);
    expect(await claimOne(one, first ?? '')).toEqual([]);
  });
});

describe('cost', () => {
  const sizes = [1_000, 100_000];

  /** What one claim reads, in rows of indexes and tables; the claim itself is rolled back. */
  async function readBy(limit: number): Promise<number> {
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    try {
      await client.query('begin; set local role sluice_kernel');
      const wish = { workerId, pipelines: ['probe'], limit, leaseMs: 60_000, tenantLimit: 1_000_000 };
      const statement = claimStatement(wish);
      const { rowCount } = await client.query(statement.text, statement.values);
      expect(rowCount).toBe(limit);
      const { rows } = await client.query<{ read: number }>(`
        select (pg_stat_get_xact_tuples_returned('ingestion_jobs'::regclass)
                 + (select sum(pg_stat_get_xact_tuples_returned(indexrelid)
                             + pg_stat_get_xact_tuples_fetched(indexrelid))
                      from pg_index where indrelid = 'ingestion_jobs'::regclass))::integer as read`);
      await client.query('rollback');
      return rows[0]?.read ?? 0;
    } finally {
      await client.end();
    }
  }

  /** The plans of the statements inside a claim, as PostgreSQL really ran them. */
  async function plansOf(limit: number): Promise<string[]> {
    const client = new pg.Client({ connectionString: database.ownerUrl });
    const plans: string[] = [];
    client.on('notice', ({ message }) => {
      if (message?.includes('Query Text')) plans.push(message);
    });
    await client.connect();
    try {
      await client.query(`load 'auto_explain';
        set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
        set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set client_min_messages = log`);
      await client.query('begin; set local role sluice_kernel');
      const wish = { workerId, pipelines: ['probe'], limit, leaseMs: 60_000, tenantLimit: 1_000_000 };
      const statement = claimStatement(wish);
      await client.query(statement.text, statement.values);
      await client.query('rollback');
      return plans;
    } finally {
      await client.end();
    }
  }

  test('a claim reads as little from 100,000 waiting jobs as from 1,000, by the index alone', {
    timeout: 120_000,
  }, async () => {
    const reads: number[][] = [];
    for (const size of sizes) {
      // Truncated, because vacuum may leave a few dead entries in an index, and the first to pass reads them.
      await owner.query('truncate ingestion_jobs cascade; delete from tenant_queue; delete from tenants');
      await enqueue(await newTenant(database), size - 100);
      await enqueue(await newTenant(database), 100);
      await owner.query('vacuum analyze ingestion_jobs, tenants');
      reads.push([await readBy(1), await readBy(10)]);
    }
    console.log(
      `rows read by claims of 1 and 10 jobs: ${JSON.stringify(reads)} with ${sizes.join(' and ')} waiting`,
    );
    const [[oneOfFew = 0, tenOfFew = 0] = [], [oneOfMany = 0, tenOfMany = 0] = []] = reads;
    expect(oneOfFew).toBeGreaterThan(0);
    expect(oneOfMany).toBeLessThanOrEqual(2 * oneOfFew);
    expect(tenOfMany).toBeLessThanOrEqual(2 * tenOfFew);

    const plans = await plansOf(10);
    const aboutJobs = plans.filter((plan) => plan.includes('ingestion_jobs'));
    for (const plan of aboutJobs) expect(plan).not.toMatch(/Seq Scan on ingestion_jobs|Bitmap/);
    const taking = plans.filter((plan) => plan.includes('LockRows') && plan.includes('ingestion_jobs'));
    expect(taking.length).toBeGreaterThan(0);
    for (const plan of taking) {
      expect(plan).toContain('Index Scan using ix_ingestion_jobs_lane');
      expect(plan).not.toMatch(/^\s*(->\s*)?(Incremental )?Sort\b/m);
    }
  });
});

test('claimMany is the same claim inside a transaction of the caller', async () => {
  const tenantId = await newTenant(database);
  await enqueue(tenantId, 1);
  const wish = { workerId, pipelines: ['probe'], limit: 1, leaseMs: 60_000, tenantLimit: 1 };
  expect(await database.db.kernel((tx) => claimMany(tx, wish))).toMatchObject([
    { tenantId, was: 'queued', status: 'running', leaseEpoch: 1, leasedBy: workerId },
  ]);
});
