import { expect, test } from 'vitest';
import { cell, row, textRow, workbookOf } from '../generators/workbook.ts';
import { startFlakyProvider } from '../support/fakes/flaky-provider.ts';
import { useItemServer } from '../support/servers/item-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { held, server } = useItemServer(database);

type Fields = Record<string, string>;

async function send(
  tenantId: string,
  {
    to = '/api/jobs',
    content,
    fields = {},
    name = 'rows.csv',
  }: { to?: string; content: string | Uint8Array<ArrayBuffer>; fields?: Fields; name?: string },
) {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields)) form.set(key, value);
  form.set('file', new Blob([content]), name);
  const headers = await server.bearer({ tenantId, role: 'admin' });
  const answer = await fetch(`${server.url}${to}`, { method: 'POST', headers, body: form });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

async function get(tenantId: string, path: string) {
  const answer = await fetch(`${server.url}${path}`, {
    headers: await server.bearer({ tenantId, role: 'admin' }),
  });
  return JSON.parse(await answer.text());
}

const messy = 'Price list 2024;;\n\nsku;name;price\nA1;5" pipe;1,50\nA2;short\nA3;x;2;extra\n';

test('a messy file is taken in, and its notes are in the response and on the job', async () => {
  const tenantId = await newTenant(database);
  const { status, body } = await send(tenantId, { content: messy });
  expect(status).toBe(201);
  const codes = ['preamble', 'bare_quote', 'short_row', 'long_row'];
  expect(body.notes.map(({ code }: { code: string }) => code)).toEqual(codes);
  const job = await get(tenantId, `/api/jobs/${body.jobId}`);
  expect(job.notes).toEqual(body.notes);
  expect(job.notes[2].places).toEqual([{ line: 5, row: 2, what: 'has 2 cells; the header has 3' }]);
  expect(job.columns).toEqual(['sku', 'name', 'price', 'column_4']);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId });
  const { data } = await get(tenantId, `/api/jobs/${body.jobId}/items?input=true`);
  expect(data.map(({ input }: { input: object }) => input)).toEqual([
    { sku: 'A1', name: '5" pipe', price: '1,50' },
    { sku: 'A2', name: 'short', price: null },
    { sku: 'A3', name: 'x', price: '2', column_4: 'extra' },
  ]);
});

test('strict refuses the same file with the line and the reason', async () => {
  const tenantId = await newTenant(database);
  const { status, body } = await send(tenantId, { content: 'a,b\n1,2\n3\n', fields: { strict: 'true' } });
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: 'ragged_row', line: 3 });
});

test('a larger file is stored in batches with its notes and its mapping', async () => {
  const tenantId = await newTenant(database);
  const rows = Array.from(
    { length: 5_000 },
    (_, at) => `S${at},name ${at},secret${at % 500 === 0 ? ',more' : ''}`,
  );
  const mapping = JSON.stringify({ id: 'sku', internal: null, column_4: 'remark' });
  const { body } = await send(tenantId, {
    content: `id,name,internal\n${rows.join('\n')}\n`,
    fields: { mapping },
  });
  const job = await get(tenantId, `/api/jobs/${body.jobId}`);
  expect(job).toMatchObject({
    totalItems: 5_000,
    columns: ['sku', 'name', 'remark'],
    notes: [{ count: 10 }],
  });
  expect(job.mapping).toEqual(JSON.parse(mapping));
  const { data } = await get(tenantId, `/api/jobs/${body.jobId}/items?input=true&pageSize=2`);
  expect(data[0].input).toEqual({ sku: 'S0', name: 'name 0', remark: 'more' });
  expect(data[1].input).toEqual({ sku: 'S1', name: 'name 1' });
});

test.each([
  ['names a column that the file does not have', { nope: 'x' }, /"nope"/],
  ['gives two columns one name', { a: 'b' }, /both become "b"/],
  ['leaves out everything', { a: null, b: null }, /every column/],
])('a mapping is refused when it %s, and nothing is stored', async (_, mapping, message) => {
  const tenantId = await newTenant(database);
  const { status, body } = await send(tenantId, {
    content: 'a,b\n1,2\n',
    fields: { mapping: JSON.stringify(mapping) },
  });
  expect(status).toBe(422);
  expect(body.code).toBe('column_mapping_invalid');
  expect(body.detail).toMatch(message);
  expect(await database.owner('select 1 from item_jobs where tenant_id = $1', [tenantId])).toEqual([]);
});

