import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/kernel/tenancy/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { useProduct } from './product.ts';

// People come by a link that somebody of their tenant made: once, with at most that person's rights, never as somebody
// else. Two processes on one database.
const database = useDatabase();
const product = useProduct(database);
const sibling = useProduct(database);

interface Person {
  tenantId: string;
  userId: string;
  role: Role;
}

const adminOf = (tenantId: string): Person => ({ tenantId, userId: 'ada', role: 'admin' });

function invite(by: Person, body: object) {
  return product.ask(by, { method: 'POST', path: '/api/users/invitations', body });
}

async function linkFor(by: Person, body: object): Promise<string> {
  const answer = await invite(by, body);
  expect(answer.status, answer.text).toBe(201);
  return String(answer.body.url);
}

/** Follows the link as a browser does. Returns the cookie, or null when the link was refused. */
async function follow(url: string): Promise<string | null> {
  const answer = await fetch(url, { redirect: 'manual', headers: { accept: 'text/html' } });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? null;
}

function me(cookie: string, at = product) {
  return at.ask(null, { path: '/api/me', headers: { cookie } });
}

function changeRole(by: Person, userId: string, role: Role) {
  return product.ask(by, { method: 'PATCH', path: `/api/users/${userId}`, body: { role } });
}

function remove(by: Person, userId: string) {
  return product.ask(by, { method: 'DELETE', path: `/api/users/${userId}` });
}

describe('an invitation', () => {
  test('logs the person in once, in any process, with the role that it names', async () => {
    const ada = adminOf(newId());
    const url = await linkFor(ada, { email: 'bob@example.com', name: 'Bob', role: 'member' });
    const before = (await product.ask(ada, { path: '/api/users' })).body.data as Record<string, unknown>[];
    expect(before.find((user) => user.user_id === 'bob@example.com')).toMatchObject({
      name: 'Bob',
      role: 'member',
      invited_at: expect.any(String),
    });
    const cookie = (await follow(url)) ?? '';
    expect((await me(cookie, sibling)).body).toMatchObject({ user_id: 'bob@example.com', role: 'member' });
    expect(await follow(url)).toBeNull();
    const after = (await product.ask(ada, { path: '/api/users' })).body.data as Record<string, unknown>[];
    expect(after.find((user) => user.user_id === 'bob@example.com')).toMatchObject({ invited_at: null });
  });

  test.each([
    ['admin', 'operator'],
    ['admin', 'support'],
  ] as const)('%s cannot give the role %s', async (own, role) => {
    const answer = await invite({ ...adminOf(newId()), role: own }, { user_id: 'eve', role });
    expect(answer.status).toBe(403);
    expect(answer.body.code).toBe('role_not_grantable');
  });

  test.each(['member', 'support', 'service'] as const)('%s may invite nobody', async (role) => {
    const answer = await invite({ ...adminOf(newId()), role }, { user_id: 'eve', role: 'member' });
    expect(answer.status).toBe(403);
  });

  test('cannot be made for a user who exists: its holder would act as them', async () => {
    const ada = adminOf(newId());
    const bob = { tenantId: ada.tenantId, userId: 'bob', role: 'member' } as const;
    await product.ask(bob, { path: '/api/me' });
    const answer = await invite(ada, { user_id: 'bob', role: 'member' });
    expect(answer.status).toBe(409);
    expect(answer.body.code).toBe('user_exists');
    expect((await invite(ada, { user_id: 'ada', role: 'admin' })).status).toBe(409);
  });

  test('made again replaces the first, which no longer works', async () => {
    const ada = adminOf(newId());
    const first = await linkFor(ada, { user_id: 'bob', role: 'admin' });
    const second = await linkFor(ada, { user_id: 'bob', role: 'member' });
    expect(await follow(first)).toBeNull();
    const cookie = (await follow(second)) ?? '';
    expect((await me(cookie)).body).toMatchObject({ role: 'member' });
  });

  test.each(['api_key:0', ' bob', 'b\u200bob', 'bob\n', ''])('refuses the user id %j', async (userId) => {
    const answer = await invite(adminOf(newId()), { user_id: userId, role: 'member' });
    expect([400, 422]).toContain(answer.status);
  });

  test('stays within its tenant, whoever has the same name elsewhere', async () => {
    const [here, there] = [adminOf(newId()), adminOf(newId())];
    await product.ask({ ...there, userId: 'bob' }, { path: '/api/me' });
    const cookie = (await follow(await linkFor(here, { user_id: 'bob', role: 'member' }))) ?? '';
    expect(((await me(cookie)).body.tenant as { tenant_id: string }).tenant_id).toBe(here.tenantId);
  });
});

describe('a role that is set', () => {
  test('counts for the session that runs, and only up to the rights of who sets it', async () => {
    const ada = adminOf(newId());
    const cookie = (await follow(await linkFor(ada, { user_id: 'bob', role: 'admin' }))) ?? '';
    expect((await changeRole(ada, 'bob', 'operator')).status).toBe(403);
    expect((await changeRole(ada, 'ada', 'member')).status).toBe(403);
    expect((await changeRole(ada, 'bob', 'member')).body).toMatchObject({ role: 'member' });
    expect((await me(cookie)).body).toMatchObject({ role: 'member' });
    expect((await me(cookie, sibling)).body).toMatchObject({ role: 'member' });
  });

  test('does not reach an operator', async () => {
    const ada = adminOf(newId());
    const olga = { tenantId: ada.tenantId, userId: 'olga', role: 'operator' } as const;
    await product.ask(olga, { path: '/api/me' });
    expect((await changeRole(ada, 'olga', 'member')).status).toBe(403);
    expect((await remove(ada, 'olga')).status).toBe(403);
  });
});

describe('a person who is removed', () => {
  test('loses sessions, keys, keys made with those, and an open invitation', async () => {
    const ada = adminOf(newId());
    const cookie = (await follow(await linkFor(ada, { user_id: 'bob', role: 'admin' }))) ?? '';
    const own = { cookie, origin: product.url };
    const key = async (headers: Record<string, string>) => {
      const body = { name: 'key', role: 'admin' };
      const made = await product.ask(null, { method: 'POST', path: '/api/api-keys', body, headers });
      return { authorization: `Bearer ${made.body.key}` };
    };
    const first = await key(own);
    const second = await key(first);
    expect((await product.ask(null, { path: '/api/me', headers: second })).status).toBe(200);
    expect((await remove(ada, 'bob')).status).toBe(204);
    for (const headers of [{ cookie }, first, second]) {
      expect((await product.ask(null, { path: '/api/me', headers })).status).toBe(401);
      expect((await sibling.ask(null, { path: '/api/me', headers })).status).toBe(401);
    }
    const url = await linkFor(ada, { user_id: 'carl', role: 'member' });
    expect((await remove(ada, 'carl')).status).toBe(204);
    expect(await follow(url)).toBeNull();
  });

  test('is nobody of another tenant, and not oneself', async () => {
    const [ada, eve] = [adminOf(newId()), adminOf(newId())];
    await linkFor(ada, { user_id: 'bob', role: 'member' });
    await product.ask(eve, { path: '/api/me' });
    expect((await remove(eve, 'bob')).status).toBe(404);
    expect((await remove(ada, 'ada')).status).toBe(403);
  });
});
