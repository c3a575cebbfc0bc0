import { describe, expect, test } from 'vitest';
import { useServer } from '../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../test/support/worlds/database.ts';
import { createLoginLink } from '../kernel/tenancy/sessions.ts';
import { newId } from '../lib/ids.ts';

const database = useDatabase();
const health = { ready: true };
const server = useServer(database, {
  isReady: async () => ({
    ready: health.ready,
    checks: { database: { state: health.ready ? 'ok' : 'failed' } },
  }),
});

describe('/api/me', () => {
  test.each([
    'plain',
    "o'hara",
    'back\\slash',
    '"double"',
    '$1 $$ %s %I',
    '東京 🜁 ñ',
    'a/b?c#d e+f',
    '../../etc/passwd',
    "'; drop table tenants; --",
    '🜁'.repeat(200),
  ])('returns the tenant id %j unchanged, and its tenant is found by it', async (tenantId) => {
    const headers = await server.bearer({ tenantId, role: 'member', name: 'Ada' });
    const me = (await server.app.inject({ url: '/api/me', headers })).json();
    expect(me).toMatchObject({
      tenant_id: tenantId,
      role: 'member',
      via: 'token',
      name: 'Ada',
      plan: 'free',
    });
    expect(me.tenant.tenant_id).toBe(tenantId);
    expect(me.rights).toContain('workspace.read');
    expect(me.rights).not.toContain('workspace.manage');
    const found = await server.app.inject({ url: `/api/tenants/${encodeURIComponent(tenantId)}`, headers });
    expect(found.json().tenant_id).toBe(tenantId);
    const rows = await database.owner('select 1 from workspaces where tenant_id = $1', [tenantId]);
    expect(rows).toHaveLength(1);
  });

  test('works with an API key until it is revoked, and the key is shown once', async () => {
    const headers = await server.bearer({ tenantId: `keys-${newId()}` });
    const created = await server.app.inject({
      method: 'POST',
      url: '/api/api-keys',
      headers,
      payload: { name: 'ci', role: 'service' },
    });
    const { key, key_id } = created.json();
    const withKey = { authorization: `Bearer ${key}` };
    const me = await server.app.inject({ url: '/api/me', headers: withKey });
    expect(me.json()).toMatchObject({ via: 'api_key', role: 'service', user_id: `api_key:${key_id}` });
    const list = await server.app.inject({ url: '/api/api-keys', headers });
    expect(list.body).not.toContain(key);
    expect(list.json().data).toHaveLength(1);
    await server.app.inject({ method: 'DELETE', url: `/api/api-keys/${key_id}`, headers });
    expect((await server.app.inject({ url: '/api/me', headers: withKey })).statusCode).toBe(401);
  });
});

describe('a list', () => {
  test('gives every row once over its pages, and refuses a changed or foreign cursor with 400', async () => {
    const tenantId = `pages-${newId()}`;
    const headers = await server.bearer({ tenantId });
    for (let index = 0; index < 6; index += 1) {
      const payload = { name: `w${index}` };
      await server.app.inject({ method: 'POST', url: '/api/workspaces', headers, payload });
    }
    const names: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const page = await server.app.inject({ url: `/api/workspaces?limit=3${cursor}`, headers });
      const { data, has_more, next_cursor } = page.json();
      names.push(...data.map(({ name }: { name: string }) => name));
      expect(has_more).toBe(next_cursor !== null);
      cursor = next_cursor === null ? '' : `&cursor=${next_cursor}`;
      pages += 1;
    } while (cursor !== '' && pages < 10);
    expect(pages).toBe(3);
    expect(names.sort()).toEqual(['Default', 'w0', 'w1', 'w2', 'w3', 'w4', 'w5']);

    const first = (await server.app.inject({ url: '/api/workspaces?limit=1', headers })).json().next_cursor;
    for (const url of [
      `/api/workspaces?cursor=x${first}`,
      '/api/workspaces?cursor=',
      `/api/users?cursor=${first}`,
    ]) {
      const answer = await server.app.inject({ url, headers });
      expect([url, answer.statusCode, answer.json().code]).toEqual([url, 400, 'invalid_cursor']);
    }
  });

  test.each(['0', '501', 'x', '1.5', '-1'])('refuses limit=%s and says what is allowed', async (limit) => {
    const headers = await server.bearer({ tenantId: 'limits' });
    const answer = await server.app.inject({ url: `/api/workspaces?limit=${limit}`, headers });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors[0].pointer).toBe('/query/limit');
  });
});

