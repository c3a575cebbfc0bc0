import { parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { plainWish } from '../../src/ingest/items/export/chosen-columns.ts';
import { exportItems } from '../../src/ingest/items/export/export.ts';
import { findItemJob } from '../../src/ingest/items/store.ts';
import { readRows } from '../generators/read-rows.ts';
import { useItemServer } from '../support/servers/item-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { held, server } = useItemServer(database);

const csv = 'sku,price,remark\nA1,1.50,=1+1\nA2,cheap,"two\nlines"\nA3,,né\n';

async function makeJob(content = csv): Promise<{ tenantId: string; jobId: string }> {
  const tenantId = await newTenant(database);
  const form = new FormData();
  form.set('processor', 'validate');
  form.set('options', JSON.stringify({ rules: [{ column: 'price', type: 'number', required: true }] }));
  form.set('file', new Blob([content]), 'rows.csv');
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  const { jobId } = (await answer.json()) as { jobId: string };
  return { tenantId, jobId };
}

async function download({ tenantId, jobId }: { tenantId: string; jobId: string }, query: string) {
  const url = `${server.url}/api/jobs/${jobId}/export?${query}`;
  const answer = await fetch(url, { method: 'POST', headers: await server.bearer({ tenantId }) });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
}

const rowsIn = async (bytes: Uint8Array) =>
  (await readRows(bytes)).rows.map((json) => JSON.parse(json) as Record<string, unknown>);

const parquetIn = (bytes: Buffer) =>
  parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
  });

test('an export has the columns of the file and the reasons of failed rows when asked for', async () => {
  const job = await makeJob();
  await held.kernel.cycle({ budgetMs: 20_000, tenantId: job.tenantId });
  const [first, second] = await rowsIn((await download(job, 'input=true&reasons=true')).bytes);
  expect(Object.keys(first ?? {})).toEqual([
    ...['row_no', 'status', 'error_code', 'last_error'],
    ...['input.sku', 'input.price', 'input.remark', 'sku', 'price', 'remark'],
  ]);
  expect(first).toMatchObject({ status: 'DONE', error_code: '', 'input.price': '1.50', price: '1.5' });
  expect(second).toMatchObject({
    status: 'ERROR',
    'input.price': 'cheap',
    'input.remark': 'two\nlines',
    sku: '',
  });
  expect(second?.last_error).toMatch(/price/);
});

test('an export has only the chosen columns, in their order, and refuses unknown ones', async () => {
  const job = await makeJob();
  await held.kernel.cycle({ budgetMs: 20_000, tenantId: job.tenantId });
  const chosen = await download(job, 'input=true&columns=input.sku&columns=status&columns=price');
  expect(chosen.bytes.toString().split('\r\n')[0]).toBe('input.sku,status,price');
  const refused = await download(job, 'columns=nope');
  expect(refused.status).toBe(422);
  expect(JSON.parse(refused.bytes.toString())).toMatchObject({ code: 'export_column_unknown' });
});

test('a Parquet export has the cells of the grid, as another reader sees them', async () => {
  const rows = Array.from(
    { length: 12_000 },
    (_, at) => `S${at},${at % 3 === 0 ? 'x' : at}.5,"remark ""${at}"" né"`,
  );
  const job = await makeJob(`sku,price,remark\n${rows.join('\n')}\n`);
  await held.kernel.cycle({ budgetMs: 60_000, tenantId: job.tenantId });
  const { status, bytes } = await download(job, 'format=parquet&reasons=true');
  expect(status).toBe(200);
  const found = await parquetIn(bytes);
  const meant = await rowsIn((await download(job, 'format=csv&reasons=true')).bytes);
  const asText = (value: unknown) => (value === null || value === undefined ? '' : String(value));
  const shown = found.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, asText(v)])));
  expect(shown).toEqual(meant);
  expect(found[0]?.sku).toBeNull();
  expect(found[1]?.row_no).toBe(2);
});

test('an export that begins before the first result shows rows that end meanwhile as still open', async () => {
  const key = await makeJob();
  const before = await database.db.tenant(key.tenantId, (tx) => findItemJob(tx, key));
  if (!before) throw new Error('the job is gone');
  expect(before.resultColumns).toEqual([]);
  await held.kernel.cycle({ budgetMs: 20_000, tenantId: key.tenantId });
  const pieces: Uint8Array[] = [];
  for await (const piece of exportItems(database.db, before, { format: 'csv', wish: plainWish }))
    pieces.push(piece);
  expect(await rowsIn(Buffer.concat(pieces))).toEqual([
    { row_no: '1', status: 'PROCESSING' },
    { row_no: '2', status: 'ERROR' },
    { row_no: '3', status: 'ERROR' },
  ]);
});
