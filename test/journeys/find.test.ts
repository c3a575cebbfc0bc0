import { expect, test } from 'vitest';
import { useProduct } from '../security/product.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const product = useProduct(database, { SLUICE_WORKER: 'true' });
const acme = { tenantId: 'acme', role: 'admin' } as const;

async function sent(claims: TestClaims, path: string, body: unknown, method = 'POST') {
  const answer = await product.ask(claims, { method, path, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
}

interface Found {
  kind: string;
  id: string;
  name: string;
  url: string;
}

async function find(claims: TestClaims, words: string): Promise<Found[]> {
  const { body } = await product.ask(claims, { path: `/api/search?q=${encodeURIComponent(words)}` });
  return body.data as Found[];
}

/** A form with one file in it. */
function form(fields: Record<string, string>, file: { name: string; text: string }): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  made.set('file', new Blob([file.text]), file.name);
  return made;
}

const report = 'Day,Campaign name,Campaign ID,Amount spent (USD)\n2026-01-01,Spring Launch,120210,2.50\n';

/** One thing of each kind, all with "harbour" in their name. */
async function furnish(claims: TestClaims) {
  const me = (await product.ask(claims, { path: '/api/workspaces' })).body as {
    data: { workspace_id: string }[];
  };
  const workspaceId = me.data[0]?.workspace_id ?? '';
  const fields = { platform: 'meta', source: 'manual', workspace_id: workspaceId };
  const upload = await sent(claims, '/api/uploads', form(fields, { name: 'harbour 100%.csv', text: report }));
  const items = form({ processor: 'noop' }, { name: 'harbour prices.csv', text: 'sku\n1\n' });
  const job = await sent(claims, '/api/jobs', items);
  await sent(claims, '/api/knowledge', { kb_id: 'harbour', name: 'Harbour handbook' });
  const source = { type: 'markdown', title: 'Harbour pump', content: '# Pump\n\nOil it.' };
  await sent(claims, '/api/knowledge/harbour/sources', source);
  const run = await sent(claims, '/api/ingestion/jobs/harbour/start', {});
  await sent(claims, '/api/scraping/sources/harbour-site', { mode: 'push', kb_id: 'harbour' }, 'PUT');
  const place = { kind: 'url', url: 'https://reports.example.com/daily.csv' };
  const pulled = {
    name: 'Harbour reports',
    workspace_id: workspaceId,
    platform: 'meta',
    cron: '0 6 * * *',
    place,
  };
  await sent(claims, '/api/uploads/sources', pulled);
  const webhook = await sent(claims, '/api/webhooks', { url: 'https://hooks.example.com/harbour' });
  return { upload, job, run, webhook };
}

test('everything that has a name is found by its words, and links to its page', async () => {
  const { upload, job, webhook } = await furnish(acme);
  const kinds = async (words: string) => (await find(acme, words)).map(({ kind }) => kind).sort();
  await expect
    .poll(() => kinds('harbour'), { timeout: 60_000 })
    .toEqual(['document', 'job', 'knowledge_base', 'scrape_source', 'upload', 'upload_source', 'webhook']);
  const found = await find(acme, 'HARBOUR');
  const urls = Object.fromEntries(found.map(({ kind, url }) => [kind, url]));
  expect(urls).toMatchObject({
    job: `/items/${job.jobId}`,
    knowledge_base: '/knowledge/harbour',
    scrape_source: '/scrapes/harbour-site',
    upload: `/uploads/${upload.upload_id}`,
    webhook: `/webhooks?endpoint=${webhook.webhook_id}`,
  });
  expect(urls.document).toMatch(/^\/knowledge\/harbour\?document=/);
  expect(await kinds('harbour prices')).toEqual(['job']);
  expect(await kinds('100%')).toEqual(['upload']);
  expect(await kinds('%')).toEqual(['upload']);
  expect(await kinds('_')).toEqual([]);
  await expect.poll(() => kinds('spring launch'), { timeout: 60_000 }).toEqual(['campaign']);
  expect((await find(acme, '120210'))[0]).toMatchObject({ kind: 'campaign', name: 'Spring Launch' });
  expect((await find(acme, 'harbour'))[0]).toMatchObject({ kind: 'knowledge_base', id: 'harbour' });
});

test('a pasted id finds its thing', async () => {
  const claims = { tenantId: 'ids', role: 'admin' } as const;
  const { upload, job, run, webhook } = await furnish(claims);
  expect(await find(claims, ` ${upload.upload_id} `)).toEqual([
    {
      kind: 'upload',
      id: upload.upload_id,
      name: 'harbour 100%.csv',
      url: `/uploads/${upload.upload_id}`,
    },
  ]);
  expect(await find(claims, String(job.jobId))).toMatchObject([{ kind: 'job', url: `/items/${job.jobId}` }]);
  expect(await find(claims, String(run.job_id))).toEqual([
    { kind: 'job', id: run.job_id, name: 'Harbour handbook', url: `/jobs/${run.job_id}` },
  ]);
  expect(await find(claims, String(webhook.webhook_id))).toMatchObject([{ kind: 'webhook' }]);
});

test('nobody finds what they may not see', async () => {
  const owner = { tenantId: 'seen', role: 'admin' } as const;
  const { upload, job } = await furnish(owner);
  expect(await find({ tenantId: 'other', role: 'admin' }, 'harbour')).toEqual([]);
  expect(await find({ tenantId: 'other', role: 'admin' }, String(upload.upload_id))).toEqual([]);
  const member = { tenantId: 'seen', role: 'member', userId: 'mia' } as const;
  const kinds = (await find(member, 'harbour')).map(({ kind }) => kind);
  expect(kinds).not.toContain('upload');
  expect(kinds).not.toContain('job');
  expect(kinds).not.toContain('webhook');
  expect(await find(member, String(job.jobId))).toEqual([]);
  expect(await find(member, String(upload.upload_id))).toEqual([]);
  await sent(owner, '/api/knowledge', { kb_id: 'pay', name: 'Salaries' });
  const content = '---\nallow: [finance]\n---\n\n# Pay\n\nMonthly.';
  await sent(owner, '/api/knowledge/pay/sources', { type: 'markdown', title: 'Payroll', content });
  await sent(owner, '/api/ingestion/jobs/pay/start', {});
  const documents = async (claims: TestClaims) => (await find(claims, 'payroll')).map(({ kind }) => kind);
  await expect.poll(() => documents(owner), { timeout: 60_000 }).toEqual(['document']);
  expect(await documents(member)).toEqual([]);
  expect(await documents({ ...member, groups: ['finance'] })).toEqual(['document']);
});