describe('a session', () => {
  async function logIn(headers: Record<string, string> = {}) {
    const tenantId = await newTenant(database);
    const code = await createLoginLink(database.db, { tenantId, userId: 'ada', role: 'admin' });
    const answer = await server.app.inject({ url: `/login?code=${code}`, headers });
    const cookie = String(answer.headers['set-cookie']);
    return { tenantId, code, answer, cookie, sent: { cookie: `other=1; ${cookie.split(';')[0]}` } };
  }

  test('starts with a login link, in a cookie that scripts cannot read', async () => {
    const { tenantId, answer, cookie, sent } = await logIn();
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/']);
    expect(cookie).toMatch(/^sluice_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/);
    const me = await server.app.inject({ url: '/api/me', headers: sent });
    expect(me.json()).toMatchObject({ via: 'session', user_id: 'ada', tenant_id: tenantId });
  });

  test('a used link is refused: a page for people, a problem for programs', async () => {
    const { code } = await logIn();
    const program = await server.app.inject({ url: `/login?code=${code}` });
    expect(program.json().code).toBe('login_link_refused');
    const person = await server.app.inject({ url: `/login?code=${code}`, headers: { accept: 'text/html' } });
    expect([person.statusCode, person.headers.location]).toEqual([303, '/login?refused=link']);
    expect(person.headers['set-cookie']).toBeUndefined();
  });

  test('a HEAD, as link previews send it, does not use the link up', async () => {
    const tenantId = await newTenant(database);
    const code = await createLoginLink(database.db, { tenantId, userId: 'ada', role: 'admin' });
    await server.app.inject({ method: 'HEAD', url: `/login?code=${code}` });
    expect((await server.app.inject({ url: `/login?code=${code}` })).headers['set-cookie']).toBeDefined();
  });

  test.each<[string, number, Record<string, string>]>([
    ['a page of this server', 201, { 'sec-fetch-site': 'same-origin', origin: 'http://evil.example' }],
    ['the same origin, in an older browser', 201, { origin: 'http://localhost:80' }],
    ['another site', 403, { 'sec-fetch-site': 'cross-site' }],
    ['a sister site', 403, { 'sec-fetch-site': 'same-site' }],
    ['another site, in an older browser', 403, { origin: 'http://evil.example' }],
    ['a sandboxed page', 403, { origin: 'null' }],
    ['somewhere that does not say', 403, {}],
  ])('may change things from %s: %i', async (_where, status, headers) => {
    const { sent } = await logIn();
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/workspaces',
      headers: { host: 'localhost', ...sent, ...headers },
      payload: { name: 'made from the browser' },
    });
    expect(answer.statusCode).toBe(status);
    if (status === 403) expect(answer.json().code).toBe('cross_site_request');
  });

  test('ends with the logout, which clears the cookie', async () => {
    const { sent } = await logIn();
    const headers = { ...sent, 'sec-fetch-site': 'same-origin' };
    const out = await server.app.inject({ method: 'POST', url: '/api/session/logout', headers });
    expect(out.statusCode).toBe(204);
    expect(out.headers['set-cookie']).toMatch(/^sluice_session=; .*Max-Age=0/);
    expect((await server.app.inject({ url: '/api/me', headers: sent })).json().code).toBe('invalid_session');
  });
});

