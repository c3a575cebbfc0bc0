import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createDatabase, queryOnce, withDatabase } from '../../../../test/support/fakes/postgres-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { newId } from '../../../lib/ids.ts';
import { Database } from '../../../lib/postgres/db.ts';
import { migrateUp } from '../../../lib/postgres/migrate.ts';
import { appUrlFor, ensureLogins } from '../../../lib/postgres/roles.ts';
import { assertStrategies } from '../service.ts';
import { listByTitle } from './match-store.ts';
import { prepareTitleSearch, prepareTitles } from './prepare-title-search.ts';

const database = useDatabase();
const addProducts = `
  insert into catalog_products (tenant_id, version_id, row_no, title_key, scope, product)
  select 'tenant', 1, n, md5(n::text) || ' chair', '{1}', json_build_object('n', n) from generate_series(1, 2000) n`;

describe('a database that gets pg_trgm later', () => {
  // One after the other: each goes on where the one before has left the database.
  const check = (...used: ('sku' | 'brand_title' | 'fuzzy_title')[]) =>
    assertStrategies(database.db, { tenantId: 'tenant', used });

  test('refuses the strategy that needs it with an explanation, and serves the others', async () => {
    await check('sku', 'brand_title');
    await expect(check('sku', 'fuzzy_title')).rejects.toMatchObject({
      code: 'fuzzy_title_unavailable',
      definition: { next: expect.stringContaining('create extension pg_trgm') },
    });
  });

  test('is left alone when its owner may not create extensions, and says so', async () => {
    const notices: string[] = [];
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query('set role sluice_tenant');
    const query = async <Row extends object>(text: string) => (await client.query<Row>(text)).rows;
    const isReady = await prepareTitles({ query }, { onNotice: (text) => void notices.push(text) });
    await client.end();
    expect(isReady).toBe(false);
    expect(notices).toEqual([expect.stringMatching(/without fuzzy titles.*permission denied/)]);
  });

  test('is prepared once, even by several processes at a time, and then serves it', async () => {
    await database.owner(addProducts);
    const ready = await Promise.all([1, 2, 3].map(() => prepareTitleSearch(database.ownerUrl)));
    expect(ready).toEqual([true, true, true]);
    await check('fuzzy_title');
    const [made] = await database.owner<{ indexes: string }>(
      `select count(*) as indexes from pg_indexes where indexname = 'ix_catalog_products_titles'`,
    );
    expect(made?.indexes).toBe('1');
  });

  test('gets the function of a newer program in place of an older one', async () => {
    const name = 'match_catalog_titles(text, bigint, real, text[], bigint[], integer)';
    await database.owner(`comment on function ${name} is 'Sluice 0'`);
    await prepareTitleSearch(database.ownerUrl);
    const [{ version = '' } = {}] = await database.owner<{ version: string }>(
      `select obj_description('${name}'::regprocedure, 'pg_proc') as version`,
    );
    expect(version).toBe('Sluice 1');
  });
});

describe('a database whose owner is not a superuser, with the extension in its own schema', () => {
  const name = `plain_${newId().replaceAll('-', '')}`;
  const serverUrl = inject('serverUrl');
  let db: Database;

  beforeAll(async () => {
    await queryOnce(serverUrl, `create role ${name} login createrole nosuperuser password 'plain'`);
    await createDatabase(serverUrl, name);
    await queryOnce(serverUrl, `alter database ${name} owner to ${name}`);
    const superuserUrl = withDatabase(serverUrl, name);
    await queryOnce(superuserUrl, `alter schema public owner to ${name}`);
    const ownerUrl = new URL(superuserUrl);
    ownerUrl.username = name;
    ownerUrl.password = 'plain';
    await migrateUp(ownerUrl.href);
    await queryOnce(superuserUrl, 'create schema elsewhere');
    await queryOnce(superuserUrl, `grant usage, create on schema elsewhere to ${name}`);
    await queryOnce(ownerUrl.href, 'create extension pg_trgm schema elsewhere');
    expect(await prepareTitleSearch(ownerUrl.href)).toBe(true);
    await queryOnce(superuserUrl, addProducts);
    await ensureLogins(superuserUrl);
    db = new Database({ url: appUrlFor(superuserUrl), applicationName: 'sluice-test', maxConnections: 2 });
  }, 60_000);
  afterAll(async () => {
    await db.close();
    await queryOnce(serverUrl, `drop database if exists ${name} with (force)`);
    await queryOnce(serverUrl, `drop role ${name}`);
  });

  // So few products would rather be read one by one, if nothing kept the planner from the index.
  const context = { role: 'sluice_tenant', settings: { enable_seqscan: 'off' } } as const;
  const search = (tenantId: string) =>
    db.transaction({ ...context, tenantId }, async (tx) => {
      const place = { tenantId: 'tenant', versionId: 1, most: 3 };
      const [{ title = '' } = {}] = await tx.rows<{ title: string }>({
        text: "select md5('77') || ' chair' as title",
        values: [],
      });
      const hits = await listByTitle(tx, place, { titles: [title], brands: [null], threshold: 0.5 });
      const reading = await tx.rows<{ scans: number; seq: number }>({
        text: `select pg_stat_get_xact_numscans('ix_catalog_products_titles'::regclass) as scans,
                      pg_stat_get_xact_numscans('catalog_products'::regclass) as seq`,
        values: [],
      });
      return { hits, reading };
    });

  test('searches titles through the trigrams, past the policies of the table', async () => {
    const { hits, reading } = await search('tenant');
    expect(hits.map(({ rowNo }) => rowNo)).toEqual([77]);
    expect(reading).toEqual([{ scans: 1, seq: 0 }]);
  });

  test('refuses another tenant than that of the transaction, and hides the products themselves', async () => {
    await expect(search('another')).rejects.toThrow('another tenant');
    const seen = await db.tenant('another', (tx) =>
      tx.rows({ text: 'select count(*) as count from catalog_products', values: [] }),
    );
    expect(seen).toEqual([{ count: 0 }]);
  });
});
