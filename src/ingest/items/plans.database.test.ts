import { beforeAll, describe, expect, test } from 'vitest';
import { readingOf } from '../../../test/support/probes/statement-reading.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { newId } from '../../lib/ids.ts';
import type { TransactionContext, Tx } from '../../lib/postgres/db.ts';
import {
  countPending,
  findIdBefore,
  listById,
  listForExport,
  listOpen,
  listPage,
  listPending,
  type PendingRow,
} from './grid/store.ts';
import { givenBack } from './processing/outcomes.ts';
import {
  changeItems,
  claimCrashedItem,
  claimItems,
  expireLocksOf,
  lockStatement,
  readNextDue,
  releaseExpired,
  renewLocks,
} from './processing/store.ts';
import { analyzeItems } from './store.ts';
import { byIndexAlone, type ItemChange, type ItemStatus } from './types.ts';

// What the statements of this house cost on a table of 300,000 rows: counted in rows that are read, not in time.
const database = useDatabase();
const largeRows = 150_000;
const lockToken = newId();
const workerId = newId();

interface Scene {
  tenantId: string;
  /** Most of it done; open and failed rows are at its end, where a scan from the start meets them last. */
  largeJob: string;
  /** All of it open, and untouched for longer than anything else. */
  waitingJob: string;
  /** 20,000 rows wait for a retry in an hour, five for nothing. */
  retryingJob: string;
  /** A few open rows, of a user of its own. */
  smallJob: string;
  /** Ids of rows of the large job, by their place in it. */
  idAt(row: number): number;
}

let scene: Scene;

beforeAll(async () => {
  const tenantId = await newTenant(database);
  const others = [await newTenant(database), await newTenant(database)];
  // The point is what happens before the first ANALYZE of a table, so nobody may run it in between.
  await database.owner('alter table job_items set (autovacuum_enabled = false)');
  await database.owner('alter table item_jobs set (autovacuum_enabled = false)');
  const largeJob = await addJob(tenantId, { rows: largeRows, status: largeJobStatus, ageDays: 10 });
  const waitingJob = await addJob(tenantId, { rows: 50_000, status: `'PENDING'`, ageDays: 20 });
  const smallJob = await addJob(tenantId, {
    rows: 40,
    status: `'PENDING'`,
    ageDays: 1,
    userId: 'small-user',
  });
  const retryingJob = await addJob(tenantId, { rows: 20_000, status: `'PENDING'`, ageDays: 12 });
  await database.owner(
    `update job_items set due_at = clock_timestamp() + interval '1 hour' where job_id = $1 and row_no % 4000 <> 0`,
    [retryingJob],
  );
  for (const other of others) await addJob(other, { rows: 40_000, status: `'PENDING'`, ageDays: 15 });
  const [first] = await database.owner<{ id: string }>(
    'select min(id) as id from job_items where job_id = $1',
    [largeJob],
  );
  await addEmptyJobs(tenantId, 2_000);
  scene = { tenantId, largeJob, waitingJob, retryingJob, smallJob, idAt: (row) => Number(first?.id) + row };
}, 120_000);

/** The last 1,300 rows: 1,000 wait, 100 are held, 100 failed, 100 were skipped. */
const largeJobStatus = `case
  when n <= ${largeRows - 1_300} then 'DONE'
  when n <= ${largeRows - 300} then 'PENDING'
  when n <= ${largeRows - 200} then 'PROCESSING'
  when n <= ${largeRows - 100} then 'ERROR'
  else 'SKIPPED' end`;

