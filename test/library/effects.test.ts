import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openAppTables } from '../../src/kernel/house/app-tables-store.ts';
import { definePipeline, openSluice } from '../../src/library.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const place = mkdtempSync(path.join(tmpdir(), 'sluice-effects-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const run = definePipeline({
  name: 'run',
  input: z.object({ sql: z.string(), params: z.array(z.unknown()).optional() }),
  retry: { maxRetries: 0 },
  advance: async ({ job: { input }, transaction }) => {
    const { rows } = await transaction((tx) => tx.query(input.sql, input.params));
    return { outcome: { type: 'done', result: rows } };
  },
});

const open = () => openSluice({ databaseUrl: database.ownerUrl, dataDir: place, pipelines: [run] });
let sluice: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  sluice = await open();
});
afterAll(() => sluice.stop());

async function effects(sql: string, params?: unknown[]) {
  const { jobId } = await sluice.dispatch('run', { sql, params }, { tenantId: 'acme' });
  return sluice.wait('acme', jobId);
}

const openTables = `
  select distinct c.relname as name
    from pg_class c
   cross join lateral aclexplode(c.relacl) a
   where a.grantee = 'sluice_effects'::regrole
   order by 1`;

describe('effects', () => {
  test('reach every table of the application and none of Sluice’s', async () => {
    await openAppTables(database.ownerUrl);
    expect(await database.owner(openTables)).toEqual([]);
    await database.owner('create schema shop');
    await database.owner('create table shop.orders (id bigserial primary key, tenant text)');
    await database.owner('create view order_count as select count(*)::int as n from shop.orders');
    expect(
      await effects(
        "insert into shop.orders (tenant) values (current_setting('app.tenant_id')) returning tenant",
      ),
    ).toMatchObject({ status: 'success', result: [{ tenant: 'acme' }] });
    expect(await effects('select n from order_count')).toMatchObject({ result: [{ n: 1 }] });
    const opened = await database.owner(openTables);
    expect(opened).toEqual([{ name: 'order_count' }, { name: 'orders' }, { name: 'orders_id_seq' }]);
  });

  test.each([
    'select * from ingestion_jobs',
    'insert into ingestion_jobs (tenant_id) values (1)',
    'select key from tenant_signing',
    'select * from tenants',
    'select * from schema_migrations',
    'create table mine (n int)',
    'create temporary table ingestion_jobs (n int)',
  ])('are refused: %s', async (sql) => {
    const { status, error } = await effects(sql);
    expect([status, error?.code]).toEqual(['dead_letter', 'tables_closed']);
  });

  test.each([
    'commit',
    ' /* a */ -- b\n COMMIT',
    'rollback',
    'set role sluice_tenant',
    'set local role sluice_tenant',
    'reset role',
    'abort',
    'end',
    "prepare transaction 'x'",
  ])('cannot leave their transaction or their role: %j', async (sql) => {
    expect(await effects(sql)).toMatchObject({
      status: 'dead_letter',
      error: { code: 'transaction_control' },
    });
  });

  test('are one statement at a time', async () => {
    expect(await effects('select 1; commit')).toMatchObject({
      status: 'dead_letter',
      error: { code: '42601' },
    });
  });

  test('get what the driver gives elsewhere: a bigint is a text', async () => {
    expect(await effects('select 7::bigint as n')).toMatchObject({ result: [{ n: '7' }] });
  });
});
