import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { useSyncs } from '../support/servers/sync-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database, { airbyteApiToken: null, airbyteWorkspaceId: null });

test('without credentials connectors can be created, syncs wait, and the status names what is missing', async () => {
  const sync = await syncs.connector();
  const jobId = await syncs.start(sync);
  const seen = await syncs.driveUntil(sync, jobId, ({ waiting_for }) => waiting_for !== null);
  expect(seen).toMatchObject({ status: 'running', waiting_for: 'airbyte_not_configured', retry_count: 0 });
  const status = await syncs.call(sync, '/api/connectors/status');
  expect(status.body).toMatchObject({
    configured: false,
    missing: [expect.stringContaining('AIRBYTE_API_TOKEN'), 'AIRBYTE_WORKSPACE_ID'],
  });
  const listed = await syncs.call({ ...sync, role: 'operator' }, '/api/connections');
  expect(listed.status).toBe(503);
  expect(listed.body.detail).toContain('AIRBYTE_WORKSPACE_ID');
  expect(syncs.airbyte.requests).toEqual([]);
});

test('a request that is repeated with its Idempotency-Key makes one connector and one job', async () => {
  const tenantId = await newTenant(database);
  const headers = { ...(await syncs.server.bearer({ tenantId })), 'content-type': 'application/json' };
  const post = (route: string, body: object, key: string) =>
    fetch(`${syncs.server.url}${route}`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': key },
      body: JSON.stringify(body),
    });
  const connector = {
    connector_id: 'conn-123',
    name: 'A shop',
    airbyte_connection_id: randomUUID(),
    external_account_id: 'shop-456',
  };
  const made = [await post('/api/connectors', connector, 'a'), await post('/api/connectors', connector, 'a')];
  expect(made.map(({ status }) => status)).toEqual([201, 201]);
  expect(await made[1]?.json()).toEqual(await made[0]?.json());
  expect((await post('/api/connectors', connector, 'b')).status).toBe(409);
  const body = { correlation_id: 'req-789' };
  const jobs = [];
  for (let n = 0; n < 2; n += 1) {
    const answer = await post('/api/connectors/conn-123/sync', body, 'c');
    expect(answer.status).toBe(202);
    jobs.push((await answer.json()) as { job_id: string; correlation_id: string });
  }
  expect(jobs[0]).toMatchObject({ correlation_id: 'req-789' });
  expect(jobs[1]).toEqual(jobs[0]);
});

test('an impossible id is refused and is never a server error', async () => {
  const sync = await syncs.connector();
  const route = `/api/connectors/${sync.connectorId}`;
  const connector = { name: 'A shop', airbyte_connection_id: randomUUID(), external_account_id: 'shop-456' };
  for (const odd of ['a\u0000b', 'a\nb', '\ud800', 'x'.repeat(201), '']) {
    const answers = [
      ...Object.keys(connector).map(
        (field) => ['POST', '/api/connectors', { ...connector, [field]: odd }] as const,
      ),
      ['POST', '/api/connectors', { ...connector, connector_id: odd }] as const,
      ['PATCH', route, { name: odd }] as const,
      ['POST', `${route}/sync`, { correlation_id: odd }] as const,
    ];
    for (const [method, where, body] of answers) {
      const answer = await syncs.call(sync, where, method, body);
      expect({ where, body, status: answer.status }).toEqual({ where, body, status: 400 });
    }
  }
  for (const query of ['connector_id=%00', 'error_code=%00', 'status=nothing', 'limit=0', 'cursor=forged']) {
    expect((await syncs.call(sync, `/api/syncs?${query}`)).status).toBe(400);
  }
  expect((await syncs.call(sync, '/api/connectors/%00')).status).toBe(400);
  expect((await syncs.call(sync, '/api/syncs/none')).status).toBe(400);
});

test('names of routes cannot be ids of connectors', async () => {
  const tenantId = await newTenant(database);
  for (const connectorId of ['status', 'import']) {
    const answer = await syncs.call({ tenantId }, '/api/connectors', 'POST', {
      connector_id: connectorId,
      name: 'A shop',
      airbyte_connection_id: `of ${connectorId}`,
      external_account_id: 'shop-456',
    });
    expect(answer.status).toBe(400);
  }
});

test('every SQL statement of the operators’ guide runs as it is written', async () => {
  const page = await readFile(path.join(import.meta.dirname, '../../docs/operating.md'), 'utf8');
  const blocks = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text ?? '');
  const queries = blocks
    .flatMap((block) => block.split(';'))
    .map((text) => text.replace(/^\s*--.*$/gm, '').trim())
    .filter((text) => text.startsWith('select'));
  expect(queries.length).toBeGreaterThanOrEqual(3);
  for (const query of queries) await database.owner(query);
});
