import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import type { IngestDeps } from '../../src/ingest/items/intake/ingest.ts';
import { itemDoor } from '../../src/ingest/items/intake/intake.ts';
import { ItemRoom } from '../../src/ingest/items/intake/item-room.ts';
import { ItemMetrics } from '../../src/ingest/items/metrics.ts';
import { AnswerChecks } from '../../src/ingest/items/processing/processors/llm/answer-checks.ts';
import { createProcessorRegistry } from '../../src/ingest/items/processing/processors/registry.ts';
import { RowChecks } from '../../src/ingest/items/processing/processors/validate/row-checks.ts';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { Workbooks } from '../../src/kernel/files/workbooks.ts';
import { findJob } from '../../src/kernel/jobs/store.ts';
import type { TurnResult } from '../../src/kernel/jobs/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { queryOnce, withDatabase } from '../support/fakes/postgres-server.ts';
import { testCatalogHouse } from '../support/worlds/catalog-house.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { itemBounds } from '../support/worlds/item-bounds.ts';
import { testItemHouse } from '../support/worlds/item-house.ts';
import { eventually, testKernel } from '../support/worlds/kernel.ts';
import { noSecrets } from '../support/worlds/secrets.ts';
import { productOf, startRuledProvider } from './items-provider.ts';

// What the chaos tests find by chance, here on purpose: something interferes while a turn is in progress.
const database = useDatabase();

test('a worker whose item was taken over during its call changes neither the item nor the counts', async () => {
  const theirs = newId();
  const job = await httpJob(1, async ({ jobId }) => {
    await database.owner('update job_items set lock_token = $2 where job_id = $1', [jobId, theirs]);
  });
  await takeTurn(job);
  expect(await rowsOf(job)).toEqual([
    { status: 'PROCESSING', attempts: 1, lockToken: theirs, result: null, rows: 1 },
  ]);
  expect(await countsOf(job)).toMatchObject({ processing: '1', done: '0' });
});

test('the outcome of each row is counted as that outcome', async () => {
  const job = await makeJob({
    csv: `age\n${[1, 2, 'x', 3, 'y'].join('\n')}\n`,
    processor: 'validate',
    options: { rules: [{ column: 'age', type: 'integer' }] },
  });
  expect(await takeTurn(job)).toEqual({ processed: 5, state: 'finished' });
  expect(await countsOf(job)).toEqual({ pending: '0', processing: '0', done: '3', error: '2' });
});

test('items that a stopping worker claimed but did not start are released with their attempts', async () => {
  const job = await httpJob(5);
  await takeTurn(job, { shouldYield: true });
  expect(await rowsOf(job)).toEqual([
    { status: 'PENDING', attempts: 0, lockToken: null, result: null, rows: 5 },
  ]);
  expect(await countsOf(job)).toMatchObject({ pending: '5', processing: '0' });
});

test('a call uses up an attempt, also when the worker dies in the middle of it', async () => {
  const job = await httpJob(1, async ({ jobId }) => {
    // As after a kill: nobody comes back to the item, and its lock is over.
    await database.owner(
      `update job_items set lock_token = gen_random_uuid(), lock_expires_at = '-infinity' where job_id = $1`,
      [jobId],
    );
  });
  await takeTurn(job);
  await takeTurn(job);
  expect(await rowsOf(job)).toMatchObject([{ status: 'DONE', attempts: 2 }]);
});

test('a worker that holds a job when it is paused claims none of its items', async () => {
  const job = await httpJob(3);
  await setStatus(job, 'paused');
  await expect(takeTurn(job)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await rowsOf(job)).toMatchObject([{ status: 'PENDING', attempts: 0, rows: 3 }]);
});

test('a worker that holds a job of a pure processor when it is paused takes none of its items', async () => {
  const job = await makeJob({ csv: 'a\n1\n2\n3\n' });
  await setStatus(job, 'paused');
  expect(await takeTurn(job)).toMatchObject({ processed: 0 });
  expect(await rowsOf(job)).toMatchObject([{ status: 'PENDING', attempts: 0, rows: 3 }]);
});

test('a job that is canceled in the middle of a call keeps nothing', async () => {
  const job = await httpJob(1, (key) => setStatus(key, 'canceled'));
  await expect(takeTurn(job)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await rowsOf(job)).toMatchObject([{ result: null }]);
  expect(await countsOf(job)).toMatchObject({ done: '0' });
});

test('a job whose rows are still coming in is hidden until its last row', async () => {
  const tenantId = await newTenant(database);
  const look = () =>
    database.owner<{ stage: string | null; isDue: boolean; rows: number }>(
      `select j.stage, j.run_at <= clock_timestamp() as "isDue",
              (select count(*)::int from job_items i where i.job_id = j.job_id) as rows
         from ingestion_jobs j
        where j.tenant_id = $1`,
      [tenantId],
    );
  const seen: object[] = [];
  let sent = 0;
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a\n');
    while (seen.length === 0 && sent < 1_000_000) {
      sent += 5_000;
      yield Buffer.from('1\n'.repeat(5_000));
      const jobs = await look();
      if (jobs.some(({ rows }) => rows > 0)) seen.push(...jobs);
    }
  }
  await ingest(tenantId, { content: content() });
  expect(seen).toEqual([{ stage: 'ingesting', isDue: false, rows: expect.any(Number) }]);
  expect(await look()).toEqual([{ stage: null, isDue: true, rows: sent }]);
});

