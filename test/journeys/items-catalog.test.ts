import { beforeAll, expect, test } from 'vitest';
import { prepareTitleSearch } from '../../src/ingest/catalog/matching/prepare-title-search.ts';
import { removeUnusedVersions } from '../../src/ingest/catalog/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { textRow, workbookOf } from '../generators/workbook.ts';
import { useItemServer } from '../support/servers/item-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { held, server } = useItemServer(database);

beforeAll(async () => {
  await prepareTitleSearch(database.ownerUrl);
});

const products = [
  'Article No,Brand,Name,EAN,Shelf',
  'AB-100,Samsung,Galaxy S21 128 GB black,8806090,A1',
  'AB-101,Samsung,Galaxy S21 256 GB black,8806091,A2',
  'CO-500,Café Ømega,Crème Espresso Beans 1 kg,400123,B7',
  'DUP-1,Acme,Garden Hose 20 m green,1,C1',
  'DUP-2,Acme,Garden Hose 20 m green!,2,C2',
  ',Acme,Ladder of Steel,3,C3',
  ',,,4,C4',
].join('\n');
const columns = { sku: 'Article No' };

interface Answer {
  status: number;
  body: ReturnType<typeof JSON.parse>;
}

async function ask(claims: TestClaims, method: string, path: string, body?: object): Promise<Answer> {
  const headers: Record<string, string> = await server.bearer(claims);
  if (body && !(body instanceof FormData)) headers['content-type'] = 'application/json';
  const sent = body instanceof FormData ? body : body && JSON.stringify(body);
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...(sent ? { body: sent } : {}) });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
}

function formOf(file: string, { fields, name = 'products.csv' }: { fields?: object; name?: string } = {}) {
  const form = new FormData();
  if (fields) form.set('fields', JSON.stringify(fields));
  form.set('file', new Blob([file]), name);
  return form;
}

const put = (tenantId: string, file: string, options: { fields?: object; name?: string } = {}) =>
  ask({ tenantId }, 'PUT', '/api/catalogs/main', formOf(file, options));

async function runJob(tenantId: string, csv: string, options: object): Promise<string> {
  const form = new FormData();
  form.set('processor', 'catalog');
  form.set('options', JSON.stringify(options));
  form.set('file', new Blob([csv]), 'rows.csv');
  const { body } = await ask({ tenantId }, 'POST', '/api/jobs', form);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId });
  return body.jobId;
}

interface Row {
  id: string;
  status: string;
  attempts: number;
  lastError: string | null;
  result: Record<string, unknown>;
}

async function rowsOf(tenantId: string, jobId: string): Promise<Row[]> {
  return (await ask({ tenantId }, 'GET', `/api/jobs/${jobId}/items?page=1&pageSize=100`)).body.data;
}

