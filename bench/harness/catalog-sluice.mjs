// A catalogue and rows that match its products, in a database of Sluice.
import { loadWaitingItems, withDatabase } from './item-jobs.mjs';
import { tenantId, userId } from './sluice.mjs';

export const catalogName = 'bench';

/** Loads the products as PUT /api/catalogs does; returns the catalogue. */
export async function loadProducts(database, products) {
  const { prepareTitleSearch } = await import(
    '../../dist/modules/ingest/catalog/matching/prepare-title-search.js'
  );
  const { loadCatalog } = await import('../../dist/modules/ingest/catalog/loading/load.js');
  const { newId } = await import('../../dist/modules/lib/ids.js');
  await prepareTitleSearch(database.ownerUrl);
  await database.query('insert into tenants (tenant_id, name) values ($1, $1) on conflict do nothing', [
    tenantId,
  ]);
  const request = {
    tenantId,
    name: catalogName,
    userId,
    fileName: 'products.csv',
    mediaType: null,
    fields: {},
  };
  return withDatabase(database, (db) =>
    loadCatalog({ db, workerId: newId() }, { ...request, content: csvOf(products) }),
  );
}

async function* csvOf(rows) {
  yield Buffer.from('sku,brand,title\n');
  for (let from = 0; from < rows.length; from += 5_000) {
    const lines = rows.slice(from, from + 5_000).map((row) => `${row.sku},${row.brand},${row.title}\n`);
    yield Buffer.from(lines.join(''));
  }
}

/** A hidden job of these rows for the processor `catalog`. */
export async function loadCatalogJob(database, rows) {
  const jobId = await loadWaitingItems(database, 0);
  await database.query(`update item_jobs set processor = 'catalog', options = $2 where job_id = $1`, [
    jobId,
    JSON.stringify({ catalog: catalogName }),
  ]);
  await database.query(
    `insert into job_items (tenant_id, job_id, row_no, user_id, job_type, input_json)
     select $1, $2, r.n, $3, 'csv', r.input
       from json_array_elements($4::json) with ordinality as r (input, n)`,
    [tenantId, jobId, userId, JSON.stringify(rows)],
  );
  await database.query(
    'update item_jobs set total = $2, pending = $2, ingesting_by = null where job_id = $1',
    [jobId, rows.length],
  );
  return jobId;
}
