import { expect, test } from 'vitest';
import { type FlakyProvider as Provider, startFlakyProvider } from '../support/fakes/flaky-provider.ts';
import { useItemServer } from '../support/servers/item-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const { open, held, server } = useItemServer(database);

async function post(
  claims: TestClaims,
  { csv, processor = 'noop', options = {} }: { csv: string; processor?: string; options?: object },
) {
  const form = new FormData();
  form.set('processor', processor);
  form.set('options', JSON.stringify(options));
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'rows.csv');
  const answer = await fetch(`${server.url}/api/jobs`, {
    method: 'POST',
    headers: await server.bearer(claims),
    body: form,
  });
  return { status: answer.status, body: (await answer.json()) as { jobId: string; code?: string } };
}

async function get(claims: TestClaims, path: string, method = 'GET', body?: object) {
  const headers: Record<string, string> = await server.bearer(claims);
  if (body) headers['content-type'] = 'application/json';
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, text: await answer.text() };
}

const drive = (tenantId: string) => held.kernel.cycle({ budgetMs: 20_000, tenantId });

async function recount(jobId: string): Promise<Record<string, number>> {
  const rows = await database.owner<{ status: string; count: string }>(
    'select status, count(*) as count from job_items where job_id = $1 group by status',
    [jobId],
  );
  return Object.fromEntries(rows.map((row) => [row.status, Number(row.count)]));
}

test('the fields of a form may come before the file, after it, or both', async () => {
  const tenantId = await newTenant(database);
  const options = JSON.stringify({ rules: [{ column: 'a', required: true }] });
  const parts = {
    file: new Blob(['a,b\n1,2\n,3\n'], { type: 'text/csv' }),
    processor: 'validate',
    options,
  };
  const orders = [
    ['file', 'processor', 'options'],
    ['processor', 'file', 'options'],
    ['options', 'file', 'processor'],
  ] as const;
  for (const order of orders) {
    const form = new FormData();
    for (const name of order) {
      if (name === 'file') form.set(name, parts.file, 'rows.csv');
      else form.set(name, parts[name]);
    }
    const headers = { ...(await server.bearer({ tenantId })), 'idempotency-key': 'one-request' };
    const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
    const { jobId } = (await answer.json()) as { jobId: string };
    expect(answer.status, order.join()).toBe(201);
    expect(answer.headers.get('location'), order.join()).toBe(`/api/jobs/${jobId}`);
    await drive(tenantId);
    const job = JSON.parse((await get({ tenantId }, `/api/jobs/${jobId}`)).text);
    expect(job, order.join()).toMatchObject({ processor: 'validate', counts: { DONE: 1, ERROR: 1 } });
  }
  // The order changes nothing about a request: the second and the third were the first again.
  const [count] = await database.owner('select count(*)::int as n from item_jobs where tenant_id = $1', [
    tenantId,
  ]);
  expect(count).toEqual({ n: 1 });
});

test('rows go in, are processed, and come out identical through grid, CSV and keyset', async () => {
  const tenantId = await newTenant(database);
  const rows = Array.from({ length: 2_500 }, (_, n) => `${n},"line\n${n}","=1+${n}",x${n}`);
  const csv = `\ufeffid,text,__proto__,constructor\r\n${rows.join('\r\n')}\r\n`;
  const made = await post({ tenantId }, { csv });
  expect(made.status).toBe(201);
  const { jobId } = made.body;
  const queued = JSON.parse((await get({ tenantId }, `/api/jobs/${jobId}`)).text);
  expect(queued).toMatchObject({ queueState: 'QUEUED', totalItems: 2_500, counts: { PENDING: 2_500 } });
  expect(await drive(tenantId)).toEqual({ queued_processed: 1, retry_processed: 0 });
  const done = JSON.parse((await get({ tenantId }, `/api/jobs/${jobId}`)).text);
  expect(done).toMatchObject({
    queueState: 'DONE',
    processedItems: 2_500,
    failedItems: 0,
    counts: { DONE: 2_500 },
  });
  const page = JSON.parse((await get({ tenantId }, `/api/jobs/${jobId}/items?page=2&pageSize=100`)).text);
  expect(page).toMatchObject({ page: 2, pageSize: 100, total: 2_500 });
  expect(page.data[0].result).toEqual(
    JSON.parse('{"id":"100","text":"line\\n100","__proto__":"=1+100","constructor":"x100"}'),
  );
  let seen = 0;
  let after = '';
  do {
    const { text } = await get({ tenantId }, `/api/jobs/${jobId}/items?statuses=DONE&pageSize=500${after}`);
    const keyset = JSON.parse(text);
    for (const row of keyset.data) expect(row.rowNo).toBe(++seen);
    after = keyset.hasMore ? `&after=${keyset.nextCursor}` : '';
  } while (after);
  expect(seen).toBe(2_500);
  const exported = await get({ tenantId }, `/api/jobs/${jobId}/export?format=csv`, 'POST');
  expect(exported.text.split('\r\n').slice(0, 2)).toEqual([
    'row_no,status,id,text,__proto__,constructor',
    `1,DONE,0,"line\n0",'=1+0,x0`,
  ]);
});

