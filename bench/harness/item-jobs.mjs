// Items jobs as an ingest leaves them, created by SQL: hidden first, visible when the clock starts.
import { tenantId, userId } from './sluice.mjs';

export const columns = ['id', 'name', 'email', 'city', 'amount'];

/** The input of row n, as the CSV reader writes it. The same text is made in SQL by `inputSql`. */
export function inputOf(n) {
  return JSON.stringify(Object.fromEntries(columns.map((name, at) => [name, valuesOf(n)[at]])));
}

export function valuesOf(n) {
  return [String(n), `Person ${n}`, `person${n}@example.com`, `City ${n % 1000}`, `${n % 10_000}.50`];
}

const inputSql = `format(
  '{"id":"%s","name":"Person %s","email":"person%s@example.com","city":"City %s","amount":"%s.50"}',
  n, n, n, n % 1000, n % 10000)::json`;

/** Waiting items of a hidden job. */
export async function loadWaitingItems(database, count) {
  const jobId = await makeHiddenJob(database);
  await insertRows(database, {
    jobId,
    count,
    text: `insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json)
           select $1, $2, n, $3, 'csv', ${inputSql} from generate_series($4::int, $5::int) n`,
    counter: 'pending',
  });
  return jobId;
}

/** Finished items, each with its result, of a visible job. */
export async function loadDoneItems(database, count) {
  const jobId = await makeHiddenJob(database);
  await insertRows(database, {
    jobId,
    count,
    text: `insert into job_items (
             tenant_id, job_id, row_no, user_id, job_type, input_json, status, attempts, result_json)
           select $1, $2, n, $3, 'csv', ${inputSql}, 'DONE', 1, ${inputSql} from generate_series($4::int, $5::int) n`,
    counter: 'done',
  });
  await database.query('update item_jobs set result_columns = columns');
  await withDatabase(database, (db) => revealItems(db, jobId));
  return jobId;
}

/** From here on workers may claim it; they are notified at once, as by an ingest. `db` is connected before that. */
export async function revealItems(db, jobId) {
  const { revealJob } = await import('../../dist/modules/kernel/jobs/shared/shared-store.js');
  const { wakeChannel } = await import('../../dist/modules/kernel/jobs/wake-up.js');
  const job = await db.tenant(tenantId, (tx) => revealJob(tx, { tenantId, jobId }));
  if (!job) throw new Error(`The job ${jobId} was not hidden any more`);
  await db.notify(wakeChannel, ['jobs', 'events']);
}

async function makeHiddenJob(database) {
  const { insertHiddenJob } = await import('../../dist/modules/kernel/jobs/shared/shared-store.js');
  const { insertItemJob } = await import('../../dist/modules/ingest/items/store.js');
  const { newId } = await import('../../dist/modules/lib/ids.js');
  const jobId = newId();
  await database.query('insert into tenants (tenant_id, name) values ($1, $1) on conflict do nothing', [
    tenantId,
  ]);
  const job = {
    jobId,
    pipeline: 'items',
    subjectId: jobId,
    maxRetries: 0,
    shared: true,
    createdBy: userId,
    userId,
  };
  const items = { tenantId, jobId, jobType: 'csv', processor: 'noop', options: {}, columns, userId };
  await withDatabase(database, (db) =>
    db.tenant(tenantId, async (tx) => {
      await insertHiddenJob(tx, tenantId, job);
      await insertItemJob(tx, { ...items, fileId: null, fileName: null, ingestingBy: newId() });
    }),
  );
  return jobId;
}

const rowsAtOnce = 100_000;

async function insertRows(database, { jobId, count, text, counter }) {
  // A statement keeps its new rows in memory until it has checked their job.
  for (let from = 1; from <= count; from += rowsAtOnce) {
    await database.query(text, [tenantId, jobId, userId, from, Math.min(from + rowsAtOnce - 1, count)]);
  }
  await database.query(
    `update item_jobs set total = $1, ${counter} = $1, ingesting_by = null where tenant_id = $2 and job_id = $3`,
    [count, tenantId, jobId],
  );
}

export async function withDatabase(database, work) {
  const { Database } = await import('../../dist/modules/lib/postgres/db.js');
  const db = new Database({ url: database.appUrl, applicationName: 'sluice-bench', maxConnections: 2 });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
