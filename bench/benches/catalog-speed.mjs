import { makeProducts, makeRows } from '../../test/match-quality/products.ts';
import { loadCatalogJob, loadProducts } from '../harness/catalog-sluice.mjs';
import { until } from '../harness/children.mjs';
import { format } from '../harness/figures.mjs';
import { revealItems, withDatabase } from '../harness/item-jobs.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { startWorkers, tenantId } from '../harness/sluice.mjs';

const key = 'perSecond';
const shares = { sku: 0.6, brandTitle: 0.3 };

export const bench = {
  name: 'catalog-speed',
  title: 'Matching rows against a catalogue',
  about: `
As many rows as products: 60 % have a SKU that the catalogue has, 30 % a brand and a title that it has, and the rest of
them the rows of [What a catalogue finds](catalog.md), most of which only a title that is alike can find. Sluice matches
them as a job of the processor \`catalog\` with its defaults, by one \`sluice worker\`: rows are claimed, normalised,
looked up, tried again with the next strategy, and completed with the product as the result, the counters and the calls
kept. Plain SQL does the same three joins on the same tables and indexes in three statements of one transaction; its
rows are normalised already, and the products go into a table of results.`,
  size: 100_000,
  metrics: [{ key, title: 'rows/s', better: 'more' }],
  async open({ server, size }) {
    const products = makeProducts(size);
    const rows = askingRows(products, size);
    return {
      contenders: [
        { label: 'Sluice, 1 process', measure: () => measureSluice({ server, products, rows }) },
        { label: 'plain SQL', measure: () => measureSql({ server, products, rows }) },
      ],
    };
  },
  targets: [
    {
      text: 'at least a quarter of plain SQL',
      judge(figureOf) {
        const share = figureOf('Sluice, 1 process', key) / figureOf('plain SQL', key);
        return { reached: share >= 0.25, figure: `${format(share)} times` };
      },
    },
  ],
};

function askingRows(products, count) {
  const hard = makeRows(products, count);
  return hard.map(({ brand, title }, at) => {
    const product = products[(at * 7_919) % products.length];
    if (at % 100 < shares.sku * 100) return { sku: product.sku, brand: null, title: null };
    if (at % 100 < (shares.sku + shares.brandTitle) * 100) {
      return { sku: null, brand: product.brand.toUpperCase(), title: product.title.toUpperCase() };
    }
    return { sku: null, brand, title };
  });
}

async function measureSluice({ server, products, rows }) {
  const database = await server.sluiceDatabase();
  try {
    await loadProducts(database, products);
    const jobId = await loadCatalogJob(database, rows);
    await flushWrites(database);
    const workers = await startWorkers(1, { database });
    try {
      const seconds = await withDatabase(database, (db) => secondsToDone(db, jobId));
      await checkSluice(database, rows.length);
      return { [key]: rows.length / seconds };
    } finally {
      await workers.stop();
    }
  } finally {
    await database.drop();
  }
}

async function secondsToDone(db, jobId) {
  const { findJob } = await import('../../dist/modules/kernel/jobs/store.js');
  const statusOf = () => db.tenant(tenantId, async (tx) => (await findJob(tx, { tenantId, jobId }))?.status);
  await statusOf();
  const startedAtMs = performance.now();
  await revealItems(db, jobId);
  await until('all rows are matched', async () => (await statusOf()) === 'success', {
    everyMs: 20,
    limitMs: 3_600_000,
  });
  return (performance.now() - startedAtMs) / 1000;
}

/** Every row has ended, and nine in ten by a strategy that cannot miss. */
async function checkSluice(database, count) {
  const [done] = await database.query(
    `select count(*)::int as ended,
            count(*) filter (where result_json ->> 'matchStrategy' = 'sku')::int as sku,
            count(*) filter (where status = 'DONE')::int as found
       from job_items where status in ('DONE', 'NOT_FOUND')`,
  );
  if (done.ended !== count || done.sku < count * shares.sku * 0.99 || done.found < count * 0.9) {
    throw new Error(`Of ${count} rows ${done.ended} ended, ${done.found} found, ${done.sku} by SKU`);
  }
}

async function measureSql({ server, products, rows }) {
  const database = await server.sluiceDatabase();
  try {
    const catalog = await loadProducts(database, products);
    await prepareAsked(database, { rows, catalog });
    await flushWrites(database);
    const startedAtMs = performance.now();
    await database.query(joins({ versionId: catalog.versionId }));
    const seconds = (performance.now() - startedAtMs) / 1000;
    const [{ found }] = await database.query('select count(distinct n)::int as found from found');
    if (found < rows.length * 0.9) throw new Error(`Plain SQL found ${found} of ${rows.length} rows`);
    return { [key]: rows.length / seconds };
  } finally {
    await database.drop();
  }
}

async function prepareAsked(database, { rows, catalog }) {
  const { keysOf, brandScope } = await import('../../dist/modules/ingest/catalog/matching/keys.js');
  const asked = rows.map((row, at) => {
    const { sku, brand, brandTitle, title } = keysOf(row);
    return {
      n: at,
      sku,
      brandTitle,
      title,
      brand: brand === null ? null : brandScope(catalog.versionId, brand),
    };
  });
  await database.query(`
    create table asked (n int primary key, sku text, "brandTitle" text, title text, brand bigint);
    create table found (n int, product json, score real)`);
  await database.query('insert into asked select * from json_populate_recordset(null::asked, $1::json)', [
    JSON.stringify(asked),
  ]);
}

/** One message is one transaction. */
function joins({ versionId }) {
  const product = `p.tenant_id = '${tenantId}' and p.version_id = ${versionId}`;
  return `
    select set_config('app.tenant_id', '${tenantId}', true);
    insert into found
    select a.n, p.product, 1 from asked a join catalog_products p on ${product} and p.sku_key = a.sku;
    insert into found
    select a.n, p.product, 1
      from asked a
      join catalog_products p on ${product} and p.brand_title_key = a."brandTitle"
     where not exists (select from found f where f.n = a.n);
    insert into found
    select o.n, p.product, m.score
      from (select array_agg(a.n order by a.n) as ns, array_agg(a.title order by a.n) as titles,
                   array_agg(a.brand order by a.n) as brands
              from asked a
             where a.title <> ''
               and not exists (select from found f where f.n = a.n)) o_all
     cross join lateral match_catalog_titles('${tenantId}', ${versionId}, 0.6, o_all.titles, o_all.brands, 1) m
     cross join lateral (select o_all.ns[m.n] as n) o
      join catalog_products p on ${product} and p.row_no = m.row_no;`;
}