async function addJob(
  tenantId: string,
  job: { rows: number; status: string; ageDays: number; userId?: string },
): Promise<string> {
  const jobId = newId();
  const userId = job.userId ?? 'large-user';
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, max_retries, correlation_id, shared, user_id,
                                 created_by, status, started_at)
     values ($1, $2::uuid, 'items', $2::uuid, 0, $2::uuid, true, $3::text, $3::text, 'running', clock_timestamp())`,
    [tenantId, jobId, userId],
  );
  await database.owner(
    `insert into item_jobs (tenant_id, job_id, job_type, processor, user_id, total, pending)
     values ($1, $2, 'csv', 'noop', $3, $4::bigint, $4::bigint)`,
    [tenantId, jobId, userId, job.rows],
  );
  await database.owner(
    `insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json, result_json, status, updated_at,
                            locked_by, lock_token, locked_at, lock_expires_at)
     select $1, $2, n, $3, 'csv', json_build_object('title', 'title ' || n), json_build_object('title', n), s.status,
            clock_timestamp() - interval '1 day' * $4::int + interval '1 millisecond' * n,
            l.worker_id, l.token, l.locked_at, l.locked_at + interval '1 hour'
       from generate_series(1, $5::int) n
      cross join lateral (select ${job.status} as status) s
       left join lateral (select $6::uuid as worker_id, $7::uuid as token, clock_timestamp() as locked_at) l
         on s.status = 'PROCESSING'`,
    [tenantId, jobId, userId, job.ageDays, job.rows, workerId, lockToken],
  );
  return jobId;
}

/** Jobs whose rows are gone: a table of a handful of jobs would be read as a whole, and rightly so. */
async function addEmptyJobs(tenantId: string, count: number): Promise<void> {
  await database.owner(
    `with made as (
       insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, shared, created_by, status)
       select $1, j.id, 'items', j.id, j.id, true, 'large-user', 'success'
         from (select gen_random_uuid() as id from generate_series(1, $2::int)) j
       returning tenant_id, job_id)
     insert into item_jobs (tenant_id, job_id, job_type, processor, user_id)
     select tenant_id, job_id, 'csv', 'noop', 'large-user' from made`,
    [tenantId, count],
  );
}

interface Case {
  /** The most rows that may be read. */
  most: number;
  work: (tx: Tx) => Promise<unknown>;
  /** By itself the tenant's. */
  role?: 'sluice_kernel';
}

const large = () => ({ tenantId: scene.tenantId, jobId: scene.largeJob });
const waiting = () => ({ tenantId: scene.tenantId, jobId: scene.waitingJob });
const retrying = () => ({ tenantId: scene.tenantId, jobId: scene.retryingJob });
const claim = { workerId, lockToken: newId(), lockMs: 10_000 };

const processing: Record<string, Case> = {
  'a lock of 500 rows for a pure processor': {
    most: 520,
    work: (tx) => tx.rows(lockStatement({ ...waiting(), limit: 500 })),
  },
  'a claim of 500 rows': {
    most: 1_520,
    work: (tx) => claimItems(tx, { ...waiting(), ...claim, limit: 500 }),
  },
  'a claim in a job that is nearly done': {
    most: 620,
    work: (tx) => claimItems(tx, { ...large(), ...claim, limit: 200 }),
  },
  'a claim of a crashed row when no row has crashed': {
    most: 10,
    work: (tx) => claimCrashedItem(tx, { ...waiting(), ...claim }),
  },
  'a lock in a job whose rows wait for retries': {
    most: 20,
    work: (tx) => tx.rows(lockStatement({ ...retrying(), limit: 500 })),
  },
  'a claim in a job whose rows wait for retries': {
    most: 30,
    work: (tx) => claimItems(tx, { ...retrying(), ...claim, limit: 500 }),
  },
  'the outcome of 200 rows': {
    most: 420,
    work: (tx) => changeItems(tx, large(), { lockToken: null, changes: changesAt(200) }),
  },
  'a look for expired locks, where none has expired': {
    most: 10,
    work: (tx) => releaseExpired(tx, { ...large(), limit: 500 }),
  },
  'when there is something to do next': { most: 10, work: (tx) => readNextDue(tx, large()) },
  'the renewal of 100 locks': {
    most: 220,
    work: (tx) => renewLocks(tx, { ...large(), lockToken, lockMs: 10_000 }),
  },
  'the locks of a dead worker, over all tenants': {
    most: 220,
    work: (tx) => expireLocksOf(tx, [workerId]),
    role: 'sluice_kernel',
  },
};

function changesAt(count: number): ItemChange[] {
  return Array.from({ length: count }, (_, at) => ({
    ...givenBack({ id: scene.idAt(largeRows - 1_000 + at) }),
    status: 'DONE',
    resultJson: '{"a":1}',
    givesAttemptBack: false,
  }));
}

const keyset = { limit: 501, withInput: false };
const byId = (statuses: ItemStatus[] | null, row: number) => (tx: Tx) =>
  listById(tx, { ...large(), ...keyset, statuses, afterId: scene.idAt(row) });
const firstPage = { page: 1, pageSize: 500, status: null, descending: false, withInput: false };
const page = (more: { page?: number; status?: ItemStatus; descending?: boolean }) => (tx: Tx) =>
  listPage(tx, { ...large(), ...firstPage, ...more });

const grid: Record<string, Case> = {
  'the first page': { most: 510, work: page({}) },
  'the last page, from the end': { most: 510, work: page({ descending: true }) },
  'a deep page, which has to count its way': { most: 100_510, work: page({ page: 201 }) },
  'the first page of failed rows': { most: 210, work: page({ status: 'ERROR' }) },
  'the first page of skipped rows': { most: 210, work: page({ status: 'SKIPPED' }) },
  'the first page of waiting rows': { most: 2_210, work: page({ status: 'PENDING' }) },
  'the last page of waiting rows, from the end': {
    most: 2_210,
    work: page({ status: 'PENDING', descending: true }),
  },
  'the first page of waiting rows where all wait': {
    most: 1_010,
    work: (tx) => listPage(tx, { ...firstPage, ...waiting(), status: 'PENDING' }),
  },
  'the first page of held rows': { most: 2_210, work: page({ status: 'PROCESSING' }) },
  'a keyset page at the start': { most: 510, work: byId(null, -1) },
  'a keyset page in the depth': { most: 510, work: byId(null, 140_000) },
  'a keyset page of done rows in the depth': { most: 510, work: byId(['DONE'], 140_000) },
  'finding a row in the depth by its number': {
    most: 60,
    work: (tx) => findIdBefore(tx, { ...large(), rowNo: 140_001 }),
  },
  'a keyset page of failed rows': { most: 210, work: byId(['ERROR', 'NOT_FOUND'], -1) },
  'a batch of an export in the depth': {
    most: 510,
    work: (tx) => listForExport(tx, { ...large(), afterId: scene.idAt(140_000), limit: 500 }),
  },
};

const open: ItemStatus[] = ['PENDING', 'PROCESSING'];
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const openOf = (key: () => { tenantId: string; jobId: string }, days: number) => (tx: Tx) =>
  listOpen(tx, { ...key(), ...keyset, statuses: open, after: { updatedAt: daysAgo(days), id: 0 } });

interface Asked {
  userId?: string;
  jobId?: () => string;
  after?: number;
  from?: number;
}

const pendingOf =
  ({ userId, jobId, after, from }: Asked) =>
  (tx: Tx) =>
    listPending(tx, {
      tenantId: scene.tenantId,
      userId: userId ?? null,
      jobId: jobId?.() ?? null,
      jobType: null,
      statuses: open,
      updatedFrom: from === undefined ? null : new Date(daysAgo(from)),
      updatedTo: null,
      after: after === undefined ? null : { updatedAt: daysAgo(after), id: 0 },
      limit: 101,
    });

/** With each row its job is looked up, so twice the page and some more. */
const pendingPage = 101 * 2 + 20;

const pending: Record<string, Case> = {
  'the open rows of a job, at the start': { most: 510, work: openOf(waiting, 30) },
  'the open rows of a job, in the depth': { most: 510, work: openOf(waiting, 19.9997) },
  'the open rows of a job that is nearly done': { most: 1_110, work: openOf(large, 30) },
  'the open rows of a tenant': { most: pendingPage, work: pendingOf({}) },
  'the open rows of a tenant, in the depth': { most: pendingPage, work: pendingOf({ after: 19.9997 }) },
  'the open rows of a tenant since a day': { most: pendingPage, work: pendingOf({ from: 12 }) },
  'the open rows of a user': { most: pendingPage, work: pendingOf({ userId: 'large-user' }) },
  'the open rows of a user who has few': { most: pendingPage, work: pendingOf({ userId: 'small-user' }) },
  'the open rows of one job among many': {
    most: pendingPage,
    work: pendingOf({ jobId: () => scene.smallJob }),
  },
  'the open rows of one job of a user': {
    most: pendingPage,
    work: pendingOf({ userId: 'small-user', jobId: () => scene.smallJob }),
  },
  // From the counts of the jobs: however many rows they have.
  'the number of open rows of a tenant': {
    most: 2_100,
    work: (tx) => countPending(tx, { tenantId: scene.tenantId, userId: null }),
  },
  'the number of open rows of a user': {
    most: 2_100,
    work: (tx) => countPending(tx, { tenantId: scene.tenantId, userId: 'small-user' }),
  },
};

function everyCase(): void {
  // Workers ask with these settings.
  for (const [what, one] of Object.entries(processing)) testCase(what, one, byIndexAlone);
  for (const [what, one] of Object.entries({ ...grid, ...pending })) testCase(what, one, {});
}

function testCase(what: string, { most, work, role }: Case, settings: Record<string, string>): void {
  test(`${what} reads at most ${most} rows`, async () => {
    const { tenantId } = scene;
    const context: TransactionContext = role ? { role } : { role: 'sluice_tenant', tenantId, settings };
    const reading = await readingOf(database.db, { context, work });
    expect(reading.scans.length).toBeGreaterThan(0);
    expect(reading.scans).not.toContain('Seq Scan on job_items');
    expect(reading.rows, reading.scans.join(', ')).toBeLessThanOrEqual(most);
  });
}

describe('with the statistics that an ingest leaves behind', () => {
  beforeAll(() => database.db.tenant(scene.tenantId, analyzeItems));
  test('the planner knows the columns that claims go by', async () => {
    const [known] = await database.owner<{ n: string }>(
      `select count(*) as n from pg_stats where tablename = 'job_items'`,
    );
    expect(known?.n).toBe('7');
  });
  everyCase();
});

describe('with statistics', () => {
  beforeAll(async () => {
    await database.owner('analyze');
  });
  everyCase();
});

describe('what the pages hold', () => {
  const read = <Row>(work: (tx: Tx) => Promise<Row>) => database.db.tenant(scene.tenantId, work);

  test('waiting rows are in the order of the file, with those that wait for a retry among them', async () => {
    const asked = { ...retrying(), ...firstPage, status: 'PENDING' as const, pageSize: 10, page: 400 };
    for (const descending of [false, true]) {
      const rows = await read((tx) => listPage(tx, { ...asked, descending }));
      const numbers = rows.map(({ json }) => (JSON.parse(json) as { rowNo: number }).rowNo);
      // Among them one of the five that wait for nothing: row 4,000, and from the end row 16,001 is near one.
      const first = descending ? 16_010 : 3_991;
      expect(numbers).toEqual(Array.from({ length: 10 }, (_, at) => first + (descending ? -at : at)));
    }
  });

  test('page after page shows each open row of a tenant, user or job once, least recently updated first', async () => {
    const { tenantId, smallJob, largeJob } = scene;
    const asked = { tenantId, userId: null, jobId: null, jobType: null, statuses: open, limit: 400 };
    const dates = { updatedFrom: new Date(daysAgo(11)), updatedTo: null };
    const cases = [
      {
        asked: { ...asked, ...dates },
        where: `tenant_id = '${tenantId}' and updated_at > now() - interval '11 days'`,
      },
      { asked: { ...asked, ...dates, userId: 'large-user' }, where: `job_id = '${largeJob}'` },
      { asked: { ...asked, ...dates, userId: 'small-user', limit: 7 }, where: `job_id = '${smallJob}'` },
      { asked: { ...asked, ...dates, jobId: largeJob }, where: `job_id = '${largeJob}'` },
      { asked: { ...asked, ...dates, jobId: largeJob, userId: 'small-user' }, where: 'false' },
    ];
    for (const { asked, where } of cases) {
      const expected = await database.owner<{ id: string }>(
        `select id from job_items where status in ('PENDING', 'PROCESSING') and ${where} order by updated_at, id`,
      );
      const seen: string[] = [];
      let after: { updatedAt: string; id: number } | null = null;
      for (;;) {
        const rows: PendingRow[] = await read((tx) => listPending(tx, { ...asked, after }));
        seen.push(...rows.map(({ id }) => String(id)));
        const last = rows.at(-1);
        if (rows.length < asked.limit || !last) break;
        after = { updatedAt: last.updatedAt, id: last.id };
      }
      expect(seen).toEqual(expected.map(({ id }) => id));
    }
  });
});

test('a row is found by its number, and a number beyond the end finds the last row', async () => {
  const find = (key: { tenantId: string; jobId: string }, rowNo: number) =>
    database.db.tenant(key.tenantId, (tx) => findIdBefore(tx, { ...key, rowNo }));
  for (const rowNo of [1, 2, 77_777, largeRows]) {
    expect(await find(large(), rowNo), `row ${rowNo}`).toBe(scene.idAt(rowNo - 2));
  }
  expect(await find(large(), largeRows + 5)).toBe(scene.idAt(largeRows - 2));
  expect(await find({ ...large(), jobId: newId() }, 1)).toBe(0);
});
