import { generateKeyPairSync } from 'node:crypto';
import { exportSPKI, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { type Action, can } from '../../src/kernel/tenancy/rights.ts';
import { roles } from '../../src/kernel/tenancy/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { useDatabase } from '../database.ts';
import { testTokens, useServer } from '../server.ts';

const database = useDatabase();
const server = useServer(database);
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

interface Parts {
  claims?: Record<string, unknown>;
  issuer?: string;
  audience?: string;
  expiresInSeconds?: number;
  secret?: string | Uint8Array;
}

function sign(parts: Parts): Promise<string> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const secret = parts.secret ?? testTokens.secret;
  const key = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  return new SignJWT(parts.claims ?? { tenant_id: 'a-tenant', role: 'operator' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('a-user')
    .setIssuer(parts.issuer ?? testTokens.issuer)
    .setAudience(parts.audience ?? testTokens.audience)
    .setExpirationTime(nowSeconds + (parts.expiresInSeconds ?? 600))
    .sign(key);
}

function unsigned(): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = {
    sub: 'a-user',
    tenant_id: 'a-tenant',
    role: 'operator',
    iss: 'sluice',
    aud: 'sluice',
    exp,
  };
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`;
}

const badTokens: Record<string, () => Promise<string | null>> = {
  'no token': async () => null,
  'an expired token': () => sign({ expiresInSeconds: -60 }),
  'an unsigned token (alg none)': async () => unsigned(),
  'a token signed with another key': () => sign({ secret: 'some other secret, also long enough' }),
  'a token for another audience': () => sign({ audience: 'somebody-else' }),
  'a token of another issuer': () => sign({ issuer: 'somebody-else' }),
  'a token without tenant_id': () => sign({ claims: { role: 'operator' } }),
  'an RS256 token, though no keys are configured': () =>
    new SignJWT({ tenant_id: 'a-tenant', role: 'operator' })
      .setProtectedHeader({ alg: 'RS256' })
      .setSubject('a-user')
      .setIssuer('sluice')
      .setAudience('sluice')
      .setExpirationTime('10m')
      .sign(privateKey),
  'an HS256 token signed with a public key as secret': async () =>
    sign({ secret: new TextEncoder().encode(await exportSPKI(publicKey)) }),
  'an unknown API key': async () => `slk_${'A'.repeat(43)}`,
  'a broken API key': async () => 'slk_short',
  'no token at all behind Bearer': async () => 'QQQQ',
};

function protectedRoutes() {
  return server.app.registeredRoutes.filter((route) => route.action !== null);
}

/** A path of the route that names nothing which exists. */
function pathOf(url: string): string {
  return url.replaceAll(/:\w+/g, newId());
}

function send({ method, url }: { method: string; url: string }, headers: Record<string, string>) {
  return server.app.inject({ method: method as 'GET', url: pathOf(url), headers });
}

describe('every route that is not public', () => {
  test.each(Object.keys(badTokens))('answers 401 to %s, before it looks at anything else', async (name) => {
    const token = await badTokens[name]?.();
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const routes = protectedRoutes();
    expect(routes.length).toBeGreaterThan(15);
    for (const route of routes) {
      const answer = await send(route, headers as Record<string, string>);
      const label = `${route.method} ${route.url}`;
      expect({ label, status: answer.statusCode }).toEqual({ label, status: 401 });
      expect(answer.headers['content-type']).toContain('application/problem+json');
      if (token && answer.body.length > 0) expect(answer.body).not.toContain(token);
    }
    expect(await database.owner('select tenant_id from tenants where tenant_id = $1', ['a-tenant'])).toEqual(
      [],
    );
  });

  test('answers 403 to a role without the right, and something else to a role with it', async () => {
    for (const role of roles) {
      const headers = await server.bearer({ tenantId: `matrix-${role}`, role, userId: `the ${role}` });
      for (const route of protectedRoutes()) {
        const answer = await send(route, headers);
        const label = `${role}: ${route.method} ${route.url}`;
        const forbidden = answer.statusCode === 403;
        expect({ label, forbidden }).toEqual({ label, forbidden: !can(role, route.action as Action) });
      }
    }
  });

  test('decides on role before body: a forbidden request with a broken body is 403, not 400', async () => {
    const headers = await server.bearer({ tenantId: 'matrix-member', role: 'member' });
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/workspaces',
      headers: { ...headers, 'content-type': 'application/json' },
      payload: '{broken',
    });
    expect(answer.statusCode).toBe(403);
  });
});

test('the only public routes are the ones that are meant to be', () => {
  const open = server.app.registeredRoutes.filter((route) => route.action === null && route.method === 'GET');
  expect(open.map((route) => route.url).sort()).toEqual([
    '/',
    '/api/docs',
    '/api/openapi.json',
    '/assets/page.css',
    '/assets/page.js',
    '/docs/errors.md',
    '/docs/roles.md',
    '/health/live',
    '/health/ready',
    '/login',
    '/metrics',
  ]);
});
