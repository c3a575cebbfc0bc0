import { expect, test } from 'vitest';
import { useItemServer } from '../support/servers/item-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { held, server } = useItemServer(database);

const csv = 'sku,price,id\nA1,1.50,9007199254740993\nA2,cheap,2\nA3,,3\nA4,dear,4\n';

async function makeJob(): Promise<{ tenantId: string; jobId: string }> {
  const tenantId = await newTenant(database);
  const form = new FormData();
  form.set('processor', 'validate');
  form.set('options', JSON.stringify({ rules: [{ column: 'price', type: 'number', required: true }] }));
  form.set('file', new Blob([csv]), 'rows.csv');
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  return { tenantId, jobId: ((await answer.json()) as { jobId: string }).jobId };
}

async function call(
  tenantId: string,
  path: string,
  { method = 'GET', body }: { method?: string; body?: object } = {},
) {
  const headers = {
    ...(await server.bearer({ tenantId })),
    ...(body && { 'content-type': 'application/json' }),
  };
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
}

const drive = (tenantId: string) => held.kernel.cycle({ budgetMs: 20_000, tenantId });

async function recount(jobId: string): Promise<Record<string, number>> {
  const rows = await database.owner<{ status: string; count: string }>(
    'select status, count(*) as count from job_items where job_id = $1 group by status',
    [jobId],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}

test('failures are grouped by reason, with counts and what to do, and can be listed by reason', async () => {
  const { tenantId, jobId } = await makeJob();
  await drive(tenantId);
  const { body } = await call(tenantId, `/api/jobs/${jobId}/failures`);
  expect(body.data).toMatchObject([
    { status: 'ERROR', errorCode: 'validation_failed', count: 3, firstRowNo: 2, canRetry: false },
  ]);
  expect(body.data[0].next).toMatch(/Correct the cell/);
  const page = await call(tenantId, `/api/jobs/${jobId}/items?errorCode=validation_failed&pageSize=2`);
  expect(page.body.data.map(({ rowNo }: { rowNo: number }) => rowNo)).toEqual([2, 3]);
  const next = encodeURIComponent(page.body.nextCursor);
  const rest = await call(
    tenantId,
    `/api/jobs/${jobId}/items?errorCode=validation_failed&pageSize=2&after=${next}`,
  );
  expect(rest.body.data.map(({ rowNo }: { rowNo: number }) => rowNo)).toEqual([4]);
});

test('rows of one reason are tried again, and those of other reasons stay as they are', async () => {
  const { tenantId, jobId } = await makeJob();
  await drive(tenantId);
  await database.owner(
    `update job_items set error_code = 'provider_failed' where job_id = $1 and row_no = 3`,
    [jobId],
  );
  const again = (errorCode: string) =>
    call(tenantId, `/api/jobs/${jobId}/reprocess`, { method: 'POST', body: { errorCode } });
  expect((await again('provider_failed')).body).toMatchObject({ reset: 1, counts: { PENDING: 1, ERROR: 2 } });
  expect(await recount(jobId)).toEqual({ DONE: 1, ERROR: 2, PENDING: 1 });
  expect((await again('nobody_failed_so')).body).toMatchObject({ reset: 0, exhausted: 0 });
});

test('open rows of a job say what they are about', async () => {
  const tenantId = await newTenant(database);
  const form = new FormData();
  form.set('file', new Blob(['Article,Title,Brand\nA1,Cap,Acme\n']), 'rows.csv');
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  const { jobId } = (await answer.json()) as { jobId: string };
  const { body } = await call(tenantId, `/api/jobs/${jobId}/items?statuses=PENDING`);
  expect(body.data[0].inputSummary).toMatchObject({ title: 'Cap', brand: 'Acme' });
});

test('a corrected cell runs its row again, is recorded, and keeps the counts equal to a recount', async () => {
  const { tenantId, jobId } = await makeJob();
  await drive(tenantId);
  const { body: page } = await call(tenantId, `/api/jobs/${jobId}/items?statuses=ERROR`);
  const [row] = page.data;
  const fixed = await call(tenantId, `/api/jobs/${jobId}/items/${row.id}`, {
    method: 'PATCH',
    body: { column: 'price', value: '2.50' },
  });
  expect(fixed.status).toBe(200);
  expect(fixed.body.counts).toMatchObject({ PENDING: 1, ERROR: 2, DONE: 1 });
  expect(await recount(jobId)).toEqual({ PENDING: 1, ERROR: 2, DONE: 1 });
  await drive(tenantId);
  expect(await recount(jobId)).toEqual({ ERROR: 2, DONE: 2 });
  const { body: job } = await call(tenantId, `/api/jobs/${jobId}`);
  expect(job).toMatchObject({ counts: { DONE: 2, ERROR: 2, PENDING: 0 } });
  const { body: after } = await call(tenantId, `/api/jobs/${jobId}/items/${row.id}`);
  expect(after).toMatchObject({
    status: 'DONE',
    input: { price: '2.50' },
    result: { price: 2.5 },
    errorCode: null,
  });
  const { body: trail } = await call(tenantId, `/api/jobs/${jobId}/corrections`);
  expect(trail.data).toMatchObject([{ rowNo: 2, column: 'price', oldValue: '"cheap"', newValue: '"2.50"' }]);
});

test('a correction is refused for a row at work, an unknown column and another tenant', async () => {
  const { tenantId, jobId } = await makeJob();
  const [row] = await database.owner<{ id: string }>(
    `update job_items set status = 'PROCESSING', lock_token = gen_random_uuid(), locked_by = gen_random_uuid(),
            locked_at = now(), lock_expires_at = now() + interval '1 hour'
      where job_id = $1 and row_no = 1 returning id`,
    [jobId],
  );
  const path = `/api/jobs/${jobId}/items/${row?.id}`;
  const body = { column: 'price', value: '1' };
  expect((await call(tenantId, path, { method: 'PATCH', body })).body.code).toBe('item_at_work');
  await database.owner(
    `update job_items set status = 'PENDING', lock_token = null, locked_by = null, locked_at = null,
            lock_expires_at = null
      where job_id = $1`,
    [jobId],
  );
  const unknown = await call(tenantId, path, { method: 'PATCH', body: { column: 'nope', value: '1' } });
  expect(unknown).toMatchObject({ status: 422, body: { code: 'item_column_unknown' } });
  const other = await newTenant(database);
  expect((await call(other, path, { method: 'PATCH', body })).status).toBe(404);
});

test('an ended job is deleted with its rows and its trail, a running one is not', async () => {
  const { tenantId, jobId } = await makeJob();
  expect(await call(tenantId, `/api/jobs/${jobId}`, { method: 'DELETE' })).toMatchObject({
    status: 409,
    body: { code: 'job_not_ended' },
  });
  await drive(tenantId);
  const other = await newTenant(database);
  expect((await call(other, `/api/jobs/${jobId}`, { method: 'DELETE' })).status).toBe(404);
  expect((await call(tenantId, `/api/jobs/${jobId}`, { method: 'DELETE' })).status).toBe(204);
  for (const table of ['ingestion_jobs', 'item_jobs', 'job_items', 'item_corrections', 'search_events']) {
    expect(await database.owner(`select 1 from ${table} where job_id = $1`, [jobId]), table).toEqual([]);
  }
  expect((await call(tenantId, `/api/jobs/${jobId}`)).status).toBe(404);
});

test('several values of a row are corrected at once, which returns the row, pending again', async () => {
  const { tenantId, jobId } = await makeJob();
  await drive(tenantId);
  const { body: page } = await call(tenantId, `/api/jobs/${jobId}/items?statuses=ERROR`);
  const path = `/api/jobs/${jobId}/items/${page.data[0].id}`;
  const wrong = { input: { price: '1', nope: 'x' } };
  const refused = await call(tenantId, path, { method: 'PATCH', body: wrong });
  expect(refused.body).toMatchObject({ code: 'item_column_unknown', errors: [{ pointer: '/input/nope' }] });
  const { body: untouched } = await call(tenantId, path);
  expect(untouched).toMatchObject({ status: 'ERROR', input: { price: 'cheap' } });
  const columns = Object.keys(untouched.input);
  const input = Object.fromEntries(columns.map((column) => [column, column === 'price' ? '2.50' : 'new']));
  const fixed = await call(tenantId, path, { method: 'PATCH', body: { input } });
  expect(fixed).toMatchObject({ status: 200, body: { id: page.data[0].id, status: 'PENDING', input } });
  const { body: trail } = await call(tenantId, `/api/jobs/${jobId}/corrections`);
  expect(trail.data.map(({ column }: { column: string }) => column).sort()).toEqual([...columns].sort());
  await drive(tenantId);
  expect((await call(tenantId, path)).body).toMatchObject({ status: 'DONE', result: { price: 2.5 } });
  const empty = await call(tenantId, path, { method: 'PATCH', body: { input: {} } });
  expect(empty.status).toBe(400);
});
