import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { useItemServer } from '../support/servers/item-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

// The bytes of a file of rows are not kept, but what file it was is.
const database = useDatabase();
const { held, server } = useItemServer(database);

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function send(tenantId: string, content: Blob, name: string): Promise<Answer> {
  const form = new FormData();
  form.set('processor', 'noop');
  form.set('file', content, name);
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

async function ask(tenantId: string, path: string, method = 'GET'): Promise<Answer> {
  const answer = await fetch(`${server.url}${path}`, { method, headers: await server.bearer({ tenantId }) });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
}

const recordsOf = (tenantId: string) =>
  database.owner<{ file_id: string; name: string; storage: string }>(
    'select file_id, name, storage from files where tenant_id = $1',
    [tenantId],
  );

const rows = (count: number) =>
  `sku,price\n${Array.from({ length: count }, (_, n) => `A${n},${n}.50`).join('\n')}\n`;

test.each([
  { written: 'at once', count: 3 },
  { written: 'in batches', count: 30_000 },
])('a file of rows that is written $written is recorded with its size and hash', async ({ count }) => {
  const tenantId = await newTenant(database);
  const text = rows(count);
  const { body } = await send(tenantId, new Blob([text], { type: 'text/csv' }), 'prices.csv');
  const job = (await ask(tenantId, `/api/jobs/${body.jobId}`)).body;
  expect(job.file).toEqual({
    mediaType: 'text/csv',
    sizeBytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  });
  expect(await recordsOf(tenantId)).toEqual([{ file_id: job.fileId, name: 'prices.csv', storage: 'rows' }]);
  const stored = await database.owner<{ file_id: string }>(
    'select file_id from ingestion_jobs where tenant_id = $1 and job_id = $2',
    [tenantId, String(body.jobId)],
  );
  expect(stored).toEqual([{ file_id: job.fileId }]);
});

test('the record of a file goes with its job', async () => {
  const tenantId = await newTenant(database);
  const { body } = await send(tenantId, new Blob([rows(3)]), 'prices.csv');
  await held.kernel.cycle({ budgetMs: 20_000, tenantId });
  expect((await ask(tenantId, `/api/jobs/${body.jobId}`, 'DELETE')).status).toBe(204);
  expect(await recordsOf(tenantId)).toEqual([]);
});

test('a file that is refused leaves no record', async () => {
  const tenantId = await newTenant(database);
  const broken = `[${'{"a":1},'.repeat(30_000)}{"a":`;
  const { status } = await send(tenantId, new Blob([broken], { type: 'application/json' }), 'rows.json');
  expect(status).toBeGreaterThanOrEqual(400);
  expect(await recordsOf(tenantId)).toEqual([]);
});
