import { beforeAll, expect, test } from 'vitest';
import { loadCatalog } from '../../src/ingest/catalog/loading/load.ts';
import { defaultSettings } from '../../src/ingest/catalog/matching/matching.ts';
import { prepareTitleSearch } from '../../src/ingest/catalog/matching/prepare-title-search.ts';
import { matchQuestions } from '../../src/ingest/catalog/service.ts';
import type { Catalog, Strategy } from '../../src/ingest/catalog/types.ts';
import { Workbooks } from '../../src/kernel/files/workbooks.ts';
import { newId } from '../../src/lib/ids.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { makeProducts, makeRows } from './products.ts';
import { type Quality, qualityOf } from './quality.ts';

// How good matches are, on a smaller set than that of docs/benchmarks/catalog.md.
const database = useDatabase();
const products = makeProducts(2_000);
const rows = makeRows(products, 400);
let catalog: Catalog;

beforeAll(async () => {
  await prepareTitleSearch(database.ownerUrl);
  const tenantId = await newTenant(database);
  const file = JSON.stringify(products);
  catalog = await loadCatalog(
    { db: database.db, workerId: newId(), workbooks: new Workbooks({ perTenant: 4 }) },
    {
      tenantId,
      name: 'main',
      userId: 'u',
      fileName: 'p.json',
      mediaType: null,
      fields: {},
      sheet: null,
      content: pieces(file),
      signal: new AbortController().signal,
    },
  );
}, 180_000);

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function measure(strategies: Strategy[], threshold = defaultSettings.threshold): Promise<Quality> {
  const questions = rows.map(({ brand, title }) => ({ sku: null, brand, title }));
  const settings = { ...defaultSettings, threshold };
  const tried = await matchQuestions(database.db, catalog, { questions, strategies, settings });
  return qualityOf(
    rows,
    tried.map(({ match }) => (match.found ? String(match.product.sku) : null)),
  );
}

test('brand and title never match wrongly, and find products that differ only in spelling and units', async () => {
  const { precision, byKind } = await measure(['brand_title']);
  expect(precision).toBe(100);
  expect(byKind.spelling).toBeGreaterThan(95);
  expect(byKind.units).toBeGreaterThan(95);
  expect(byKind['near miss']).toBe(100);
});

test('similar titles find nearly all by default, and their wrong matches are products of another colour', async () => {
  const { precision, recall, byKind } = await measure(['brand_title', 'fuzzy_title']);
  expect(precision).toBeGreaterThanOrEqual(95);
  expect(recall).toBeGreaterThanOrEqual(97);
  expect(byKind.unrelated).toBe(100);
  expect(byKind['near miss']).toBeGreaterThanOrEqual(70);
});

test('a higher threshold matches less and is right more often', async () => {
  const [low, high] = [await measure(['fuzzy_title'], 0.3), await measure(['fuzzy_title'], 0.8)];
  expect(high.precision).toBeGreaterThan(low.precision);
  expect(high.recall).toBeLessThan(low.recall);
});