describe('a pasted token', () => {
  const paste = (token: string, headers: Record<string, string> = {}) =>
    server.app.inject({ method: 'POST', url: '/api/session', headers, payload: { token } });
  const sentFrom = (answer: { headers: Record<string, unknown> }) => ({
    cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '',
  });

  test('starts a session of its tenant, user and role, which ends with the token', async () => {
    const claims = {
      tenantId: `paste-${newId()}`,
      role: 'member',
      userId: 'ada',
      lifetimeSeconds: 600,
    } as const;
    const answer = await paste(`  ${await server.token(claims)}\n`);
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toMatchObject({ tenant_id: claims.tenantId, user_id: 'ada', role: 'member' });
    const cookie = String(answer.headers['set-cookie']);
    const maxAge = Number(
      /^sluice_session=[\w-]{43}; Path=\/; Max-Age=(\d+); HttpOnly; SameSite=Lax$/.exec(cookie)?.[1],
    );
    expect(maxAge).toBe(answer.json().expires_in_seconds);
    expect(maxAge).toBeGreaterThan(500);
    expect(maxAge).toBeLessThanOrEqual(600);
    const me = await server.app.inject({ url: '/api/me', headers: sentFrom(answer) });
    expect(me.json()).toMatchObject({ via: 'session', user_id: 'ada', role: 'member' });
    const [row] = await database.owner<{ left: number }>(
      `select extract(epoch from expires_at - now())::float8 as left from sessions where tenant_id = $1`,
      [claims.tenantId],
    );
    expect(row?.left).toBeLessThanOrEqual(600);
  });

  test('valid for two days gives a session of 12 hours', async () => {
    const answer = await paste(await server.token({ tenantId: 'paste-long', lifetimeSeconds: 172_800 }));
    expect(answer.json().expires_in_seconds).toBe(43_200);
  });

  test('may be an API key, and the session ends when the key is revoked', async () => {
    const headers = await server.bearer({ tenantId: `paste-key-${newId()}` });
    const payload = { name: 'console', role: 'member' };
    const made = await server.app.inject({ method: 'POST', url: '/api/api-keys', headers, payload });
    const sent = sentFrom(await paste(made.json().key));
    const me = await server.app.inject({ url: '/api/me', headers: sent });
    expect(me.json()).toMatchObject({
      via: 'session',
      role: 'member',
      user_id: `api_key:${made.json().key_id}`,
    });
    const users = await server.app.inject({ url: '/api/users', headers });
    expect(users.json().data.map(({ user_id }: { user_id: string }) => user_id)).toEqual(['a-user']);
    await server.app.inject({ method: 'DELETE', url: `/api/api-keys/${made.json().key_id}`, headers });
    expect((await server.app.inject({ url: '/api/me', headers: sent })).json().code).toBe('invalid_session');
  });

  test.each(['x', `slk_${'A'.repeat(43)}`, 'a.b.c'])(
    'that is not valid (%s) is refused with 401 and no cookie',
    async (token) => {
      const answer = await paste(token);
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect(answer.body).not.toContain(token.length > 5 ? token : 'nothing');
    },
  );

  test('is refused when another site sends it: no page elsewhere can log anybody in', async () => {
    const token = await server.token({ tenantId: 'paste-foreign' });
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'http://evil.example' },
      { origin: 'null' },
    ];
    for (const headers of foreign) {
      const answer = await paste(token, headers);
      expect([headers, answer.statusCode, answer.json().code]).toEqual([headers, 403, 'cross_site_request']);
    }
    expect((await paste(token, { 'sec-fetch-site': 'same-origin' })).statusCode).toBe(201);
  });
});

