import { afterEach, describe, expect, test } from 'vitest';
import { parseSecretKeys } from '../../src/kernel/secrets/stored-secrets.ts';
import { TenantSecrets } from '../../src/kernel/secrets/tenant-secrets.ts';
import { type FakeAirbyte, startFakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { type Answer, hasEnded, useSyncs } from '../support/servers/sync-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const secrets = () => new TenantSecrets({ db: database.db, keys: parseSecretKeys('ab'.repeat(32)) });
const syncs = useSyncs(database, {
  secrets: {
    assertUsable: (...given) => secrets().assertUsable(...given),
    lend: (...given) => secrets().lend(...given),
    visibleTo: (...given) => secrets().visibleTo(...given),
  },
});

afterEach(() => syncs.airbyte.recover());

async function storeSecret(tenantId: string, airbyte: FakeAirbyte, value: string): Promise<void> {
  const { host } = new URL(airbyte.url);
  const record = { name: 'own_airbyte', hosts: [host], roles: [], uses: null, updatedBy: 'admin' };
  await secrets().put(tenantId, { ...record, value });
}

function putServer(tenantId: string, body: object, name = 'own') {
  return syncs.call({ tenantId }, `/api/airbyte-servers/${name}`, 'PUT', body);
}

/** A tenant with an Airbyte of its own, and a connector on it. */
async function ownServer(auth: { auth: string; identity?: string; value: (airbyte: FakeAirbyte) => string }) {
  const airbyte = await startFakeAirbyte();
  const tenantId = await newTenant(database, 'enterprise');
  await storeSecret(tenantId, airbyte, auth.value(airbyte));
  const server = {
    base_url: airbyte.url,
    auth: auth.auth,
    identity: auth.identity ?? null,
    secret: 'own_airbyte',
  };
  expect((await putServer(tenantId, server)).status).toBe(201);
  const connection = airbyte.addConnection({ plan: { statuses: ['running', 'succeeded'], rows: 8 } });
  const made = await syncs.call({ tenantId }, '/api/connectors', 'POST', {
    connector_id: 'shop',
    name: 'A shop',
    external_account_id: 'shop',
    airbyte_connection_id: connection.connectionId,
    airbyte_server: 'own',
  });
  expect(made.status).toBe(201);
  return { airbyte, tenantId, connectorId: 'shop', connection };
}

const token = { auth: 'token', value: ({ settings }: FakeAirbyte) => settings.fixedToken };

describe('an Airbyte server of a tenant', () => {
  test.each([
    ['a token', token],
    [
      'client credentials',
      {
        auth: 'client',
        identity: 'fake-client',
        value: ({ settings }: FakeAirbyte) => settings.clientSecret,
      },
    ],
    [
      'a user and a password',
      { auth: 'basic', identity: 'fake-user', value: ({ settings }: FakeAirbyte) => settings.password },
    ],
  ])('runs the syncs of its connectors with %s', async (_what, auth) => {
    const sync = await ownServer(auth);
    const before = syncs.airbyte.requests.length;
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'success', records_synced: 8 });
    expect(sync.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
    // The installation's own Airbyte has heard nothing of it.
    expect(syncs.airbyte.requests).toHaveLength(before);
  });

  test('is checked on demand, and its own trouble stays its own', async () => {
    const sync = await ownServer(token);
    const check = async () =>
      (await syncs.call(sync, '/api/airbyte-servers/own/check', 'POST')).body as Answer;
    expect(await check()).toMatchObject({ state: 'ok' });
    await storeSecret(sync.tenantId, sync.airbyte, 'a token with blanks');
    expect(await check()).toMatchObject({ state: 'not_configured' });
    await storeSecret(sync.tenantId, sync.airbyte, 'wrong-token');
    expect(await check()).toMatchObject({ state: 'credentials_refused' });
    const jobId = await syncs.start(sync);
    const waits = ({ waiting_for: reason }: Answer) => reason === 'airbyte_credentials_refused';
    await syncs.driveUntil(sync, jobId, waits);
    const other = await syncs.connector();
    expect(await syncs.driveUntil(other, await syncs.start(other), hasEnded)).toMatchObject({
      status: 'success',
    });
    await storeSecret(sync.tenantId, sync.airbyte, sync.airbyte.settings.fixedToken);
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
      status: 'success',
      retry_count: 0,
    });
  });

  test('whose secret is gone makes its syncs wait, not fail', async () => {
    const sync = await ownServer(token);
    const jobId = await syncs.start(sync);
    await database.owner('delete from tenant_secrets where tenant_id = $1', [sync.tenantId]);
    const waits = ({ waiting_for: reason }: Answer) => reason === 'airbyte_not_configured';
    expect(await syncs.driveUntil(sync, jobId, waits)).toMatchObject({ status: 'running', retry_count: 0 });
  });

  test('gets its secret only at the hosts that the secret is for', async () => {
    const airbyte = await startFakeAirbyte();
    const elsewhere = await startFakeAirbyte();
    const tenantId = await newTenant(database);
    await storeSecret(tenantId, airbyte, airbyte.settings.fixedToken);
    const { status } = await putServer(tenantId, {
      base_url: elsewhere.url,
      auth: 'token',
      secret: 'own_airbyte',
    });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(elsewhere.requests).toEqual([]);
  });

  test('cannot be deleted while a connector uses it, nor used by another tenant', async () => {
    const sync = await ownServer(token);
    const route = '/api/airbyte-servers/own';
    expect((await syncs.call(sync, route, 'DELETE')).body).toMatchObject({ code: 'server_in_use' });
    const stranger = { tenantId: await newTenant(database) };
    expect((await syncs.call(stranger, route, 'DELETE')).status).toBe(404);
    const taken = await syncs.call(stranger, '/api/connectors', 'POST', {
      name: 'Mine',
      external_account_id: 'mine',
      airbyte_connection_id: sync.airbyte.addConnection().connectionId,
      airbyte_server: 'own',
    });
    expect(taken.body).toMatchObject({ code: 'server_not_found' });
    await syncs.call(sync, '/api/connectors/shop', 'DELETE');
    expect((await syncs.call(sync, route, 'DELETE')).status).toBe(204);
  });

  test('trouble of the installation’s own Airbyte does not hold its syncs up', async () => {
    const sync = await ownServer(token);
    syncs.airbyte.trouble({}, airbyteTroubles.unavailable());
    expect(await syncs.driveUntil(sync, await syncs.start(sync), hasEnded)).toMatchObject({
      status: 'success',
    });
  });
});
