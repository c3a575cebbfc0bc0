import { expect, test } from 'vitest';
import { serveSite } from '../support/fakes/local-site.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// A tenant configures an embedder that fails, on a host that other tenants use as well.
const database = useDatabase();
const server = useServerProcess(database, {
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
});

type Claims = TestClaims & { tenantId: string };

async function ask(
  who: Claims,
  path: string,
  { method = 'GET', body }: { method?: string; body?: object } = {},
) {
  const headers: Record<string, string> = await server.bearer(who);
  if (body) headers['content-type'] = 'application/json';
  const sent = body ? { body: JSON.stringify(body) } : {};
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...sent });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** One host: under /ill every call fails, under /well every text gets a vector. */
async function sharedHost(): Promise<string> {
  const site = await serveSite('127.0.0.1', (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (request.url?.startsWith('/ill')) return void response.writeHead(500).end('{}');
      const { input } = JSON.parse(Buffer.concat(pieces).toString()) as { input: string[] };
      const data = input.map((_, index) => ({ index, embedding: [1, 0, 0, 0] }));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data }));
    });
  });
  return `127.0.0.1:${site.port}`;
}

async function startRun(who: Claims, baseUrl: string): Promise<void> {
  const embedder = { provider: 'openai', base_url: baseUrl, model: 'm', dimensions: 4 };
  const sources = Array.from({ length: 8 }, (_, n) => ({ type: 'text', content: `Text ${n}.` }));
  const body = { kb_id: 'kb', name: 'One', embedder, sources };
  expect((await ask(who, '/api/knowledge', { method: 'POST', body })).status).toBe(201);
  expect((await ask(who, '/api/ingestion/jobs/kb/start', { method: 'POST' })).status).toBe(202);
}

function openBreakers(): Promise<{ dependency: string; tenant_id: string }[]> {
  return database.owner(`select * from circuit_breakers where state <> 'closed'`);
}

test('an embedder that fails for one tenant opens no breaker for another tenant on the same host', async () => {
  const host = await sharedHost();
  const attacker: Claims = { tenantId: await newTenant(database), role: 'admin' };
  const other: Claims = { tenantId: await newTenant(database), role: 'admin' };
  await startRun(attacker, `http://${host}/ill/v1`);
  await eventually(
    async () => (await openBreakers()).length > 0,
    'the breaker of the attacker is open',
    80_000,
  );

  await startRun(other, `http://${host}/well/v1`);
  const hasEnded = async () =>
    (await ask(other, '/api/ingestion/jobs/kb/status')).body.status === 'completed' ||
    (await ask(other, '/api/ingestion/jobs/kb/status')).body.waiting_until !== null;
  await eventually(hasEnded, 'the run of the other tenant has ended or waits', 60_000);
  expect((await ask(other, '/api/ingestion/jobs/kb/status')).body).toMatchObject({
    status: 'completed',
    waiting_until: null,
  });
  const open = await openBreakers();
  expect(open.map(({ tenant_id: tenantId }) => tenantId)).toEqual([attacker.tenantId]);
});