test('a bad file leaves nothing behind', async () => {
  const tenantId = await newTenant(database);
  for (const csv of ['', 'a,b\n', 'a\0,b\n1,2\n', `a,b\n${'1,2\n'.repeat(100_000)}1,\0\n`, 'a,b\n"1,2\n']) {
    const { status, body } = await post({ tenantId }, { csv });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(body.code).toMatch(/^[a-z_]+$/);
  }
  expect(await database.owner('select 1 from ingestion_jobs where tenant_id = $1', [tenantId])).toEqual([]);
  expect(await database.owner('select 1 from job_items where tenant_id = $1', [tenantId])).toEqual([]);
});

/** Retries wait for minutes: they are brought forward, so that the test need not wait. */
async function driveToTheEnd(tenantId: string, jobId: string): Promise<Record<string, number>> {
  for (let round = 0; round < 300; round += 1) {
    await drive(tenantId);
    const job = JSON.parse((await get({ tenantId }, `/api/jobs/${jobId}`)).text);
    if (job.counts.PENDING + job.counts.PROCESSING === 0) return job.counts;
    await database.owner(
      `update job_items set due_at = '-infinity' where job_id = $1 and status = 'PENDING'`,
      [jobId],
    );
    await database.owner('update ingestion_jobs set run_at = clock_timestamp() where job_id = $1', [jobId]);
  }
  throw new Error('There are still open items after 300 rounds');
}

async function askProvider(misbehaviour: Parameters<Provider['misbehave']>[0], skus: string[]) {
  const tenantId = await newTenant(database);
  const provider = await startFlakyProvider();
  try {
    provider.misbehave(misbehaviour);
    const options = { request: { method: 'GET', url: `${provider.url}/items/{{sku}}` } };
    const { jobId } = (
      await post({ tenantId }, { csv: `sku\n${skus.join('\n')}\n`, processor: 'http', options })
    ).body;
    const counts = await driveToTheEnd(tenantId, jobId);
    return { jobId, counts, calls: provider.calls.length };
  } finally {
    await provider.close();
  }
}

test('every row ends against a flaky provider, and the counters equal a recount', {
  timeout: 180_000,
}, async () => {
  const skus = Array.from({ length: 60 }, (_, n) => (n % 20 ? `s${n}` : `missing${n}`));
  const { jobId, counts } = await askProvider(
    [
      { misbehaviour: { type: 'throttle' }, rate: 0.15 },
      { misbehaviour: { type: 'answer', status: 500 }, rate: 0.1 },
    ],
    skus,
  );
  const counted = await recount(jobId);
  expect(counted).toMatchObject({ NOT_FOUND: 3 });
  for (const [status, count] of Object.entries(counted)) expect(counts[status]).toBe(count);
});

test('a throttled call is a retry of its own class, and half of the calls throttled stop no row', {
  timeout: 180_000,
}, async () => {
  const skus = Array.from({ length: 12 }, (_, n) => `s${n}`);
  const rates = [{ misbehaviour: { type: 'throttle' }, rate: 0.5 } as const];
  const { jobId, counts, calls } = await askProvider(rates, skus);
  expect(counts).toMatchObject({ DONE: 12 });
  expect(calls).toBeGreaterThan(12);
  const rows = await database.owner<{ attempts: number; throttled: number | null }>(
    'select attempts, throttled_count as throttled from job_items where job_id = $1',
    [jobId],
  );
  for (const { attempts, throttled } of rows) expect(attempts).toBe(1 + (throttled ?? 0));
  expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(calls);
});

test('a provider that throttles for ever ends its rows with its reason', { timeout: 180_000 }, async () => {
  const rates = [{ misbehaviour: { type: 'throttle', retryAfter: '0' }, rate: 1 } as const];
  const { jobId, counts, calls } = await askProvider(rates, ['s1', 's2']);
  expect(counts).toMatchObject({ ERROR: 2 });
  const rows = await database.owner(
    'select distinct error_code as code, attempts from job_items where job_id = $1',
    [jobId],
  );
  expect(rows).toEqual([{ code: 'provider_throttled', attempts: 15 }]);
  expect(calls).toBe(30);
});

