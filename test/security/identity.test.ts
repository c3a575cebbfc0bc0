import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/kernel/tenancy/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { testTokens } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { type Ask, send } from './product.ts';
import { Tally } from './tally.ts';

// What somebody keeps who lost their account or their role: keys, keys made with keys, sessions, old tokens. Two
// started servers on one database: what one of them changes has to count on the other.
const database = useDatabase();
const product = useServerProcess(database);
const sibling = useServerProcess(database);
const processes = { 'the process that made the change': product, 'another process': sibling };
const tally = new Tally('identity', 110);

const nowSeconds = Math.floor(Date.now() / 1000);

interface Claims {
  tenantId: string;
  userId: string;
  role: Role;
  /** Seconds from now; null leaves `iat` out. */
  issued?: number | null;
  expires?: number;
}

async function tokenOf({ tenantId, userId, role, issued = 0, expires = 3600 }: Claims): Promise<string> {
  const token = new SignJWT({ tenant_id: tenantId, role })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(userId)
    .setIssuer('sluice')
    .setAudience('sluice')
    .setExpirationTime(nowSeconds + expires);
  if (issued !== null) token.setIssuedAt(nowSeconds + issued);
  return token.sign(new TextEncoder().encode(testTokens.secret));
}

type Holder = { bearer: string } | { cookie: string };

function ask(holder: Holder, request: Ask, at = product) {
  const headers: Record<string, string> =
    'bearer' in holder
      ? { authorization: `Bearer ${holder.bearer}` }
      : { cookie: holder.cookie, origin: at.url };
  return send(`${at.url}${request.path}`, { ...request, headers });
}

async function holderOf(claims: Claims): Promise<Holder> {
  return { bearer: await tokenOf(claims) };
}

async function makeKey(maker: Holder, role: Role = 'admin'): Promise<{ bearer: string; keyId: string }> {
  const made = await ask(maker, { method: 'POST', path: '/api/api-keys', body: { name: 'key', role } });
  expect(made.status, made.text).toBe(201);
  return { bearer: String(made.body.key), keyId: String(made.body.key_id) };
}

