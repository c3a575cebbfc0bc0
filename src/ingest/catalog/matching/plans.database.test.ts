import { beforeAll, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { settleProducts } from '../loading/product-store.ts';
import { brandScope } from './keys.ts';
import { listByKey, listByTitle } from './match-store.ts';
import { prepareTitleSearch } from './prepare-title-search.ts';

// What a lookup costs among 80,000 products of two tenants: counted in rows that are read, not in time.
const database = useDatabase();
const products = 40_000;
const questions = 50;
const smallBrand = 'brand 7';
const largeBrand = 'brand 0';
let tenantId = '';
const versionId = 1;

beforeAll(async () => {
  await prepareTitleSearch(database.ownerUrl);
  await database.owner('alter table catalog_products set (autovacuum_enabled = false)');
  tenantId = await newTenant(database);
  await addProducts(tenantId, versionId);
  await addProducts(await newTenant(database), 2);
}, 120_000);

/** A quarter is of one brand, the rest of hundreds. Titles have words of their own, so that few are alike. */
async function addProducts(tenant: string, version: number): Promise<void> {
  const brands = Array.from({ length: 300 }, (_, at) => brandScope(version, `brand ${at}`));
  await database.owner(
    `insert into catalog_products (tenant_id, version_id, row_no, sku_key, brand_title_key, title_key, scope, product)
     select $1, $2::bigint, n, 'sku' || n, 'brand ' || b.at || '|' || t.title, t.title,
            array[$2::bigint, ($3::bigint[])[b.at + 1]], json_build_object('sku', 'sku' || n, 'title', t.title)
       from generate_series(1, $4::int) n
      cross join lateral (select case when n % 4 = 0 then 0 else n % 300 end as at) b
      cross join lateral (select substr(md5('a' || n), 1, 7) || ' ' || substr(md5('b' || n % 1000), 1, 7) || ' ' ||
                                 substr(md5('c' || n), 1, 7) || ' black case' as title) t`,
    [tenant, version, brands, products],
  );
}

interface Cost {
  seqRows: number;
  indexRows: number;
  titleScans: number;
}

/** What is read of the products, inside of functions as well. */
async function costOf(work: (tx: Tx) => Promise<unknown[]>): Promise<Cost & { found: number }> {
  return database.db.tenant(tenantId, async (tx) => {
    // The numbers of a session are its own, and some of its earlier transactions may still be among them.
    const before = await readCost(tx);
    const found = (await work(tx)).length;
    const after = await readCost(tx);
    return {
      found,
      seqRows: after.seqRows - before.seqRows,
      indexRows: after.indexRows - before.indexRows,
      titleScans: after.titleScans - before.titleScans,
    };
  });
}

async function readCost(tx: Tx): Promise<Cost> {
  const [cost] = await tx.rows<Cost>(sql`
    select coalesce(sum(s.seq_tup_read), 0)::bigint as "seqRows",
           coalesce(sum(s.idx_tup_fetch), 0)::bigint as "indexRows",
           pg_stat_get_xact_numscans('public.ix_catalog_products_titles'::regclass) as "titleScans"
      from pg_stat_xact_user_tables s
     where s.relname = 'catalog_products'`);
  if (!cost) throw new Error('PostgreSQL keeps no numbers');
  return cost;
}

async function titlesOf(where: string): Promise<{ title: string; sku: string; key: string }[]> {
  return database.owner(
    `select title_key as title, sku_key as sku, brand_title_key as key from catalog_products
      where tenant_id = $1 and ${where} order by row_no limit ${questions}`,
    [tenantId],
  );
}

const place = () => ({ tenantId, versionId, most: 8 });

function everyLookup(): void {
  test('a lookup by SKU, or by brand and title, reads only the product that it asks for', async () => {
    const asked = await titlesOf('row_no > 20000');
    const keys = [...asked.map(({ sku }) => sku), null];
    const bySku = await costOf((tx) => listByKey(tx, place(), { strategy: 'sku', keys }));
    expect(bySku).toMatchObject({ found: questions, seqRows: 0, indexRows: questions });
    const byKey = await costOf((tx) =>
      listByKey(tx, place(), { strategy: 'brand_title', keys: asked.map(({ key }) => key) }),
    );
    expect(byKey).toMatchObject({ found: questions, seqRows: 0, indexRows: questions });
  });

  const ask = (titles: string[], brand: string | null) => (tx: Tx) =>
    listByTitle(tx, place(), {
      titles: titles.map((title) => title.replace('black', 'blck')),
      brands: titles.map(() => brand && brandScope(versionId, brand)),
      threshold: 0.5,
    });

  test('a title is searched through the trigrams of its own catalogue', async () => {
    const titles = (await titlesOf('row_no > 20000')).map(({ title }) => title);
    const cost = await costOf(ask(titles, null));
    expect(cost.found).toBeGreaterThanOrEqual(questions);
    expect(cost).toMatchObject({ seqRows: 0, titleScans: questions });
    // Alike, rechecked, and once more for the product itself; the other tenant has the very same titles.
    expect(cost.indexRows).toBeLessThan(questions * 60);
  });

  test('a search within a small brand compares all of its products and nothing else', async () => {
    const titles = (await titlesOf(`brand_title_key like '${smallBrand}|%'`)).map(({ title }) => title);
    const [{ size = 0 } = {}] = await database.owner<{ size: number }>(
      `select count(*)::int as size from catalog_products where tenant_id = $1 and brand_title_key like $2`,
      [tenantId, `${smallBrand}|%`],
    );
    const cost = await costOf(ask(titles, smallBrand));
    expect(cost.found).toBeGreaterThanOrEqual(questions);
    expect(cost.seqRows).toBe(0);
    expect(cost.indexRows).toBeLessThan(questions * (size + 20) + size);
  });

  test('a search within a large brand uses its trigrams', async () => {
    const titles = (await titlesOf(`brand_title_key like '${largeBrand}|%'`)).map(({ title }) => title);
    const cost = await costOf(ask(titles, largeBrand));
    expect(cost.found).toBeGreaterThanOrEqual(questions);
    expect(cost.seqRows).toBe(0);
    // The size of the brand is counted once, up to 2,001.
    expect(cost.indexRows).toBeLessThan(questions * 60 + 2_100);
  });
}

describe('without statistics', () => {
  everyLookup();
});

describe('with the statistics that an upload leaves behind', () => {
  beforeAll(() => database.db.tenant(tenantId, settleProducts));
  everyLookup();
});

test('titles of another tenant cannot be searched', async () => {
  const other = await newTenant(database);
  const asking = database.db.tenant(other, (tx) =>
    listByTitle(tx, place(), { titles: ['black case'], brands: [null], threshold: 0.1 }),
  );
  await expect(asking).rejects.toThrow(/another tenant/);
  const version = await database.db.tenant(other, (tx) =>
    listByTitle(
      tx,
      { ...place(), tenantId: other },
      { titles: ['black case'], brands: [null], threshold: 0.1 },
    ),
  );
  expect(version).toEqual([]);
});