test('cancel skips open rows, reprocess retries failed rows, and a paused job is not kicked off', async () => {
  const tenantId = await newTenant(database);
  const csv = `name\n${Array.from({ length: 50 }, (_, n) => (n % 2 ? '' : `n${n}`))
    .map((v) => `"${v}"`)
    .join('\n')}\n`;
  const options = { rules: [{ column: 'name', required: true, minLength: 1 }] };
  const made = await post({ tenantId }, { csv, processor: 'validate', options });
  const { jobId } = made.body;
  await get({ tenantId }, `/api/jobs/${jobId}/pause`, 'POST');
  expect((await get({ tenantId }, `/api/jobs/${jobId}/kickoff`, 'POST')).status).toBe(409);
  await get({ tenantId }, `/api/jobs/${jobId}/resume`, 'POST');
  const kicked = JSON.parse(
    (await get({ tenantId }, `/api/jobs/${jobId}/kickoff?durationMs=60000`, 'POST')).text,
  );
  expect(kicked).toMatchObject({ processed: 50, remaining: 0, queueState: 'DONE' });
  expect(await recount(jobId)).toEqual({ DONE: 25, ERROR: 25 });
  const again = JSON.parse((await get({ tenantId }, `/api/jobs/${jobId}/reprocess`, 'POST', {})).text);
  expect(again).toMatchObject({ reset: 25, exhausted: 0, counts: { PENDING: 25 }, queueState: 'QUEUED' });
  await get({ tenantId }, `/api/jobs/${jobId}/cancel`, 'POST');
  await drive(tenantId);
  expect(await recount(jobId)).toEqual({ DONE: 25, SKIPPED: 25 });
});

test('members see their own jobs and rows, admins see the tenant’s, and nobody sees another tenant’s', async () => {
  const tenantId = await newTenant(database);
  const me = { tenantId, role: 'member', userId: 'me' } as const;
  const them = { tenantId, role: 'member', userId: 'them' } as const;
  const { jobId } = (await post(me, { csv: 'title,sku\nA,1\nB,2\n' })).body;
  for (const path of [`/api/jobs/${jobId}`, `/api/jobs/${jobId}/items`]) {
    expect((await get(me, path)).status).toBe(200);
    expect((await get({ tenantId }, path)).status).toBe(200);
    expect((await get(them, path)).status).toBe(404);
    expect((await get({ tenantId: await newTenant(database) }, path)).status).toBe(404);
  }
  expect((await get(them, `/api/jobs/${jobId}/export`, 'POST')).status).toBe(404);
  const pending = JSON.parse((await get(me, '/api/pending')).text);
  expect(pending.data).toMatchObject([
    { inputSummary: { title: 'A', sku: '1' } },
    { inputSummary: { title: 'B' } },
  ]);
  expect(JSON.parse((await get(them, '/api/pending')).text).data).toEqual([]);
  expect((await get(them, '/api/pending?userId=all')).status).toBe(403);
  expect(JSON.parse((await get({ tenantId }, '/api/pending?userId=all')).text).data).toHaveLength(2);
});

test('an upload repeated with its Idempotency-Key makes one job and gets one response', async () => {
  const tenantId = await newTenant(database);
  const send = async (csv: string) => {
    const form = new FormData();
    form.set('processor', 'noop');
    form.set('file', new Blob([csv]), 'rows.csv');
    const headers = { ...(await server.bearer({ tenantId })), 'idempotency-key': 'upload-1' };
    const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
    return { status: answer.status, body: (await answer.json()) as { jobId?: string; code?: string } };
  };
  const first = await send('a\n1\n2\n');
  expect(first.status).toBe(201);
  expect(await send('a\n1\n2\n')).toEqual(first);
  expect(await send('a\n1\n3\n')).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
  const jobs = await database.owner('select job_id from ingestion_jobs where tenant_id = $1', [tenantId]);
  expect(jobs).toEqual([{ job_id: first.body.jobId }]);
});

test('the partial ingest of a dead process is removed by upkeep, and was never visible', async () => {
  const tenantId = await newTenant(database);
  const { jobId } = (await post({ tenantId }, { csv: 'a\n1\n' })).body;
  // As a kill -9 leaves it: rows are in, the job is still hidden, and its process is on no list.
  await database.owner(
    `update ingestion_jobs set stage = 'ingesting', run_at = 'infinity' where job_id = $1`,
    [jobId],
  );
  await database.owner('update item_jobs set ingesting_by = gen_random_uuid() where job_id = $1', [jobId]);
  expect((await get({ tenantId }, `/api/jobs/${jobId}`)).status).toBe(404);
  expect(JSON.parse((await get({ tenantId }, '/api/jobs')).text).data).toEqual([]);
  expect(await drive(tenantId)).toEqual({ queued_processed: 0, retry_processed: 0 });
  expect(await open().tasks[0]?.run()).toEqual({ removed: 1 });
  expect(await database.owner('select 1 from job_items where job_id = $1', [jobId])).toEqual([]);
});

test('a tenant with too many open rows is told to retry later', async () => {
  const tenantId = await newTenant(database);
  await database.owner(`update tenants set limits = '{"open_items": 2}' where tenant_id = $1`, [tenantId]);
  expect((await post({ tenantId }, { csv: 'a\n1\n2\n' })).status).toBe(201);
  const refused = await post({ tenantId }, { csv: 'a\n3\n' });
  expect(refused).toMatchObject({ status: 429, body: { code: 'items_quota_exceeded' } });
  await drive(tenantId);
  expect((await post({ tenantId }, { csv: 'a\n3\n' })).status).toBe(201);
});
