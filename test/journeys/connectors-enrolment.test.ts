import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { type Answer, hasEnded, useSyncs } from '../support/servers/sync-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database, { connectorEnrolment: 'operator' });

const operator = { tenantId: 'the-operator', role: 'operator' } as const;

function wishFor(tenantId: string, wish: Record<string, unknown> = {}) {
  const { connectionId } = syncs.airbyte.addConnection();
  return {
    tenant_id: tenantId,
    airbyte_connection_id: connectionId,
    external_account_id: 'shop-456',
    ...wish,
  };
}

async function importAll(...connections: object[]) {
  return syncs.call(operator, '/api/connectors/import', 'POST', { connections });
}

describe('where only the operator enrols', () => {
  test('a tenant’s admin is refused and told whom to ask', async () => {
    const tenantId = await newTenant(database);
    const { tenant_id: _tenant, ...wish } = wishFor(tenantId, { name: 'A shop' });
    const answer = await syncs.call({ tenantId }, '/api/connectors', 'POST', wish);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'enrolment_by_operator' });
  });

  test('connections are imported for the named tenants, and a refused one does not stop the rest', async () => {
    const [one, two] = [await newTenant(database), await newTenant(database, 'growth')];
    const first = wishFor(one, { connector_id: 'shop' });
    const second = wishFor(two, { connector_id: 'shop', cadence_hours: 12 });
    const report = await importAll(
      first,
      second,
      { ...first, tenant_id: two, connector_id: 'stolen' },
      wishFor('nobody'),
      wishFor(one, { cadence_hours: 1 }),
    );
    expect(report.status).toBe(200);
    expect(report.body.imported).toMatchObject([
      { tenant_id: one, connector_id: 'shop', cadence_hours: 24, name: first.airbyte_connection_id },
      { tenant_id: two, connector_id: 'shop', cadence_hours: 12 },
    ]);
    expect((report.body.refused as Answer[]).map(({ code }) => code)).toEqual([
      'connection_taken',
      'connector_tenant_unknown',
      'cadence_not_allowed',
    ]);
    const sync = { tenantId: one, connectorId: 'shop', connection: syncs.airbyte.addConnection() };
    expect(await syncs.driveUntil(sync, await syncs.start(sync), hasEnded)).toMatchObject({
      status: 'success',
    });
  });

  test('the workspace’s connections are listed with their owners, to the operator alone', async () => {
    const tenantId = await newTenant(database);
    const mine = wishFor(tenantId);
    await importAll(mine);
    const free = syncs.airbyte.addConnection();
    syncs.airbyte.addConnection({ workspaceId: '00000000-0000-4000-8000-000000000000', name: 'elsewhere' });
    const listed: Answer[] = [];
    let cursor: string | null = null;
    do {
      const query = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await syncs.call(operator, `/api/connections?limit=3${query}`);
      listed.push(...(body.data as Answer[]));
      cursor = body.next_cursor as string | null;
    } while (cursor !== null);
    const byId = new Map(listed.map((row) => [row.airbyte_connection_id, row]));
    expect(byId.get(mine.airbyte_connection_id)).toMatchObject({ enrolled_as: { tenant_id: tenantId } });
    expect(byId.get(free.connectionId)).toMatchObject({ enrolled_as: null, schedule_type: 'manual' });
    expect(listed.some(({ name }) => name === 'elsewhere')).toBe(false);
    for (const role of ['member', 'admin', 'support', 'service'] as const) {
      expect((await syncs.call({ tenantId, role }, '/api/connections')).status).toBe(403);
      expect((await syncs.call({ tenantId, role }, '/api/connectors/import', 'POST', {})).status).toBe(403);
    }
  });

  test('a page continues only where the previous page ended', async () => {
    for (let n = 0; n < 3; n += 1) syncs.airbyte.addConnection();
    const { body } = await syncs.call(operator, '/api/connections?limit=1');
    const cursor = String(body.next_cursor);
    expect((await syncs.call(operator, `/api/connections?limit=1&cursor=${cursor}`)).status).toBe(200);
    for (const other of ['1', `x${cursor}`, `${cursor}x`, '.', cursor.replace('.', '')]) {
      const answer = await syncs.call(operator, `/api/connections?limit=1&cursor=${other}`);
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ code: 'invalid_cursor' });
    }
  });

  test('an Airbyte that does not respond is a 503 with its reason', async () => {
    const end = syncs.airbyte.trouble({ kind: 'list_connections' }, airbyteTroubles.unavailable());
    const answer = await syncs.call(operator, '/api/connections');
    end();
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({ code: 'airbyte_refused', airbyte_code: 'server_error' });
  });
});

