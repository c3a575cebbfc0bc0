import { describe, expect, test } from 'vitest';
import { type Action, can } from '../../src/kernel/tenancy/rights.ts';
import { roles } from '../../src/kernel/tenancy/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { useServer } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { badTokens } from './bad-tokens.ts';

// What a token may do; that bad ones are refused by every route is in isolation.test.ts.
const database = useDatabase();
const server = useServer(database);

function protectedRoutes() {
  return server.app.registeredRoutes.filter((route) => route.action !== null);
}

/** A path of the route with an id that does not exist. */
function pathOf(url: string): string {
  return url.replaceAll(/:\w+/g, newId());
}

function send({ method, url }: { method: string; url: string }, headers: Record<string, string>) {
  return server.app.inject({ method: method as 'GET', url: pathOf(url), headers });
}

describe('every route that is not public', () => {
  test('returns 403 to a role without the right, and something else to a role with it', async () => {
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

test.each(Object.keys(badTokens))('%s does not create the tenant that it names', async (name) => {
  const token = (await badTokens[name]?.({ tenantId: 'a-tenant', userId: 'a-user' })) ?? null;
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  expect((await send({ method: 'GET', url: '/api/me' }, headers)).statusCode).toBe(401);
  expect(await database.owner('select tenant_id from tenants where tenant_id = $1', ['a-tenant'])).toEqual(
    [],
  );
});