async function logIn(token: string): Promise<Holder> {
  const made = await send(`${product.url}/api/session`, { method: 'POST', body: { token } });
  expect(made.status, made.text).toBe(201);
  return { cookie: made.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

async function roleOf(holder: Holder, at = product): Promise<unknown> {
  const { status, body } = await ask(holder, { path: '/api/me' }, at);
  return status === 200 ? body.role : body.code;
}

function setDisabled(by: Holder, userId: string, disabled: boolean) {
  return ask(by, { method: 'PATCH', path: `/api/users/${userId}`, body: { disabled } });
}

async function listedKey(by: Holder, keyId: string): Promise<Record<string, unknown>> {
  const { body } = await ask(by, { path: '/api/api-keys' });
  return (body.data as Record<string, unknown>[]).find((key) => key.key_id === keyId) ?? {};
}

describe('a disabled user', () => {
  async function stage() {
    const tenantId = `disabled-${newId()}`;
    const ada = await tokenOf({ tenantId, userId: 'ada', role: 'admin' });
    const bob = await holderOf({ tenantId, userId: 'bob', role: 'admin' });
    await ask(bob, { path: '/api/me' });
    const first = await makeKey({ bearer: ada });
    const second = await makeKey(first);
    const third = await makeKey(second, 'service');
    const keys = { first, second, third, 'a session of the second key': await logIn(second.bearer) };
    const foreign = await makeKey(bob, 'member');
    return { tenantId, ada: { bearer: ada }, session: await logIn(ada), bob, keys, foreign };
  }

  test('loses the keys that they made, and the keys and sessions made with those, until enabled', async () => {
    const { bob, keys, foreign, tenantId } = await stage();
    for (const at of [product, sibling]) {
      for (const holder of Object.values(keys))
        expect(await roleOf(holder, at)).not.toBe('api_key_suspended');
    }
    tally.equal((await setDisabled(bob, 'ada', true)).status, 200);
    for (const [where, at] of Object.entries(processes)) {
      for (const [name, holder] of Object.entries(keys)) {
        const { status, body } = await ask(holder, { path: '/api/me' }, at);
        tally.equal([where, name, status, body.code], [where, name, 401, 'api_key_suspended']);
        tally.ok(String(body.detail).includes('ada'), `the answer names who made the key: ${body.detail}`);
      }
      tally.equal(await roleOf(foreign, at), 'member');
    }
    const [row] = await database.owner('select count(*)::int as n from api_keys where tenant_id = $1', [
      tenantId,
    ]);
    for (const holder of Object.values(keys)) {
      const body = { name: 'more', role: 'member' };
      tally.equal((await ask(holder, { method: 'POST', path: '/api/api-keys', body })).status, 401);
      tally.equal((await setDisabled(holder, 'ada', false)).status, 401);
    }
    const [after] = await database.owner('select count(*)::int as n from api_keys where tenant_id = $1', [
      tenantId,
    ]);
    tally.equal(after, row);
    tally.equal((await setDisabled(bob, 'ada', false)).status, 200);
    for (const at of Object.values(processes)) {
      tally.equal(await roleOf(keys.first, at), 'admin');
      tally.equal(await roleOf(keys.third, at), 'service');
      tally.equal(await roleOf(keys['a session of the second key'], at), 'admin');
    }
  });

  test('loses their session on every process with the next request', async () => {
    const { bob, session, ada } = await stage();
    for (const at of Object.values(processes)) tally.equal(await roleOf(session, at), 'admin');
    await setDisabled(bob, 'ada', true);
    for (const at of Object.values(processes)) tally.equal(await roleOf(session, at), 'user_disabled');
    tally.equal(await roleOf(ada), 'user_disabled');
    await setDisabled(bob, 'ada', false);
    for (const at of Object.values(processes)) tally.equal(await roleOf(session, at), 'admin');
  });

  test('has keys that the list shows as suspended, with the reason', async () => {
    const { bob, keys } = await stage();
    tally.equal(await listedKey(bob, keys.third.keyId).then((key) => [key.suspended, key.user_id]), [
      false,
      'ada',
    ]);
    await setDisabled(bob, 'ada', true);
    for (const { keyId } of [keys.first, keys.second, keys.third]) {
      const key = await listedKey(bob, keyId);
      tally.equal(key.suspended, true);
      tally.equal(key.suspended_because, 'Its user ada is disabled');
    }
  });
});

describe('an operator', () => {
  async function stage() {
    const tenantId = `operator-${newId()}`;
    const olga = await holderOf({ tenantId, userId: 'olga', role: 'operator', issued: -100 });
    const admin = await holderOf({ tenantId, userId: 'ada', role: 'admin' });
    const member = await holderOf({ tenantId, userId: 'olga', role: 'member', issued: -50 });
    return { tenantId, olga, admin, member };
  }

  test('cannot be disabled by an admin, not even after a member token with the same sub', async () => {
    const { olga, admin, member } = await stage();
    tally.equal(await roleOf(olga), 'operator');
    tally.equal(await roleOf(member), 'member');
    const refused = await setDisabled(admin, 'olga', true);
    tally.equal([refused.status, refused.body.code], [403, 'user_not_changeable']);
    tally.ok(String(refused.body.detail).includes('operator'), String(refused.body.detail));
    const key = await makeKey(admin);
    tally.equal((await setDisabled(key, 'olga', true)).status, 403);
    tally.equal(await roleOf(olga, sibling), 'operator');
  });

  test('who was known only as a member and was disabled by an admin gets in with an operator token', async () => {
    const { olga, admin, member } = await stage();
    tally.equal(await roleOf(member), 'member');
    tally.equal((await setDisabled(admin, 'olga', true)).status, 200);
    tally.equal(await roleOf(member), 'user_disabled');
    tally.equal(await roleOf(olga), 'operator');
    tally.equal((await setDisabled(admin, 'olga', true)).status, 403);
  });

  test('whom another operator disabled stays out, and an admin cannot let them in', async () => {
    const { tenantId, olga, admin, member } = await stage();
    await roleOf(olga);
    const other = await holderOf({ tenantId, userId: 'omar', role: 'operator' });
    tally.equal((await setDisabled(other, 'olga', true)).status, 200);
    for (const holder of [olga, member]) tally.equal(await roleOf(holder), 'user_disabled');
    tally.equal((await setDisabled(admin, 'olga', false)).status, 403);
    tally.equal(await roleOf(olga), 'user_disabled');
  });

  test('can be made an ordinary user only by an operator', async () => {
    const { tenantId, olga, admin, member } = await stage();
    await roleOf(olga);
    await roleOf(member);
    const clear = { method: 'PATCH', path: '/api/users/olga', body: { operator: false } };
    const refused = await ask(admin, clear);
    tally.equal([refused.status, refused.body.code], [403, 'user_not_changeable']);
    const other = await holderOf({ tenantId, userId: 'omar', role: 'operator' });
    tally.equal((await ask(other, clear)).body.operator, false);
    tally.equal((await setDisabled(admin, 'olga', true)).status, 200);
  });

  test.each(['operator', 'member'] as const)('has keys (role %s) that no admin can revoke', async (role) => {
    const { olga, admin, member } = await stage();
    const key = await makeKey(olga, role);
    const revoke = { method: 'DELETE', path: `/api/api-keys/${key.keyId}` };
    const byAdminKey = await makeKey(admin);
    for (const holder of [admin, byAdminKey]) {
      const refused = await ask(holder, revoke);
      tally.equal([refused.status, refused.body.code], [403, 'operator_only']);
    }
    tally.equal((await listedKey(admin, key.keyId)).operator_only, true);
    tally.equal(await roleOf(key), role);
    tally.equal((await ask(olga, revoke)).status, 204);
    tally.equal(await roleOf(key), 'invalid_api_key');
    tally.equal(await roleOf(member), 'member');
  });
});

describe('a role that a newer token lowers', () => {
  test.each([
    { name: 'by its iat', older: { issued: -100 }, newer: { issued: -50 } },
    { name: 'within one second', older: { issued: -50 }, newer: { issued: -50 } },
    {
      name: 'by its exp, without an iat',
      older: { issued: null, expires: 3600 },
      newer: { issued: null, expires: 3700 },
    },
  ])('$name, lowers sessions too, and the older token does not raise them', async (times) => {
    const user = { tenantId: `lowered-${newId()}`, userId: 'ada' };
    const admin = await tokenOf({ ...user, role: 'admin', ...times.older });
    const session = await logIn(admin);
    const key = await makeKey({ bearer: admin });
    tally.equal([await roleOf(session), await roleOf(key)], ['admin', 'admin']);
    const member = await holderOf({ ...user, role: 'member', ...times.newer });
    tally.equal(await roleOf(member), 'member');
    for (const at of Object.values(processes)) tally.equal(await roleOf(session, at), 'member');
    tally.equal(await roleOf({ bearer: admin }, sibling), 'admin');
    for (const at of Object.values(processes)) {
      tally.equal([await roleOf(session, at), await roleOf(key, at)], ['member', 'admin']);
    }
    const body = { name: 'more', role: 'member' };
    tally.equal((await ask(session, { method: 'POST', path: '/api/api-keys', body })).status, 403);
  });

  test('holds for sessions that are started afterwards with the older token', async () => {
    const user = { tenantId: `stale-${newId()}`, userId: 'ada' };
    const admin = await tokenOf({ ...user, role: 'admin', issued: -100 });
    tally.equal(await roleOf(await holderOf({ ...user, role: 'member', issued: -50 })), 'member');
    tally.equal(await roleOf(await logIn(admin)), 'member');
  });

  test('is raised again by a still newer one', async () => {
    const user = { tenantId: `raised-${newId()}`, userId: 'ada' };
    const session = await logIn(await tokenOf({ ...user, role: 'admin', issued: -100 }));
    await roleOf(await holderOf({ ...user, role: 'member', issued: -50 }));
    tally.equal(await roleOf(session), 'member');
    await roleOf(await holderOf({ ...user, role: 'admin', issued: -20 }));
    for (const at of Object.values(processes)) tally.equal(await roleOf(session, at), 'admin');
  });
});

test('the suite checks what it is meant to check', () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
});
