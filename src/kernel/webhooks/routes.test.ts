import { expect, test } from 'vitest';
import { useServer } from '../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { webhookTables } from '../../../test/support/worlds/webhook-stage.ts';
import { testWebhookDeps } from '../../../test/support/worlds/webhooks.ts';
import { fanOutOnce } from './deliveries/fan-out.ts';
import { createEndpoint } from './service.ts';

const database = useDatabase();
const server = useServer(database);
const { write, deliveriesOf } = webhookTables(database);
const url = 'https://example.com/hook?key=1';

async function asAdmin(tenantId: string) {
  const headers = await server.bearer({ tenantId });
  return async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object, more = {}) => {
    const answer = await server.app.inject({
      method,
      url: path,
      headers: { ...headers, ...more },
      ...(body ? { payload: body } : {}),
    });
    const { location } = answer.headers;
    return { status: answer.statusCode, location, body: answer.body === '' ? null : answer.json() };
  };
}

async function withDeliveries(count: number) {
  const tenantId = await newTenant(database);
  const ask = await asAdmin(tenantId);
  const { body: made } = await ask('POST', '/api/webhooks', { url });
  for (let n = 0; n < count; n += 1) await write(tenantId, 'job.queued', `s-${n}`, { n });
  const isThere = async () => {
    while (await fanOutOnce(database.db));
    return (await deliveriesOf({ webhookId: made.webhook_id })).length === count;
  };
  await eventually(isThere, 'the deliveries are written');
  return { tenantId, ask, webhookId: made.webhook_id as string };
}

test('the secret of an endpoint is shown when it is made and never again, and is encrypted at rest', async () => {
  const ask = await asAdmin(await newTenant(database));
  const made = await ask('POST', '/api/webhooks', { url, event_types: ['job.*'], description: 'Ours' });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ url, event_types: ['job.*'], description: 'Ours', enabled: true });
  expect(made.body.secret).toMatch(/^whsec_/);
  expect(made.location).toBe(`/api/webhooks/${made.body.webhook_id}`);
  const { secret, ...shown } = made.body;
  expect((await ask('GET', `/api/webhooks/${shown.webhook_id}`)).body).toEqual(shown);
  expect((await ask('GET', '/api/webhooks')).body).toMatchObject({ data: [shown], has_more: false });
  const [row] = await database.owner<{ secret: string }>(
    'select secret from webhook_endpoints where webhook_id = $1',
    [shown.webhook_id],
  );
  expect(row?.secret).toMatch(/^v1\./);
  expect(row?.secret).not.toContain(secret.slice(6));
});

test('a POST that is repeated with its key makes one endpoint and shows the same secret', async () => {
  const ask = await asAdmin(await newTenant(database));
  const again = () => ask('POST', '/api/webhooks', { url }, { 'idempotency-key': 'once' });
  const [first, second] = [await again(), await again()];
  expect(second).toEqual(first);
  expect((await ask('GET', '/api/webhooks')).body.data).toHaveLength(1);
});

test('an endpoint is changed in part, rotated and removed with its deliveries', async () => {
  const { ask, webhookId, tenantId } = await withDeliveries(2);
  const path = `/api/webhooks/${webhookId}`;
  expect((await ask('PATCH', path, { enabled: false })).body).toMatchObject({
    enabled: false,
    url,
    disabled_reason: 'Disabled by a person',
  });
  expect((await ask('POST', `${path}/test`)).body).toMatchObject({ code: 'webhook_disabled' });
  const changed = await ask('PATCH', path, {
    enabled: true,
    url: 'https://example.com/b',
    event_types: ['a.b'],
  });
  expect(changed.body).toMatchObject({ enabled: true, disabled_reason: null, event_types: ['a.b'] });
  expect((await ask('PATCH', path, { event_types: null })).body.event_types).toBeNull();
  const rotated = await ask('POST', `${path}/rotate-secret`);
  expect(rotated.body.secret).toMatch(/^whsec_/);
  expect(Date.parse(rotated.body.previous_secret_expires_at) - Date.now()).toBeGreaterThan(23 * 3_600_000);
  expect((await ask('DELETE', path)).status).toBe(204);
  expect((await ask('GET', path)).body).toMatchObject({ code: 'webhook_not_found' });
  for (const table of ['webhook_endpoints', 'webhook_cursors', 'webhook_lanes', 'webhook_deliveries']) {
    expect(await database.owner(`select from ${table} where tenant_id = $1`, [tenantId])).toEqual([]);
  }
});

