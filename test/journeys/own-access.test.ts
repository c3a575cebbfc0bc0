import { expect, test } from 'vitest';
import { useProduct } from '../security/product.ts';
import { useDatabase } from '../support/worlds/database.ts';

const product = useProduct(useDatabase());
const ada = { tenantId: 'acme', userId: 'ada', role: 'admin' } as const;
const ben = { tenantId: 'acme', userId: 'ben', role: 'member' } as const;
const stranger = { tenantId: 'umbrella', userId: 'ada', role: 'admin' } as const;
type Claims = typeof ada | typeof ben | typeof stranger;

interface Session {
  session_id: string;
  agent: string | null;
  is_current: boolean;
}

/** The cookie of a new session. */
async function logIn(claims: Claims, agent: string): Promise<Record<string, string>> {
  const { authorization = '' } = await product.bearer(claims);
  const token = authorization.replace('Bearer ', '');
  const answer = await product.ask(null, {
    method: 'POST',
    path: '/api/session',
    body: { token },
    headers: { 'user-agent': agent },
  });
  expect(answer.status, answer.text).toBe(201);
  return { cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '', origin: product.url };
}

async function sessionsOf(headers: Record<string, string>): Promise<Session[]> {
  const answer = await product.ask(null, { path: '/api/me/sessions', headers });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as Session[];
}

const end = (headers: Record<string, string>, id: string) =>
  product.ask(null, { method: 'DELETE', path: `/api/me/sessions/${id}`, headers });
const statusOf = async (headers: Record<string, string>) =>
  (await product.ask(null, { path: '/api/me', headers })).status;

test('a user sees their sessions by their browser, and ends one without the others', async () => {
  const desk = await logIn(ada, 'Desk/1.0');
  const phone = await logIn(ada, 'Phone/2.0');
  const seen = await sessionsOf(desk);
  expect(seen.map(({ agent, is_current }) => [agent, is_current])).toEqual([
    ['Phone/2.0', false],
    ['Desk/1.0', true],
  ]);
  const lost = seen.find(({ agent }) => agent === 'Phone/2.0')?.session_id ?? '';
  expect((await end(desk, lost)).status).toBe(204);
  expect([await statusOf(desk), await statusOf(phone)]).toEqual([200, 401]);
  expect((await end(desk, lost)).body).toMatchObject({ status: 404, code: 'session_not_found' });
});

test('nobody sees or ends the sessions of another user, not even of the same name elsewhere', async () => {
  const own = await logIn(ada, 'Desk/1.0');
  const [session] = await sessionsOf(own);
  for (const claims of [ben, stranger]) {
    const other = await logIn(claims, 'Other/1.0');
    expect((await sessionsOf(other)).every(({ agent }) => agent === 'Other/1.0')).toBe(true);
    expect((await end(other, session?.session_id ?? '')).status).toBe(404);
  }
  expect(await statusOf(own)).toBe(200);
});

test('all other sessions end at once, and the one that asks stays', async () => {
  const kept = await logIn(ben, 'Kept/1.0');
  const others = [await logIn(ben, 'A/1.0'), await logIn(ben, 'B/1.0')];
  const answer = await product.ask(null, { method: 'DELETE', path: '/api/me/sessions', headers: kept });
  expect(answer.status).toBe(200);
  expect(answer.body.ended).toBeGreaterThanOrEqual(2);
  expect(await Promise.all([kept, ...others].map(statusOf))).toEqual([200, 401, 401]);
  expect((await sessionsOf(kept)).map(({ agent }) => agent)).toEqual(['Kept/1.0']);
});

test('a session says nothing that could be used in its place', async () => {
  const own = await logIn(ada, 'Desk/1.0');
  const answer = await product.ask(null, { path: '/api/me/sessions', headers: own });
  expect(answer.text).not.toContain(own.cookie?.split('=')[1]);
  for (const { session_id } of answer.body.data as Session[]) {
    expect(await statusOf({ cookie: `${own.cookie?.split('=')[0]}=${session_id}` })).toBe(401);
  }
});

test('a name of a browser that is very long or has control characters is cut, and the login works', async () => {
  const own = await logIn(ben, `${'x'.repeat(5_000)}`);
  const current = (await sessionsOf(own)).find(({ is_current }) => is_current);
  expect(current?.agent).toHaveLength(300);
});

test('who lost the right to manage keys still sees and revokes their own, and no one else’s', async () => {
  const made = await product.ask(ada, {
    method: 'POST',
    path: '/api/api-keys',
    body: { name: 'nightly import', role: 'member' },
  });
  expect(made.status, made.text).toBe(201);
  const { key_id, key } = made.body as { key_id: string; key: string };
  const asMember = { ...ada, role: 'member' } as const;
  const listed = await product.ask(asMember, { path: '/api/me/api-keys' });
  expect((listed.body.data as { key_id: string }[]).map((each) => each.key_id)).toEqual([key_id]);
  const revoke = (claims: Parameters<typeof product.ask>[0]) =>
    product.ask(claims, { method: 'DELETE', path: `/api/me/api-keys/${key_id}` });
  expect((await revoke(ben)).status).toBe(404);
  expect((await revoke(stranger)).status).toBe(404);
  const worked = await product.ask(null, { path: '/api/me', headers: { authorization: `Bearer ${key}` } });
  expect(worked.status).toBe(200);
  expect((await revoke(asMember)).status).toBe(204);
  const refused = await product.ask(null, { path: '/api/me', headers: { authorization: `Bearer ${key}` } });
  expect(refused.status).toBe(401);
});