test('an ingest whose database went away is rolled back by the process that survives', async () => {
  const tenantId = await newTenant(database);
  const { pathname } = new URL(database.ownerUrl);
  const name = pathname.slice(1);
  const outside = withDatabase(database.ownerUrl, 'postgres');
  const allow = (isAllowed: boolean) =>
    queryOnce(outside, `alter database ${name} allow_connections ${isAllowed}`);
  let leftBehind = 0;
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a\n');
    for (let sent = 0; sent < 1_000_000 && leftBehind === 0; sent += 5_000) {
      yield Buffer.from('1\n'.repeat(5_000));
      leftBehind = await countItems(tenantId);
    }
    await allow(false);
    await queryOnce(outside, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      name,
    ]);
    yield Buffer.from('2\n'.repeat(5_000));
  }
  try {
    await expect(ingest(tenantId, { content: content() })).rejects.toThrow();
  } finally {
    await allow(true);
  }
  expect(leftBehind).toBeGreaterThan(0);
  await eventually(async () => (await countItems(tenantId)) === 0, 'the rows are taken back');
  expect(await database.owner('select 1 from ingestion_jobs where tenant_id = $1', [tenantId])).toEqual([]);
});

async function countItems(tenantId: string): Promise<number> {
  return (await database.owner('select 1 from job_items where tenant_id = $1', [tenantId])).length;
}

interface Key {
  tenantId: string;
  jobId: string;
}

/** A job that calls a provider; something happens during the first response. */
async function httpJob(rows: number, meanwhile: (key: Key) => Promise<void> = async () => {}): Promise<Key> {
  let key: Key | undefined;
  let happened = false;
  const provider = await startRuledProvider(async ({ sku }) => {
    if (key && !happened) {
      happened = true;
      await meanwhile(key);
    }
    return { status: 200, body: productOf(sku) };
  });
  onTestFinished(() => provider.close());
  key = await makeJob({
    csv: `sku\n${Array.from({ length: rows }, (_, n) => `s${n}`).join('\n')}\n`,
    processor: 'http',
    options: { request: { url: `${provider.url}/only/{{sku}}` } },
  });
  return key;
}

async function makeJob(wish: { csv: string; processor?: string; options?: object }): Promise<Key> {
  const tenantId = await newTenant(database);
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(wish.csv);
  }
  const key = await ingest(tenantId, { ...wish, content: content() });
  await setStatus(key, 'running');
  return key;
}

async function ingest(
  tenantId: string,
  wish: { content: AsyncIterable<Uint8Array>; processor?: string; options?: object },
): Promise<Key> {
  let jobId = '';
  await itemDoor({ ...ingestDeps(), ingestEnabled: true }).takeIn({
    target: { processor: wish.processor ?? 'noop', options: { ...wish.options } },
    tenantId,
    userId: 'a-user',
    fileName: 'rows.csv',
    content: Readable.from(wish.content),
    record: async (_tx, made) => {
      jobId = made.jobId;
    },
  });
  return { tenantId, jobId };
}

function ingestDeps(): IngestDeps {
  const { db, registry, wake, metrics, quotas } = testKernel(database);
  return {
    ...{ db, registry, wake, metrics, quotas },
    processors: createProcessorRegistry({
      rowChecks: new RowChecks(),
      answerChecks: new AnswerChecks(),
      catalogs: testCatalogHouse(database.db).door,
    }),
    secrets: noSecrets,
    itemMetrics: new ItemMetrics(new Registry()),
    bounds: itemBounds,
    room: new ItemRoom({ db, maxOpenItems: 1_000_000 }),
    workbooks: new Workbooks({ perTenant: 4 }),
    files: createFiles({ filesBackend: 'local', dataDir: tmpdir() }),
    maxUploadBytes: 100_000_000,
    workerId: newId(),
    logger: pino({ level: 'silent' }),
  };
}

async function takeTurn(key: Key, { shouldYield = false } = {}): Promise<TurnResult> {
  const job = await database.db.tenant(key.tenantId, (tx) => findJob(tx, key));
  const { pipeline } = testItemHouse(database.db);
  if (!job || !pipeline.takeTurn) throw new Error(`Job ${key.jobId} cannot take a turn`);
  const { signal } = new AbortController();
  return pipeline.takeTurn({ job, workerId: newId(), signal, shouldYield: () => shouldYield });
}

async function setStatus({ jobId }: Key, status: string): Promise<void> {
  await database.owner(
    'update ingestion_jobs set status = $2, started_at = clock_timestamp() where job_id = $1',
    [jobId, status],
  );
}

function rowsOf({ jobId }: Key): Promise<object[]> {
  return database.owner(
    `select status, attempts, lock_token as "lockToken", max(result_json::text) as result, count(*)::int as rows
       from job_items
      where job_id = $1
      group by status, attempts, lock_token`,
    [jobId],
  );
}

async function countsOf({ jobId }: Key): Promise<object | undefined> {
  const rows = await database.owner(
    'select pending, processing, done, error from item_jobs where job_id = $1',
    [jobId],
  );
  return rows[0];
}
