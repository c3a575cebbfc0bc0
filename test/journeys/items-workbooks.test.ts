import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { cell, row, textRow, workbookOf } from '../generators/workbook.ts';
import { useItemServer } from '../support/servers/item-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const folder = mkdtempSync(path.join(tmpdir(), 'sluice-workbooks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const { server, held } = useItemServer(database, { ingestFolder: folder });

const xlsxType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

interface Made {
  status: number;
  body: { jobId: string; code?: string; detail?: string };
}

async function post(
  tenantId: string,
  book: Uint8Array,
  fields: Record<string, string> = {},
  fieldsBehind: Record<string, string> = {},
): Promise<Made> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(book)], { type: xlsxType }), 'rows.xlsx');
  for (const [name, value] of Object.entries(fieldsBehind)) form.set(name, value);
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  return { status: answer.status, body: (await answer.json()) as Made['body'] };
}

const inputsOf = async (jobId: string): Promise<object[]> =>
  (
    await database.owner<{ input: object }>(
      'select input_json as input from job_items where job_id = $1 order by row_no',
      [jobId],
    )
  ).map(({ input }) => input);

const sheets = [
  {
    name: 'Products',
    rows:
      textRow('sku', 'title', 'price', 'added') +
      row(
        '<c t="s"><v>0</v></c>',
        cell('=1+1', 't="str"'),
        cell('19.989999999999998'),
        cell('45351', 's="1"'),
      ) +
      row(cell('0012', 't="str"'), '<c/>', cell('#N/A', 't="e"'), '<c/>'),
  },
  { name: 'Other', rows: textRow('x') + textRow('y') },
];
const book = workbookOf({ sheets, strings: '<si><t>A-1</t></si>', formats: ['yyyy-mm-dd'] });
const products = [
  { sku: 'A-1', title: '=1+1', price: 19.99, added: '2024-02-29' },
  { sku: '0012', title: null, price: '#N/A', added: null },
];

test('a workbook becomes a job, its values keep their types, and a sheet can be chosen', async () => {
  const tenantId = await newTenant(database);
  const made = await post(tenantId, book);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  expect(await inputsOf(made.body.jobId)).toEqual(products);
  const other = await post(tenantId, book, { sheet: 'Other' });
  expect(await inputsOf(other.body.jobId)).toEqual([{ x: 'y' }]);
  const behind = await post(tenantId, book, {}, { sheet: 'Other' });
  expect(await inputsOf(behind.body.jobId)).toEqual([{ x: 'y' }]);
  const missing = await post(tenantId, book, { sheet: 'Nowhere' });
  expect(missing).toMatchObject({
    status: 422,
    body: { code: 'sheet_not_found', detail: expect.stringContaining('"Products", "Other"') },
  });
});

test('an export can be imported again as the same rows', async () => {
  const tenantId = await newTenant(database);
  const first = await post(tenantId, book);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId });
  const headers = await server.bearer({ tenantId });
  const url = `${server.url}/api/jobs/${first.body.jobId}/export?format=xlsx`;
  const exported = new Uint8Array(await (await fetch(url, { method: 'POST', headers })).arrayBuffer());
  const second = await post(tenantId, exported);
  expect(second.status, JSON.stringify(second.body)).toBe(201);
  const expected = products.map((product, at) => ({ row_no: at + 1, status: 'DONE', ...product }));
  expect(await inputsOf(second.body.jobId)).toMatchObject(expected);
});

test('a workbook in the tenant’s folder can be named by reference with its sheet, by this tenant only', async () => {
  const [tenantId, other] = [await newTenant(database), await newTenant(database)];
  mkdirSync(path.join(folder, tenantId, 'in'), { recursive: true });
  writeFileSync(path.join(folder, tenantId, 'in', 'rows.xlsx'), book);
  const refer = async (as: string, key: string) => {
    const headers = { ...(await server.bearer({ tenantId: as })), 'content-type': 'application/json' };
    const body = JSON.stringify({ fileRef: { adapter: 'folder', key }, sheet: '2' });
    return fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body });
  };
  for (const key of ['in/rows.xlsx', `${tenantId}/in/rows.xlsx`, `../${tenantId}/in/rows.xlsx`]) {
    const refused = await refer(other, key);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ code: 'file_ref_refused' });
  }
  const answer = await refer(tenantId, 'in/rows.xlsx');
  expect(answer.status).toBe(201);
  expect(await inputsOf(((await answer.json()) as { jobId: string }).jobId)).toEqual([{ x: 'y' }]);
});

test('a workbook that is damaged after its first rows leaves nothing', async () => {
  const tenantId = await newTenant(database);
  const many = Array.from({ length: 5_000 }, (_, at) => row(cell(String(at)))).join('');
  const broken = workbookOf({ sheets: [{ rows: `${textRow('n')}${many}<row><c></row>` }] });
  const refused = await post(tenantId, broken);
  expect(refused).toMatchObject({
    status: 422,
    body: { code: 'malformed_workbook', detail: expect.stringContaining('near row 5002') },
  });
  const [left] = await database.owner(
    `select (select count(*) from item_jobs where tenant_id = $1) as jobs,
            (select count(*) from job_items where tenant_id = $1) as items`,
    [tenantId],
  );
  expect(left).toEqual({ jobs: '0', items: '0' });
});