test('a row is matched by SKU, then by brand and title, then by similar title', async () => {
  const tenantId = await newTenant(database);
  const made = await put(tenantId, products, { fields: columns });
  expect(made).toMatchObject({
    status: 200,
    body: {
      name: 'main',
      version: 1,
      productCount: 6,
      skippedCount: 1,
      fields: { sku: 'Article No', brand: 'Brand', title: 'Name', gtin: 'EAN' },
    },
  });
  const csv = [
    'sku,brand,title',
    'ab 100,,',
    'none,CAFE OMEGA,creme espresso beans 1000g',
    ',Samsung,Galaxi S21 256GB blak',
    ',Acme,Garden Hose 20 m gren',
    ',Samsung,Galaxy S21 512 GB black',
    ',Acme,Something Else Entirely',
  ].join('\n');
  const jobId = await runJob(tenantId, csv, { catalog: 'main', threshold: 0.4 });
  const rows = await rowsOf(tenantId, jobId);
  expect(rows.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual([
    'DONE 1',
    'DONE 2',
    'DONE 3',
    'NOT_FOUND 3',
    'NOT_FOUND 3',
    'NOT_FOUND 3',
  ]);
  expect(rows[0]?.result).toMatchObject({
    Shelf: 'A1',
    matchStrategy: 'sku',
    matchScore: 1,
    catalogVersion: 1,
  });
  expect(rows[1]?.result).toMatchObject({ Shelf: 'B7', matchStrategy: 'brand_title' });
  expect(rows[2]?.result).toMatchObject({ Shelf: 'A2', matchStrategy: 'fuzzy_title' });
  expect(Number(rows[2]?.result.matchScore)).toBeGreaterThan(0.5);
  expect(rows[3]).toMatchObject({
    lastError: 'Several titles are equally similar',
    result: { candidates: [{ sku: 'DUP-1' }, { sku: 'DUP-2' }] },
  });
  expect(rows[4]?.lastError).toBe('Similar titles differ in their numbers');
  expect(rows[5]?.lastError).toBe('No title has a similarity of 0.4 or more');
});

test('rival products that an early strategy found are reported at the end, as in a trial', async () => {
  const tenantId = await newTenant(database);
  await put(tenantId, 'sku,title\nDUP,One thing\ndup,Another thing\n');
  const jobId = await runJob(tenantId, 'sku\ndup\nnobody\n', { catalog: 'main' });
  const [twice, never] = await rowsOf(tenantId, jobId);
  expect(twice).toMatchObject({ status: 'NOT_FOUND', result: { matchStrategy: 'sku' } });
  expect(twice?.lastError).toContain('2 products have this SKU');
  expect(twice?.result.candidates).toHaveLength(2);
  expect(never).toMatchObject({ status: 'NOT_FOUND', result: { candidates: [] } });
});

test('every strategy records one lookup line for the rows it found and one for the others', async () => {
  const tenantId = await newTenant(database);
  await put(tenantId, products, { fields: columns });
  const rows = Array.from({ length: 300 }, (_, n) =>
    n % 3 === 0 ? 'AB-100,,' : `no${n},Acme,Ladder of Steel`,
  );
  const jobId = await runJob(tenantId, `sku,brand,title\n${rows.join('\n')}`, { catalog: 'main' });
  const calls = await database.owner<{ strategy: string; outcome: string; items: string; calls: string }>(
    `select strategy, outcome, sum(cardinality(item_ids)) as items, count(*) as calls
       from search_events where tenant_id = $1 and job_id = $2 group by 1, 2 order by 1, 2`,
    [tenantId, jobId],
  );
  expect(calls.map(({ strategy, outcome, items }) => [strategy, outcome, Number(items)])).toEqual([
    ['brand_title', 'done', 200],
    ['sku', 'done', 100],
    ['sku', 'not_found', 200],
  ]);
  // Larger claims mean fewer of them; never one per row.
  for (const { calls: count } of calls) expect(Number(count)).toBeLessThan(60);
});

test('a catalogue is replaced as a whole or not at all, and unused versions are removed', async () => {
  const tenantId = await newTenant(database);
  await put(tenantId, products, { fields: columns });
  const broken = await put(tenantId, `sku,title\n${'1,x\n'.repeat(5_000)}"2,y\n`);
  expect(broken.status).toBe(422);
  const kept = await ask({ tenantId }, 'GET', '/api/catalogs/main');
  expect(kept.body).toMatchObject({ version: 1, productCount: 6 });
  const json = [{ sku: 'N-1', name: 'New thing', weight: 1.5 }];
  const replaced = await put(tenantId, JSON.stringify(json), { name: 'products.json' });
  expect(replaced.body).toMatchObject({ version: 2, productCount: 1, columns: ['sku', 'name', 'weight'] });
  const { body } = await ask({ tenantId }, 'POST', '/api/catalogs/main/match', {
    rows: [{ sku: 'n1' }, { sku: 'AB-100' }],
  });
  expect(body).toMatchObject({
    version: 2,
    matches: [{ status: 'DONE', product: { name: 'New thing', weight: 1.5 } }, { status: 'NOT_FOUND' }],
  });
  await database.owner(
    `update catalog_versions set retired_at = retired_at - interval '2 minutes' where tenant_id = $1`,
    [tenantId],
  );
  await removeUnusedVersions(database.db);
  const left = await database.owner<{ versions: string; products: string }>(
    `select (select count(*) from catalog_versions where tenant_id = $1) as versions,
            (select count(*) from catalog_products where tenant_id = $1) as products`,
    [tenantId],
  );
  expect(left).toEqual([{ versions: '1', products: '1' }]);
});

test('the load of a dead process is removed, and the load of a living one is left alone', async () => {
  const tenantId = await newTenant(database);
  const load = async (worker: string) => {
    const [version] = await database.owner<{ id: string }>(
      `insert into catalog_versions (tenant_id, name, loading_by) values ($1, 'main', $2) returning version_id as id`,
      [tenantId, worker],
    );
    await database.owner(
      `insert into catalog_products (tenant_id, version_id, row_no, scope, product) values ($1, $2, 1, '{1}', '{}')`,
      [tenantId, version?.id],
    );
  };
  await load(newId());
  await load(held.kernel.membership.workerId);
  await removeUnusedVersions(database.db);
  const left = await database.owner(
    'select loading_by as worker from catalog_versions where tenant_id = $1',
    [tenantId],
  );
  expect(left).toEqual([{ worker: held.kernel.membership.workerId }]);
  expect(
    await database.owner('select 1 from catalog_products where tenant_id = $1', [tenantId]),
  ).toHaveLength(1);
});

test('a job without its catalogue is refused, and one whose catalogue is deleted ends with the reason', async () => {
  const tenantId = await newTenant(database);
  const form = new FormData();
  form.set('processor', 'catalog');
  form.set('options', JSON.stringify({ catalog: 'main' }));
  form.set('file', new Blob(['sku\nAB-100\n']), 'rows.csv');
  expect(await ask({ tenantId }, 'POST', '/api/jobs', form)).toMatchObject({
    status: 404,
    body: { code: 'catalog_not_found' },
  });
  await put(tenantId, products, { fields: columns });
  const { body } = await ask({ tenantId }, 'POST', '/api/jobs', form);
  expect((await ask({ tenantId }, 'DELETE', '/api/catalogs/main')).status).toBe(204);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId });
  const [row] = await rowsOf(tenantId, body.jobId);
  expect(row).toMatchObject({ status: 'ERROR', attempts: 1, errorCode: 'catalog_not_found' });
  expect((await ask({ tenantId }, 'GET', '/api/catalogs')).body.data).toEqual([]);
});