test('deliveries are listed newest first, by status and page by page', async () => {
  const { ask, webhookId } = await withDeliveries(5);
  const path = `/api/webhooks/${webhookId}/deliveries`;
  const first = (await ask('GET', `${path}?limit=3`)).body;
  const rest = (await ask('GET', `${path}?limit=3&cursor=${first.next_cursor}`)).body;
  const ids = [...first.data, ...rest.data].map(({ delivery_id: id }) => id);
  expect(ids).toEqual([...ids].sort().reverse());
  expect(new Set(ids).size).toBe(5);
  expect(rest).toMatchObject({ has_more: false, next_cursor: null });
  expect(first.data[0]).toMatchObject({
    status: 'pending',
    attempts: 0,
    next_attempt_at: expect.any(String),
  });
  expect((await ask('GET', `${path}?status=delivered`)).body.data).toEqual([]);
  expect((await ask('GET', `${path}?status=pending`)).body.data).toHaveLength(5);
  // Of the same rows, but of another list.
  expect((await ask('GET', `${path}?status=pending&cursor=${first.next_cursor}`)).status).toBe(400);
});

test('a delivery shows what is sent, and can be sent again', async () => {
  const { ask, webhookId, tenantId } = await withDeliveries(1);
  const [row] = await deliveriesOf({ webhookId });
  const path = `/api/webhook-deliveries/${row?.delivery_id}`;
  const { body } = await ask('GET', path);
  expect(JSON.parse(body.body)).toMatchObject({ type: 'job.queued', subject: 's-0', data: { n: 0 } });
  expect(body).toMatchObject({ event_id: JSON.parse(body.body).id, subject: 's-0', attempt_log: [] });
  await database.owner(
    `update webhook_deliveries set status = 'exhausted', finished_at = now(), tries = 10 where tenant_id = $1`,
    [tenantId],
  );
  const again = await ask('POST', `${path}/resend`);
  expect(again).toMatchObject({ status: 202, location: path });
  expect(again.body).toMatchObject({ delivery_id: row?.delivery_id, status: 'pending', finished_at: null });
  expect(await deliveriesOf({ webhookId })).toMatchObject([{ tries: 0, lane: row?.delivery_id }]);
});

test('a tenant has so many endpoints at most, also when it makes them all at once', async () => {
  const tenantId = await newTenant(database);
  const principal = { tenantId, userId: 'u', role: 'admin', via: 'token' } as const;
  const deps = { ...testWebhookDeps(database.db), maxEndpoints: 3 };
  const input = { url, eventTypes: null, description: null };
  const made = await Promise.allSettled(
    Array.from({ length: 6 }, () => createEndpoint(deps, principal, input)),
  );
  const refused = made.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused).toHaveLength(3);
  for (const reason of refused) expect(reason).toMatchObject({ code: 'too_many_webhooks' });
});

test.each([
  'http://127.0.0.1/hook',
  'http://169.254.169.254/latest',
  'http://[::1]/',
  'http://localhost:8080/hook',
  'http://hooks.LOCALHOST./hook',
  'http://user:password@example.com/',
  'ftp://example.com/',
])('%s is refused when it is set', async (bad) => {
  const tenantId = await newTenant(database);
  const principal = { tenantId, userId: 'u', role: 'admin', via: 'token' } as const;
  const deps = { ...testWebhookDeps(database.db), blockPrivateAddresses: true };
  const input = { url: bad, eventTypes: null, description: null };
  await expect(createEndpoint(deps, principal, input)).rejects.toMatchObject({
    code: expect.stringMatching(/^(address_blocked|url_invalid)$/),
  });
});

test.each([
  { url: 'nowhere' },
  { url, event_types: [] },
  { url, event_types: ['Job Queued'] },
  { url, description: 'x'.repeat(501) },
  { url, more: true },
])('a body such as %j is refused with what is allowed', async (body) => {
  const ask = await asAdmin(await newTenant(database));
  expect((await ask('POST', '/api/webhooks', body)).status).toBe(400);
});