describe('a connection', () => {
  test('is enrolled once over all tenants in any spelling, and the refusal does not name the owner', async () => {
    const [one, two] = [await newTenant(database), await newTenant(database)];
    const wish = wishFor(one);
    const { airbyte_connection_id: id } = wish;
    const first = await importAll({ ...wish, airbyte_connection_id: id.replaceAll('-', '') });
    expect(first.body.imported).toMatchObject([{ airbyte_connection_id: id }]);
    const spellings = [id, id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`, `urn:uuid:${id}`];
    const report = await importAll(
      ...spellings.map((spelling) => ({ ...wish, tenant_id: two, airbyte_connection_id: spelling })),
    );
    expect(report.body.imported).toEqual([]);
    expect(report.body.refused).toHaveLength(spellings.length);
    for (const refused of report.body.refused as Answer[]) {
      expect(refused).toMatchObject({ code: 'connection_taken' });
      expect(String(refused.message)).not.toContain(one);
    }
  });

  test.each([
    ['airbyte_connection_id', ['shop', 'shop-456', '0d4c1f8e-0000-4000-8000', `${randomUUID()}0`]],
    ['connector_id', ['.', '..', 'status', 'import']],
  ])('is refused with a sentence when %s is invalid', async (field, values) => {
    const tenantId = await newTenant(database);
    for (const value of values) {
      const { status, body } = await importAll(wishFor(tenantId, { [field]: value }));
      expect(status).toBe(400);
      expect(body.errors).toMatchObject([{ pointer: `/body/connections/0/${field}` }]);
    }
  });

  test('cannot be seen, changed, synced or deleted by another tenant', async () => {
    const [owner, stranger] = [await newTenant(database), await newTenant(database)];
    await importAll(wishFor(owner, { connector_id: 'the-shop' }));
    const calls: [string, string, object?][] = [
      ['GET', '/api/connectors/the-shop'],
      ['PATCH', '/api/connectors/the-shop', { name: 'Mine' }],
      ['POST', '/api/connectors/the-shop/sync', {}],
      ['DELETE', '/api/connectors/the-shop'],
    ];
    for (const [method, route, body] of calls) {
      expect((await syncs.call({ tenantId: stranger }, route, method, body)).status).toBe(404);
    }
    expect((await syncs.call({ tenantId: stranger }, '/api/connectors')).body.data).toEqual([]);
    expect((await syncs.call({ tenantId: owner }, '/api/connectors')).body.data).toHaveLength(1);
  });

  test('is free again after its connector is deleted, which an active sync prevents', async () => {
    const tenantId = await newTenant(database);
    const wish = wishFor(tenantId, { connector_id: 'the-shop' });
    await importAll(wish);
    const sync = { tenantId, connectorId: 'the-shop', connection: syncs.airbyte.addConnection() };
    const jobId = await syncs.start(sync);
    const busy = await syncs.call(sync, '/api/connectors/the-shop', 'DELETE');
    expect(busy.body).toMatchObject({ code: 'connector_busy', active_job_id: jobId });
    await syncs.driveUntil(sync, jobId, hasEnded);
    expect((await syncs.call(sync, '/api/connectors/the-shop', 'DELETE')).status).toBe(204);
    expect((await syncs.call(sync, '/api/connectors/the-shop')).status).toBe(404);
    expect((await syncs.call(sync, `/api/syncs/${jobId}`)).body).toMatchObject({ status: 'success' });
    expect((await importAll(wish)).body.imported).toHaveLength(1);
  });
});

test('a sync whose connector is gone at its retry becomes a dead letter', async () => {
  const tenantId = await newTenant(database);
  const wish = wishFor(tenantId, { connector_id: 'the-shop' });
  await importAll(wish);
  const sync = { tenantId, connectorId: 'the-shop', connection: syncs.airbyte.addConnection() };
  const scope = { kind: 'trigger', connectionId: wish.airbyte_connection_id, times: 1 } as const;
  syncs.airbyte.trouble(scope, airbyteTroubles.throttled('0'));
  const jobId = await syncs.start(sync);
  await syncs.driveUntil(sync, jobId, ({ status }) => status === 'failed');
  expect((await syncs.call(sync, '/api/connectors/the-shop', 'DELETE')).status).toBe(204);
  const ended = await syncs.driveUntil(sync, jobId, hasEnded);
  expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'connector_gone' });
});