test('files that cannot be a catalogue, and people who may not replace one, are refused with a reason', async () => {
  const tenantId = await newTenant(database);
  expect(await put(tenantId, 'colour,price\nred,1\n')).toMatchObject({
    status: 422,
    body: { code: 'catalog_unusable', detail: expect.stringContaining('"colour", "price"') },
  });
  expect(await put(tenantId, products, { fields: { sku: 'Nothing' } })).toMatchObject({ status: 422 });
  expect(await put(tenantId, products, { fields: { price: 'Shelf' } })).toMatchObject({
    status: 400,
    body: { code: 'catalog_form_invalid' },
  });
  expect((await ask({ tenantId }, 'PUT', '/api/catalogs/main', { file: 'x' })).status).toBe(400);
  expect((await ask({ tenantId }, 'PUT', '/api/catalogs/Not%20a%20name', formOf(products))).status).toBe(400);
  const member = { tenantId, role: 'member' } as const;
  expect((await ask(member, 'PUT', '/api/catalogs/main', formOf(products))).status).toBe(403);
  expect((await ask({ tenantId }, 'GET', '/api/catalogs')).body.data).toEqual([]);
});

test('the sheet of a workbook can be named, and by default the first visible one is read', async () => {
  const tenantId = await newTenant(database);
  const sheets = ['Notes', 'Products'].map((name) => ({
    name,
    rows: textRow('sku', 'title') + textRow(`${name}-1`, `Ladder of ${name}`),
  }));
  const book = new Blob([workbookOf({ sheets })]);
  const send = async (sheet?: string) => {
    const form = new FormData();
    if (sheet !== undefined) form.set('sheet', sheet);
    form.set('file', book, 'products.xlsx');
    return ask({ tenantId }, 'PUT', '/api/catalogs/main', form);
  };
  const skuOf = async () => {
    const rows = [{ sku: 'Notes-1' }, { sku: 'Products-1' }];
    const { body } = await ask({ tenantId }, 'POST', '/api/catalogs/main/match', { rows });
    return body.matches.map(({ status }: { status: string }) => status);
  };
  expect(await send(' products ')).toMatchObject({ status: 200, body: { productCount: 1, version: 1 } });
  expect(await skuOf()).toEqual(['NOT_FOUND', 'DONE']);
  expect(await send('Costs')).toMatchObject({
    status: 422,
    body: { code: 'sheet_not_found', detail: expect.stringContaining('"Notes", "Products"') },
  });
  expect(await skuOf()).toEqual(['NOT_FOUND', 'DONE']);
  expect(await send()).toMatchObject({ status: 200, body: { productCount: 1, version: 2 } });
  expect(await skuOf()).toEqual(['DONE', 'NOT_FOUND']);
  const twice = new FormData();
  for (const sheet of ['Notes', 'Products']) twice.append('sheet', sheet);
  twice.set('file', book, 'products.xlsx');
  expect(await ask({ tenantId }, 'PUT', '/api/catalogs/main', twice)).toMatchObject({
    status: 400,
    body: { code: 'catalog_form_invalid', detail: expect.stringContaining('"sheet" twice') },
  });
});

