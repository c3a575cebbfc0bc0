import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { testWebhookDeps } from '../../../test/support/worlds/webhooks.ts';
import { webhookSecretShelf } from '../webhooks/endpoints/secret-shelf.ts';
import { createEndpoint, placeOf, rotateEndpointSecret } from '../webhooks/service.ts';
import { rotateSecrets } from './rotation.ts';
import { decryptSecret, parseSecretKeys } from './stored-secrets.ts';
import { TenantSecrets, tenantSecretShelf } from './tenant-secrets.ts';

const database = useDatabase();
const logger = pino({ level: 'silent' });
const newKey = () => randomBytes(32).toString('hex');

interface EndpointRow {
  secret: string;
  old_secret: string | null;
  updated_at: Date;
}

function rotate(keyList: string) {
  const shelves = [tenantSecretShelf(database.db), webhookSecretShelf(database.db)];
  return rotateSecrets({ keys: parseSecretKeys(keyList), shelves, logger });
}

function store(tenantId: string, keyList: string) {
  const secrets = new TenantSecrets({ db: database.db, keys: parseSecretKeys(keyList) });
  const rules = { hosts: ['api.example.com'], roles: [], uses: null };
  return secrets.put(tenantId, { name: 'provider', value: `of ${tenantId}`, ...rules, updatedBy: 'u' });
}

async function readAs(tenantId: string, keyList: string): Promise<string> {
  const secrets = new TenantSecrets({ db: database.db, keys: parseSecretKeys(keyList) });
  return (await secrets.lend({ tenantId, role: 'admin', use: 'processor:http' }, 'provider')).value;
}

async function endpointOf(tenantId: string, keyList: string) {
  const deps = { ...testWebhookDeps(database.db), keys: parseSecretKeys(keyList) };
  const principal = { tenantId, userId: 'u', role: 'admin', via: 'token' } as const;
  const input = { url: 'https://example.com/hook', eventTypes: null, description: null };
  const made = await createEndpoint(deps, principal, input);
  const key = { tenantId, webhookId: made.webhookId };
  return { key, first: made.secret, rotate: async () => (await rotateEndpointSecret(deps, key)).secret };
}

async function rowOf({ webhookId }: { webhookId: string }): Promise<EndpointRow> {
  const [row] = await database.owner<EndpointRow>(
    'select secret, old_secret, updated_at from webhook_endpoints where webhook_id = $1',
    [webhookId],
  );
  if (!row) throw new Error(`There is no endpoint ${webhookId}`);
  return row;
}

test('after a rotation the old key can go: secrets of tenants and of webhooks, the old ones too', async () => {
  const [old, fresh] = [newKey(), newKey()];
  const tenants = [await newTenant(database), await newTenant(database)];
  for (const tenantId of tenants) await store(tenantId, old);
  const endpoint = await endpointOf(tenants[0] ?? '', old);
  const second = await endpoint.rotate();
  const before = await rowOf(endpoint.key);
  expect(await rotate(`${fresh}, ${old}`)).toEqual({ rotated: 4, unreadable: 0 });
  for (const tenantId of tenants) expect(await readAs(tenantId, fresh)).toBe(`of ${tenantId}`);
  const after = await rowOf(endpoint.key);
  const place = placeOf(endpoint.key);
  const keys = parseSecretKeys(fresh);
  expect(decryptSecret(keys, { stored: after.secret, place })).toBe(second);
  expect(decryptSecret(keys, { stored: after.old_secret ?? '', place })).toBe(endpoint.first);
  expect(after.updated_at).toEqual(before.updated_at);
  expect(await rotate(`${fresh}, ${old}`)).toEqual({ rotated: 0, unreadable: 0 });
});

test('with one key there is nothing to do, and what a lost key encrypted is counted and left alone', async () => {
  const [lost, old, fresh] = [newKey(), newKey(), newKey()];
  const tenantId = await newTenant(database);
  const endpoint = await endpointOf(tenantId, lost);
  const before = await rowOf(endpoint.key);
  expect(await rotate(fresh)).toEqual({ rotated: 0, unreadable: 0 });
  const report = await rotate(`${fresh}, ${old}`);
  expect(report.rotated).toBe(0);
  expect(report.unreadable).toBeGreaterThan(0);
  expect(await rowOf(endpoint.key)).toEqual(before);
});

test('a secret that is exchanged while it is being rotated keeps both of its values', async () => {
  const [old, fresh] = [newKey(), newKey()];
  const endpoint = await endpointOf(await newTenant(database), old);
  const shelf = webhookSecretShelf(database.db);
  let second = '';
  const meanwhile = {
    async *listOlder(currentPrefix: string) {
      for await (const secret of shelf.listOlder(currentPrefix)) {
        if (secret.place === placeOf(endpoint.key)) second = await endpoint.rotate();
        yield secret;
      }
    },
  };
  await rotateSecrets({ keys: parseSecretKeys(`${fresh}, ${old}`), shelves: [meanwhile], logger });
  await rotate(`${fresh}, ${old}`);
  const row = await rowOf(endpoint.key);
  const read = (stored: string | null) =>
    decryptSecret(parseSecretKeys(fresh), { stored: stored ?? '', place: placeOf(endpoint.key) });
  expect([read(row.secret), read(row.old_secret)]).toEqual([second, endpoint.first]);
});
