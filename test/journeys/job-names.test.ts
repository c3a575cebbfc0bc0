import { expect, test } from 'vitest';
import { useProduct } from '../security/product.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const product = useProduct(database);
const acme = { tenantId: 'acme', role: 'admin' } as const;

/** A form with one file in it. */
function form(fields: Record<string, string>, file: { name: string; text: string }): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  made.set('file', new Blob([file.text]), file.name);
  return made;
}

async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await product.ask(acme, { method: 'POST', path, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
}

async function namesOf(path: string): Promise<unknown[]> {
  const { body } = await product.ask(acme, { path });
  return (body.data as { name: unknown }[]).map(({ name }) => name);
}

test('jobs are called like the file, the base or the source that they are about', async () => {
  await post('/api/jobs', form({ processor: 'noop' }, { name: 'prices.csv', text: 'sku\n1\n' }));
  const report = 'Day,Campaign name,Campaign ID,Amount spent (USD)\n2026-01-01,Spring,1,2.50\n';
  const { data } = (await product.ask(acme, { path: '/api/workspaces' })).body as {
    data: { workspace_id: string }[];
  };
  const fields = { platform: 'meta', source: 'manual', workspace_id: data[0]?.workspace_id ?? '' };
  await post('/api/uploads', form(fields, { name: 'spring report.csv', text: report }));
  await post('/api/knowledge', { kb_id: 'handbook', name: 'The handbook' });
  await post('/api/knowledge/handbook/sources', {
    type: 'markdown',
    title: 'Pump',
    content: '# Pump\n\nOil it.',
  });
  await post('/api/ingestion/jobs/handbook/start', {});
  expect(await namesOf('/api/jobs')).toEqual(['The handbook', 'spring report.csv', 'prices.csv']);
  const [first] = (await product.ask(acme, { path: '/api/jobs' })).body.data as { jobId: string }[];
  const one = await product.ask(acme, { path: `/api/jobs/${first?.jobId}` });
  expect(one.body.name).toBe('The handbook');
});

test('the job of a scraped reference is called like the page', async () => {
  const harbour = { tenantId: 'harbour', role: 'admin' } as const;
  const send = async (method: string, path: string, body: unknown) => {
    const { status, text } = await product.ask(harbour, { method, path, body });
    expect(status, text).toBeLessThan(300);
  };
  await send('POST', '/api/knowledge', { kb_id: 'tides', name: 'Tides' });
  await send('PUT', '/api/scraping/sources/port', { mode: 'push', kb_id: 'tides' });
  await send('POST', '/api/scraping/port/sync', {
    references: [
      { external_id: 'a', url: 'https://example.com/a', title: 'Tide tables', content: 'High at noon.' },
      { external_id: 'b', url: 'https://example.com/b', title: '', content: 'Low at six.' },
    ],
  });
  const { body } = await product.ask(harbour, { path: '/api/jobs?pipeline=knowledge' });
  const names = (body.data as { name: string }[]).map(({ name }) => name);
  expect(names.sort()).toEqual(['Tide tables', 'https://example.com/b']);
});

test('a job whose subject is gone or has another form keeps the name of its subject', async () => {
  await product.ask({ tenantId: 'umbrella', role: 'admin' }, { path: '/api/me' });
  for (const pipeline of ['uploads', 'items', 'sync', 'knowledge', 'scrapes', 'of-nobody']) {
    await database.owner(
      `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, status, created_by, correlation_id)
       values ('umbrella', gen_random_uuid(), $1, 'report 7', 'queued', 'ada', 'c')`,
      [pipeline],
    );
  }
  const { status, body } = await product.ask({ tenantId: 'umbrella', role: 'admin' }, { path: '/api/jobs' });
  expect(status).toBe(200);
  expect((body.data as { name: string }[]).map(({ name }) => name)).toEqual(Array(6).fill('report 7'));
});