test('two tenants may have catalogues with one name, and neither sees the other’s products', async () => {
  const [one, other] = [await newTenant(database), await newTenant(database)];
  await put(one, 'sku,brand,title\nA-1,Acme,Ladder of steel\n');
  const asked = {
    rows: [{ sku: 'A-1' }, { brand: 'Acme', title: 'Ladder of steel' }, { title: 'Ladder of stel' }],
  };
  expect((await ask({ tenantId: other }, 'POST', '/api/catalogs/main/match', asked)).status).toBe(404);
  await put(other, 'sku,title\nB-1,Something else\n');
  const statuses = async (tenantId: string) => {
    const { body } = await ask({ tenantId }, 'POST', '/api/catalogs/main/match', asked);
    return body.matches.map(({ status }: { status: string }) => status);
  };
  expect(await statuses(one)).toEqual(['DONE', 'DONE', 'DONE']);
  expect(await statuses(other)).toEqual(['NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND']);
});

test('products with any column names and any texts come back unchanged', async () => {
  const tenantId = await newTenant(database);
  const title = '👩‍🚀 tab\\t '.repeat(400);
  const strange = `{"sku":"A\\t-1","__proto__":"p","constructor":"c","title":"${title}","t\\n":"\\u2028"}`;
  expect(await put(tenantId, `[${strange}]`, { name: 'p.json' })).toMatchObject({ status: 200 });
  const asked = {
    rows: [{ sku: 'a 1' }, { __proto__: null, title: '👩‍🚀 tab', brand: '%_\\' }],
    strategies: ['sku', 'fuzzy_title'],
  };
  const { body } = await ask({ tenantId }, 'POST', '/api/catalogs/main/match', asked);
  expect(body.matches[0].product).toEqual(JSON.parse(strange));
  const jobId = await runJob(tenantId, 'sku\na 1\n', { catalog: 'main' });
  const [row] = await rowsOf(tenantId, jobId);
  expect(row?.result).toMatchObject({ constructor: 'c', 't\n': '\u2028', matchStrategy: 'sku' });
  expect(Object.hasOwn(row?.result ?? {}, '__proto__')).toBe(true);
});
