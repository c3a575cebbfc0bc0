import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../src/lib/ids.ts';
import { defineTask, openSluice } from '../../src/library.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const place = mkdtempSync(path.join(tmpdir(), 'sluice-dispatch-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const echo = defineTask({
  name: 'echo',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text.toUpperCase(),
});

const open = () => openSluice({ databaseUrl: database.ownerUrl, dataDir: place, tasks: [echo] });
let sluice: Awaited<ReturnType<typeof open>>;
/** A login of the application that owns nothing and may do nothing but dispatch. */
const shop = `shop_${newId().slice(-12)}`;
const shopUrl = new URL(database.ownerUrl);
shopUrl.username = shop;
shopUrl.password = 'a-password';
let client: pg.Client;

beforeAll(async () => {
  sluice = await open();
  await database.owner(`create role ${shop} login password 'a-password'`);
  await sluice.grantDispatch(shop);
  client = new pg.Client({ connectionString: shopUrl.href });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await sluice.stop();
  await database.owner(`drop owned by ${shop}`);
  await database.owner(`drop role ${shop}`);
});

const countJobs = async (tenantId: string) => {
  const counted = 'select count(*)::int as n from ingestion_jobs where tenant_id = $1';
  return (await database.owner<{ n: number }>(counted, [tenantId]))[0]?.n;
};

describe('a dispatch in the caller’s own transaction', () => {
  test('leaves nothing behind when it is rolled back', async () => {
    await client.query('begin');
    const wish = { tenantId: 'rolled-back', subjectId: 'one', client };
    const { jobId } = await sluice.dispatch('echo', { text: 'a' }, wish);
    expect(jobId).toMatch(/^[0-9a-f-]{36}$/);
    await client.query('rollback');
    expect(await countJobs('rolled-back')).toBe(0);
    expect(await database.owner("select from tenants where tenant_id = 'rolled-back'")).toEqual([]);
    await expect(sluice.job('rolled-back', jobId)).rejects.toMatchObject({ code: 'job_not_found' });
  });

  test('runs once it is committed, and not before', async () => {
    await client.query('begin');
    const { jobId } = await sluice.dispatch('echo', { text: 'a' }, { tenantId: 'committed', client });
    await expect(sluice.job('committed', jobId)).rejects.toMatchObject({ code: 'job_not_found' });
    await client.query('commit');
    expect(await sluice.wait('committed', jobId)).toMatchObject({ status: 'success', result: 'A' });
  });

  test('makes a job at a later moment, and one of each subject', async () => {
    const runAt = new Date(Date.now() + 3_600_000);
    const wish = { tenantId: 'later', subjectId: 'one', runAt, client };
    const { jobId } = await sluice.dispatch('echo', { text: 'a' }, wish);
    expect(await sluice.job('later', jobId)).toMatchObject({ status: 'queued' });
    await expect(sluice.dispatch('echo', { text: 'b' }, wish)).rejects.toMatchObject({
      code: 'job_already_active',
    });
    expect(await countJobs('later')).toBe(1);
  });

  test('is refused for an input that does not fit, before it reaches the database', async () => {
    await client.query('begin');
    // @ts-expect-error: the compiler refuses it, too.
    const refused = sluice.dispatch('echo', { text: 1 }, { tenantId: 'bad', client });
    await expect(refused).rejects.toMatchObject({ code: 'input_invalid' });
    await client.query('commit');
  });

  test('needs the right to dispatch', async () => {
    const other = `other_${newId().slice(-12)}`;
    await database.owner(`create role ${other} login password 'a-password'`);
    const url = new URL(shopUrl);
    url.username = other;
    const stranger = new pg.Client({ connectionString: url.href });
    await stranger.connect();
    const wish = { tenantId: 'acme', client: stranger };
    await expect(sluice.dispatch('echo', { text: 'a' }, wish)).rejects.toMatchObject({
      code: 'dispatch_refused',
    });
    await stranger.end();
    await database.owner(`drop role ${other}`);
  });
});

describe('a login that may only dispatch', () => {
  const asShop = async (...statements: string[]) => {
    await client.query('begin');
    try {
      let rows: unknown[] = [];
      for (const statement of statements) rows = (await client.query(statement)).rows;
      return rows;
    } finally {
      await client.query('rollback');
    }
  };
  const dispatched = `select public.sluice_dispatch('victim', 'echo', '{"text": "a"}')`;

  test.each([
    'select * from ingestion_jobs',
    'select key from tenant_signing',
    'select * from own_pipelines',
    'select * from tenants',
    "insert into own_pipelines (name, max_retries) values ('items', 1)",
    "select take_schedule_tick('echo', now(), now())",
    'set role sluice_tenant',
  ])('cannot read or write anything, before or after a dispatch: %s', async (statement) => {
    await expect(asShop(statement)).rejects.toMatchObject({ code: '42501' });
    await expect(asShop(dispatched, statement)).rejects.toMatchObject({ code: '42501' });
  });

  test('finds no tenant and no signature in its transaction afterwards', async () => {
    const left = `select current_setting('app.tenant_id', true) as tenant,
                         current_setting('app.tenant_signature', true) as signature`;
    expect(await asShop(dispatched, left)).toEqual([{ tenant: '', signature: '' }]);
  });

  test.each(['items', 'uploads', 'connectors', 'knowledge', 'scrapes'])(
    'cannot dispatch the built-in pipeline %s',
    async (pipeline) => {
      await expect(
        asShop(`select public.sluice_dispatch('victim', '${pipeline}', '{}')`),
      ).rejects.toMatchObject({
        constraint: 'task_unknown',
      });
    },
  );

  test('cannot have a function of its own run with the owner’s rights', async () => {
    await client.query('set search_path = pg_temp, public');
    await expect(
      asShop('create temporary table own_pipelines (name text, max_retries int)'),
    ).rejects.toThrow();
    await client.query('reset search_path');
    expect(await asShop(dispatched)).toHaveLength(1);
  });
});
