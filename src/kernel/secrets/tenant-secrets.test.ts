import { beforeEach, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { can, rolesAllowed } from '../tenancy/rights.ts';
import { type Role, roles } from '../tenancy/types.ts';
import { parseSecretKeys } from './stored-secrets.ts';
import { TenantSecrets } from './tenant-secrets.ts';
import type { SecretUse } from './types.ts';
import { usesEverySecret } from './use-rules.ts';

const database = useDatabase();
const keys = parseSecretKeys('0'.repeat(64));
let tenantId: string;
beforeEach(async () => {
  tenantId = await newTenant(database);
});

const secrets = () => new TenantSecrets({ db: database.db, keys });
const userOf = (role: Role, use: SecretUse = 'processor:http') => ({ tenantId, role, use });

function store(rules: { hosts?: string[]; roles?: Role[]; uses?: string[] | null } = {}) {
  const rest = { hosts: ['api.example.com'], roles: [], uses: null, ...rules };
  return secrets().put(tenantId, { name: 'key', value: 'a-value-7391', ...rest, updatedBy: 'u' });
}

function wanted(url = 'https://api.example.com/v1') {
  return { name: 'key', urls: [url], pointer: '/options/auth/secret' };
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error: { code?: string }) => error.code,
  );

test.each(roles)('the role %s uses what its rights and the marks of the secret say', async (role) => {
  const expected = (isMarked: boolean) => {
    if (!can(role, 'secret.use')) return 'secret_not_allowed';
    return role !== 'member' || isMarked ? 'ok' : 'secret_not_allowed';
  };
  for (const isMarked of [false, true]) {
    await store({ roles: isMarked ? ['member'] : [] });
    const isVisible = (await secrets().visibleTo({ tenantId, role }))('key');
    expect({
      atCreation: await codeOf(secrets().assertUsable(userOf(role), wanted())),
      atRun: await codeOf(secrets().lend(userOf(role), 'key')),
      isVisible,
      isListed: (await secrets().list({ tenantId, role })).length === 1,
    }).toEqual({
      atCreation: expected(isMarked),
      atRun: expected(isMarked),
      isVisible: expected(isMarked) === 'ok',
      isListed: expected(isMarked) === 'ok',
    });
  }
});

test('who may create knowledge bases or adapters may use every secret, so their runs need no role of their own', () => {
  const creators = new Set([...rolesAllowed('knowledge.manage'), ...rolesAllowed('adapter.manage')]);
  expect([...creators].filter((role) => !usesEverySecret(role))).toEqual([]);
});

test('a member cannot tell a secret that is not theirs from one that is missing', async () => {
  const missing = await secrets()
    .assertUsable(userOf('member'), wanted())
    .catch((error: Error) => error);
  await store();
  const hidden = await secrets()
    .assertUsable(userOf('member'), wanted())
    .catch((error: Error) => error);
  expect(JSON.stringify(hidden)).toBe(JSON.stringify(missing));
  expect((hidden as Error).message).toBe((missing as Error).message);
});

test('an admin may name a secret that will be stored later', async () => {
  expect(await codeOf(secrets().assertUsable(userOf('admin'), wanted()))).toBe('ok');
  expect(await codeOf(secrets().lend(userOf('admin'), 'key'))).toBe('secret_not_found');
});

describe('a secret', () => {
  test('without hosts, as stored before they were asked for, goes nowhere', async () => {
    await store({ hosts: [] });
    expect(await codeOf(secrets().assertUsable(userOf('admin'), wanted()))).toBe('secret_without_hosts');
    expect(await codeOf(secrets().lend(userOf('admin'), 'key'))).toBe('secret_without_hosts');
  });

  test('for some uses serves no other', async () => {
    await store({ uses: ['embedder:openai'] });
    const http = userOf('admin');
    const embedder = userOf('admin', 'embedder:openai');
    expect(await codeOf(secrets().assertUsable(http, wanted()))).toBe('secret_use_not_allowed');
    expect(await codeOf(secrets().lend(http, 'key'))).toBe('secret_use_not_allowed');
    expect(await codeOf(secrets().assertUsable(embedder, wanted()))).toBe('ok');
    expect((await secrets().lend(embedder, 'key')).value).toBe('a-value-7391');
  });

  test('names its hosts to whoever sent the request, and not in a message that is stored', async () => {
    await store();
    const error = await secrets()
      .assertUsable(userOf('admin'), wanted('https://evil.example/'))
      .catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      code: 'secret_host_not_allowed',
      message: 'The secret may not be sent to evil.example',
      fields: [{ pointer: '/options/auth/secret', message: expect.stringContaining('api.example.com') }],
    });
  });

  test('changes its roles and uses without its value, and what is left out stays', async () => {
    await store();
    await secrets().change(tenantId, { name: 'key', roles: ['member'], updatedBy: 'v' });
    await secrets().change(tenantId, { name: 'key', uses: ['adapter:s3'], updatedBy: 'v' });
    const [record] = await secrets().list({ tenantId, role: 'admin' });
    expect(record).toMatchObject({ roles: ['member'], uses: ['adapter:s3'], hosts: ['api.example.com'] });
    await secrets().change(tenantId, { name: 'key', uses: null, updatedBy: 'v' });
    expect((await secrets().list({ tenantId, role: 'admin' }))[0]).toMatchObject({ uses: null });
    const missing = secrets().change(tenantId, { name: 'none', roles: [], updatedBy: 'v' });
    await expect(missing).rejects.toMatchObject({ code: 'secret_not_found' });
  });
});