describe('after the login', () => {
  const goTo = async (to: string) => {
    const tenantId = await newTenant(database);
    const code = await createLoginLink(database.db, { tenantId, userId: 'ada', role: 'admin' });
    const answer = await server.app.inject({ url: `/login?code=${code}&to=${encodeURIComponent(to)}` });
    return answer.headers.location;
  };

  test.each([
    ['/jobs?status=failed', '/jobs?status=failed'],
    ['/items/new#top', '/items/new#top'],
    ['//evil.example/', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/%09/evil.example', '/%09/evil.example'],
    ['/.//evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['jobs', '/'],
    ['', '/'],
  ])('the requested page (%j) leads to %j and never to another server', async (to, location) => {
    expect(await goTo(to)).toBe(location);
  });

  test('a refused link keeps the requested page', async () => {
    const url = '/login?code=nothing&to=%2Fjobs';
    const person = await server.app.inject({ url, headers: { accept: 'text/html' } });
    expect(person.headers.location).toBe('/login?refused=link&to=%2Fjobs');
  });

  test('without a code a browser gets the console’s page and a program is told what is missing', async () => {
    const page = await server.app.inject({ url: '/login', headers: { accept: 'text/html' } });
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect((await server.app.inject({ url: '/login' })).statusCode).toBe(400);
  });
});

describe('health', () => {
  test('live says that the process responds; ready follows the checks, with 503 when one fails', async () => {
    const live = await server.app.inject({ url: '/health/live' });
    expect(live.json()).toEqual({ status: 'ok', version: '0.0.0-test' });
    expect((await server.app.inject({ url: '/health/ready' })).statusCode).toBe(200);
    health.ready = false;
    const down = await server.app.inject({ url: '/health/ready' });
    health.ready = true;
    expect(down.statusCode).toBe(503);
    expect(down.json()).toEqual({ status: 'not_ready', checks: { database: { state: 'failed' } } });
  });
});

describe('metrics', () => {
  test('without a token are for this machine and for operators', async () => {
    const local = await fetch(`${server.url}/metrics`);
    expect(local.status).toBe(200);
    expect(await local.text()).toMatch(
      /sluice_http_request_duration_seconds_count\{[^}]*route="\/health\/live"/,
    );
    const forwarded = { 'x-forwarded-for': '203.0.113.9' };
    expect((await fetch(`${server.url}/metrics`, { headers: forwarded })).status).toBe(401);
    const remoteAddress = '203.0.113.9';
    expect((await server.app.inject({ url: '/metrics', remoteAddress })).statusCode).toBe(401);
    const admin = await server.bearer({ tenantId: 'm' });
    expect((await server.app.inject({ url: '/metrics', remoteAddress, headers: admin })).statusCode).toBe(
      403,
    );
    const operator = await server.bearer({ tenantId: 'm', role: 'operator' });
    expect((await server.app.inject({ url: '/metrics', remoteAddress, headers: operator })).statusCode).toBe(
      200,
    );
  });

  test.each(['via', 'x-real-ip', 'x-forwarded-host'])('are closed to a proxy that adds %s', async (name) => {
    const reply = await fetch(`${server.url}/metrics`, { headers: { [name]: '203.0.113.9' } });
    expect(reply.status).toBe(401);
  });

  test('count requests by route pattern, never by path', async () => {
    const headers = await server.bearer({ tenantId: 'm' });
    await server.app.inject({ url: '/api/tenants/some-particular-id', headers });
    await server.app.inject({ url: '/some-particular-path' });
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toContain('route="/api/tenants/:tenant_id",status="404"');
    expect(text).not.toContain('some-particular');
  });
});

describe('every response', () => {
  test.each(['/', '/api/me', '/nothing', '/api/docs', '/login'])(
    'from %s has the security headers',
    async (url) => {
      const { headers } = await server.app.inject({ url });
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining(
          "default-src 'self'; script-src 'self'; style-src 'self'",
        ),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['strict-transport-security']).toBeUndefined();
      if (url.startsWith('/api')) expect(headers['cache-control']).toBe('no-store');
    },
  );

  test('the pages keep to their own policy: no inline script or style', async () => {
    for (const url of ['/', '/api/docs']) {
      const page = await server.app.inject({ url });
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.body).not.toMatch(/<script(?![^>]*src=)|<style|style=|\son\w+=/);
      expect(page.body).not.toMatch(/(?:src|href|action)="?(?:https?:)?\/\//);
    }
    for (const url of ['/api/docs/page.css', '/docs/errors.md', '/docs/roles.md', '/api/openapi.json']) {
      expect((await server.app.inject({ url })).statusCode).toBe(200);
    }
  });
});
