import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const server = useServerProcess(database);
const sluice = useCommandLine();
const northwind = { tenantId: 'northwind', role: 'admin', userId: 'demo' } as const;
const operator = { tenantId: 'default', role: 'operator', userId: 'olga' } as const;

interface Row {
  [field: string]: unknown;
}

async function ask(claims: Parameters<typeof server.bearer>[0], path: string, sent: RequestInit = {}) {
  const headers = { ...(await server.bearer(claims)), ...(sent.headers as Record<string, string>) };
  const answer = await fetch(`${server.url}${path}`, { ...sent, headers });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Row & { data: Row[] } };
}

const rowsOf = async (path: string) => (await ask(northwind, path)).body.data;

async function demo(...args: string[]) {
  const token = (await server.bearer(operator)).authorization.replace('Bearer ', '');
  return sluice.run(['demo', ...args], { SLUICE_URL: server.url, SLUICE_TOKEN: token });
}

/** What a visitor of the demo finds, or fails to find. */
async function lifeOf() {
  const jobs = await rowsOf('/api/jobs?limit=100');
  const of = (pipeline: string, status: string) =>
    jobs.some((job) => job.pipeline === pipeline && job.status === status);
  const uploads = await rowsOf('/api/uploads');
  return {
    letter: (await rowsOf('/api/dead-letters')).length,
    synced: of('sync', 'success'),
    crawled: of('scrapes', 'success'),
    handedOver: (await rowsOf('/api/scraping/northwind-site/handoffs')).some(
      ({ status }) => status === 'completed',
    ),
    indexed: of('knowledge', 'success'),
    enriching: of('items', 'running'),
    inReview: jobs.filter(({ waitingFor }) => waitingFor === 'review').map(({ name }) => name),
    statuses: uploads.map(({ status }) => status).sort(),
    breakdowns: (await rowsOf('/api/daily-metrics/breakdowns?limit=1')).length,
  };
}

const life = {
  letter: 1,
  synced: true,
  crawled: true,
  handedOver: true,
  indexed: true,
  enriching: true,
  inReview: ['demo-waits-for-review.csv'],
  statuses: ['completed', 'partial', 'staging_complete'],
  breakdowns: 1,
};

test('the demo has life in all five pipelines, can be started again, and leaves nothing', {
  timeout: 300_000,
}, async () => {
  expect((await demo('--remove')).code).not.toBe(0);
  const started = await demo();
  expect(started).toMatchObject({ code: 0, stdout: expect.stringContaining('/login?code=') });
  await expect.poll(lifeOf, { timeout: 120_000 }).toEqual(life);

  const before = (await rowsOf('/api/jobs?limit=100')).length;
  expect((await demo('--json')).code).toBe(0);
  expect((await rowsOf('/api/jobs?limit=100')).length).toBe(before);
  expect((await ask(operator, '/api/demo')).body).toMatchObject({ state: 'present', tenant_id: 'northwind' });

  expect(await demo('--remove')).toMatchObject({ code: 0 });
  const left = await database.owner(
    `select 'tenant' as what from tenants where tenant_id = 'northwind'
     union all select 'job' from ingestion_jobs where tenant_id = 'northwind'
     union all select 'file' from files where tenant_id = 'northwind'
     union all select 'mark' from erased_tenants`,
  );
  expect(left).toEqual([]);
  expect((await demo()).code).toBe(0);
  await expect.poll(async () => (await rowsOf('/api/dead-letters')).length, { timeout: 60_000 }).toBe(1);
});

test('nobody but the demo may call the servers of the demo', { timeout: 120_000 }, async () => {
  await demo();
  const places = "select demo_port from tenants where tenant_id = 'northwind'";
  const [row] = await database.owner<{ demo_port: number }>(places);
  const url = `http://127.0.0.1:${row?.demo_port}/provider/price`;
  const form = (address: string) => {
    const made = new FormData();
    made.set('processor', 'http');
    made.set('options', JSON.stringify({ request: { method: 'GET', url: address } }));
    made.set('file', new Blob(['sku\n1\n']), 'rows.csv');
    return made;
  };
  const post = (claims: Parameters<typeof ask>[0], address: string) =>
    ask(claims, '/api/jobs', { method: 'POST', body: form(address) });
  expect((await post(northwind, url)).status).toBe(201);
  const stranger = { tenantId: await newTenant(database), role: 'admin' } as const;
  expect((await post(stranger, url)).body).toMatchObject({ code: 'address_blocked' });
  const elsewhere = new URL(server.url).port;
  const other = await post(northwind, `http://127.0.0.1:${elsewhere}/health/live`);
  expect(other.body).toMatchObject({ code: 'address_blocked' });
  const server2 = { base_url: `http://127.0.0.1:${elsewhere}/v1`, auth: 'token', secret: 'demo_airbyte' };
  const json = { 'content-type': 'application/json' };
  const put = { method: 'PUT', headers: json, body: JSON.stringify(server2) };
  expect((await ask(northwind, '/api/airbyte-servers/other', put)).body).toMatchObject({
    code: 'address_blocked',
  });
});

test('a tenant of that name that is not the demo is left alone', async () => {
  expect(await demo('--remove')).toMatchObject({ code: 0 });
  await ask({ ...operator, tenantId: 'northwind' }, '/api/me');
  const refused = await ask(operator, '/api/demo', { method: 'POST' });
  expect(refused).toMatchObject({ status: 409, body: { code: 'demo_name_taken' } });
  expect((await ask(operator, '/api/demo', { method: 'DELETE' })).status).toBe(404);
});