test('a preview shows columns with their types, 20 rows, the count and the notes, and stores nothing', async () => {
  const tenantId = await newTenant(database);
  const lines = Array.from(
    { length: 300 },
    (_, at) => `${at},item ${at},${at}.5,2024-01-0${1 + (at % 9)},true,`,
  );
  const { status, body } = await send(tenantId, {
    to: '/api/items/preview',
    content: `id,name,price,day,ok,gap\n${lines.join('\n')}\nshort\n`,
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    rowCount: 301,
    format: 'csv',
    delimiter: ',',
    encoding: 'utf-8',
    headerLine: 1,
  });
  expect(body.rows).toHaveLength(20);
  expect(body.columns.map(({ type }: { type: string }) => type)).toEqual([
    'text',
    'text',
    'number',
    'date',
    'boolean',
    'empty',
  ]);
  expect(body.notes).toMatchObject([{ code: 'short_row', places: [{ line: 302 }] }]);
  expect(await database.owner('select 1 from item_jobs where tenant_id = $1', [tenantId])).toEqual([]);
});

test('a preview of a workbook lists its sheets and keeps the text of error cells', async () => {
  const tenantId = await newTenant(database);
  const sheets = [
    { name: 'Prices', rows: textRow('sku', 'rate') + row(cell('1'), cell('#DIV/0!', 't="e"')) },
    { name: 'Other', rows: textRow('x') + textRow('1') },
  ];
  const content = new Uint8Array(workbookOf({ sheets }));
  const { body } = await send(tenantId, { to: '/api/items/preview', content, name: 'book.xlsx' });
  expect(body).toMatchObject({
    sheet: 'Prices',
    sheets: ['Prices', 'Other'],
    rows: [{ sku: 1, rate: '#DIV/0!' }],
  });
  const second = await send(tenantId, {
    to: '/api/items/preview',
    content,
    name: 'b.xlsx',
    fields: { sheet: 'Other' },
  });
  expect(second.body).toMatchObject({ sheet: 'Other', rows: [{ x: '1' }] });
});

test('a try runs five rows through the processor for real, and makes no job', async () => {
  const tenantId = await newTenant(database);
  const options = { rules: [{ column: 'price', type: 'number', required: true }] };
  const content = `sku,cost\n${['1', 'x', '3', '4', '5', '6'].map((cost, at) => `S${at},${cost}`).join('\n')}\n`;
  const fields = { processor: 'validate', options: JSON.stringify(options), mapping: '{"cost":"price"}' };
  const { status, body } = await send(tenantId, { to: '/api/items/try', content, fields });
  expect(status).toBe(200);
  expect(body.data.map(({ status: one }: { status: string }) => one)).toEqual([
    'DONE',
    'ERROR',
    'DONE',
    'DONE',
    'DONE',
  ]);
  expect(body.data[0]).toMatchObject({ input: { sku: 'S0', price: '1' }, result: { price: 1 } });
  expect(body.data[1].lastError).toMatch(/price/);
  expect(await database.owner('select 1 from item_jobs where tenant_id = $1', [tenantId])).toEqual([]);
});

test('a try calls the provider once per row and shows the calls', async () => {
  const provider = await startFlakyProvider();
  try {
    const tenantId = await newTenant(database);
    const options = { request: { url: `${provider.url}/products/{{sku}}` } };
    const fields = { processor: 'http', options: JSON.stringify(options) };
    const { body } = await send(tenantId, { to: '/api/items/try', content: 'sku\nA\nB\n', fields });
    expect(body.data).toHaveLength(2);
    for (const tried of body.data) expect(tried.calls, JSON.stringify(tried)).toHaveLength(1);
  } finally {
    await provider.close();
  }
});

test('the preview of a job shows columns, repairs and what becomes of as many rows as were asked for', async () => {
  const tenantId = await newTenant(database);
  const options = { rules: [{ column: 'price', type: 'number', required: true }] };
  const lines = Array.from({ length: 30 }, (_, at) => `S${at},${at === 1 ? 'x' : at}`);
  const content = ['sku,price', ...lines, 'S30', ''].join('\n');
  const fields = { processor: 'validate', options: JSON.stringify(options), rows: '7' };
  const { status, body } = await send(tenantId, { to: '/api/jobs/preview', content, fields });
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.columns).toEqual([
    { name: 'sku', type: 'text' },
    { name: 'price', type: expect.any(String) },
  ]);
  expect(body.totalRows).toBe(31);
  expect(body.rows).toHaveLength(7);
  expect(body.rows[0]).toMatchObject({
    input: { sku: 'S0', price: '0' },
    status: 'DONE',
    result: { price: 0 },
    lastError: null,
  });
  expect(body.rows[1]).toMatchObject({ status: 'ERROR', lastError: expect.stringContaining('price') });
  expect(body.repairs).toContainEqual({ code: expect.any(String), row: 31, message: expect.any(String) });
  expect(await database.owner('select 1 from item_jobs where tenant_id = $1', [tenantId])).toEqual([]);
});

test.each(['0', '21', 'many', '-1', '1e1'])('the preview of a job refuses rows=%s', async (rows) => {
  const { status, body } = await send(await newTenant(database), {
    to: '/api/jobs/preview',
    content: 'a\n1\n',
    fields: { processor: 'noop', rows },
  });
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'form_invalid' });
});
