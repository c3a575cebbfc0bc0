import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Action, can, rolesAllowed } from '../../src/kernel/tenancy/rights.ts';
import { type Role, roles } from '../../src/kernel/tenancy/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { useServer } from '../support/servers/server.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { badTokens } from './bad-tokens.ts';
import { pathOf } from './path-of.ts';
import { type Told, useProduct } from './product.ts';
import { publicRoutes } from './public-routes.ts';
import { exampleOf, readRoutes } from './request-schemas.ts';
import { Tally } from './tally.ts';
import { TenantTables } from './tenant-tables.ts';
import { canary, canaryShape, makeVictim, type Victim, victimsConnection, victimsKb } from './victim.ts';

// Every route of the product against one tenant who has one of everything, by everybody who may not see it. Tables
// by themselves are in row-level-security.test.ts.
const root = path.join(import.meta.dirname, '../..');
const database = useDatabase();
/** Airbyte is configured, but nothing listens there. */
const airbyte = { AIRBYTE_BASE_URL: 'http://127.0.0.1:1/v1', AIRBYTE_API_TOKEN: 'a-token-of-the-tests' };
const product = useProduct(database, { ...airbyte, AIRBYTE_WORKSPACE_ID: 'a-workspace' });
/** Only for its table of routes, which the product's own server does not expose. */
const server = useServer(database);
const tables = new TenantTables(database.ownerUrl);
const tally = new Tally('isolation of routes', 1_000);
let victim: Victim;
let ownJob = '';
/** The lists whose cursor was passed on to somebody else. */
const cursors: string[] = [];

interface Route {
  method: string;
  url: string;
  action: Action;
}

const described = new Map((await readRoutes()).map((route) => [`${route.method} ${route.url}`, route]));
const nameOf = ({ method, url }: { method: string; url: string }) => `${method} ${url}`;

beforeAll(async () => {
  await tables.open();
  victim = await makeVictim(product, database);
  // Something visible, so that a list that shows nothing to anybody does not count as closed.
  const form = new FormData();
  form.set('file', new Blob(['sku\n1\n']), 'own.csv');
  const { body } = await product.ask(intruderAs('admin'), { method: 'POST', path: '/api/jobs', body: form });
  ownJob = String(body.jobId);
}, 180_000);

afterAll(() => tables.close());

function intruderAs(role: Role) {
  return { tenantId: `intruders-${role}`, role, userId: 'the-intruder' };
}

/** What somebody of another tenant may well do there, and why that is no leak. */
const openByDesign: Record<string, { roles: readonly Role[]; why: string }> = {
  'PUT /api/secrets/:name': { roles, why: 'names are each tenant’s own: it makes a secret of the caller’s' },
  'PUT /api/items/templates/:name': { roles, why: 'names are each tenant’s own: it makes the caller’s' },
  'PUT /api/catalogs/:name': { roles, why: 'names are each tenant’s own: it makes one of the caller’s' },
  'PUT /api/uploads/platforms/:name': { roles, why: 'names are each tenant’s own: it makes the caller’s' },
  'PUT /api/providers/:host': {
    roles,
    why: 'hosts are everybody’s: it sets the limits of the caller’s own calls',
  },
  'PUT /api/airbyte-servers/:server': {
    roles,
    why: 'names are each tenant’s own: it makes a server of the caller’s',
  },
  'PUT /api/ingestion/adapters/:name': {
    roles,
    why: 'names are each tenant’s own: it makes an adapter of the caller’s',
  },
  'PUT /api/scraping/sources/:source': {
    roles,
    why: 'names are each tenant’s own: it makes a source of the caller’s, if the knowledge base is the caller’s',
  },
  'GET /api/tenants': { roles: ['operator'], why: 'operators see all tenants' },
  'HEAD /api/tenants': { roles: ['operator'], why: 'operators see all tenants' },
  'GET /api/tenants/:tenant_id': { roles: ['operator'], why: 'operators see all tenants' },
  'HEAD /api/tenants/:tenant_id': { roles: ['operator'], why: 'operators see all tenants' },
  'PATCH /api/tenants/:tenant_id': { roles: ['operator'], why: 'operators manage all tenants' },
  'DELETE /api/tenants/:tenant_id': { roles: ['operator'], why: 'operators erase tenants' },
  'GET /api/demo': { roles: ['operator'], why: 'the demo is the operator’s' },
  'HEAD /api/demo': { roles: ['operator'], why: 'the demo is the operator’s' },
  'POST /api/demo': { roles: ['operator'], why: 'the demo is the operator’s, in a tenant of its own' },
  'DELETE /api/demo': { roles: ['operator'], why: 'the demo is the operator’s' },
  'POST /api/worker/cycle': { roles: ['operator'], why: 'operators drive the jobs of all tenants' },
  'GET /api/connections': { roles: ['operator'], why: 'the connections of the workspace are the operator’s' },
  'HEAD /api/connections': {
    roles: ['operator'],
    why: 'the connections of the workspace are the operator’s',
  },
  'POST /api/connectors/import': { roles: ['operator'], why: 'operators give connections to tenants' },
  'GET /api/events/stream': { roles, why: 'never ends; it has a test of its own below' },
};

/** Reads first, then deletes except tenants, then creates, so that each thing exists when it is needed. */
function byTurn(one: Route, other: Route): number {
  const turnOf = ({ method, url }: Route) =>
    ['HEAD', 'GET', 'PATCH', 'POST', 'DELETE', 'PUT'].indexOf(method) +
    (url.startsWith('/api/tenants') ? 10 : 0);
  return turnOf(one) - turnOf(other);
}

function protectedRoutes(): Route[] {
  return server.app.registeredRoutes.filter((route): route is Route => route.action !== null);
}

const bodyOf = (route: Route): unknown => {
  const schema = described.get(nameOf(route))?.body;
  return schema ? (bodies[nameOf(route)] ?? exampleOf(schema)) : undefined;
};
/** Where the smallest body would be refused for its own sake, or where a body can name something of the victim's. */
const bodies: Record<string, unknown> = {
  'PATCH /api/tenants/:tenant_id': { name: 'taken over' },
  'PATCH /api/users/:user_id': { disabled: false },
  'PATCH /api/jobs/:job_id/items/:item_id': { input: { sku: 'taken over' } },
  'PUT /api/scraping/sources/:source': { mode: 'push', kb_id: victimsKb },
  // Refused for its own sake: a server of the intruder's own would prove nothing.
  'PUT /api/airbyte-servers/:server': { base_url: 'https://127.0.0.1/v1', auth: 'token', secret: 'x' },
  'PUT /api/providers/:host': { rate_per_second: -1 },
  'PUT /api/items/templates/:name': { processor: 'no-such-processor' },
  'POST /api/connectors': {
    name: 'taken over',
    airbyte_connection_id: victimsConnection,
    external_account_id: 'an account',
  },
};

const realPath = ({ url }: Route) => pathOf(url, (place) => victim.things.get(place));

/** Shaped like real ids, but of nothing. */
function nobodysPath({ url }: Route): string {
  return pathOf(url, (place) => {
    const real = victim.things.get(place) ?? '';
    if (/^\d+$/.test(real)) return '999999999999';
    return /^[0-9a-f]{8}-/.test(real) ? newId() : `nobody${real.replace(canaryShape, '_x')}`;
  });
}

/** No response may contain anything of the victim except what the caller sent itself. */
function leakIn(text: string, said: readonly string[]): string | null {
  const own = [...victim.things.values()].filter((value) => value.length > 8);
  let heard = text;
  for (const one of said.flatMap((part) => [part, encodeURIComponent(part)])) {
    if (one !== '') heard = heard.replaceAll(one, '');
  }
  return canaryShape.exec(heard)?.[0] ?? own.find((value) => heard.includes(value)) ?? null;
}

/** What a request to the route says itself: the ids in its path, and what its body names. */
function saidIn(route: Route): string[] {
  const ids = [...victim.things].filter(([place]) => route.url.includes(place.split('/').at(-1) ?? ''));
  const named = route.url.startsWith('/api/scraping/sources/') ? [victimsKb] : [];
  return [...ids.map(([, id]) => id), ...named, victimsConnection];
}

describe('the table of routes', () => {
  test('has no public route except the intended ones', () => {
    const isDocPage = (url: string) => url.startsWith('/docs/') && existsSync(path.join(root, url));
    const open = server.app.registeredRoutes.filter(({ action, url }) => action === null && !isDocPage(url));
    expect([...new Set(open.map(({ url }) => url))].sort()).toEqual(Object.keys(publicRoutes).sort());
  });

  test('equals the routes in openapi.json', async () => {
    const { text } = await product.ask(null, { path: '/api/openapi.json' });
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, object>> };
    const live = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(live.sort()).toEqual([...described.keys()].sort());
    const known = new Set(server.app.registeredRoutes.map(nameOf));
    expect(live.filter((name) => !known.has(name))).toEqual([]);
    const isHead = ({ method }: Route) => method === 'HEAD';
    const hidden = protectedRoutes().filter((route) => !isHead(route) && !described.has(nameOf(route)));
    expect(hidden).toEqual([]);
  });

  test('names only kinds of things of which the victim has a real one', () => {
    for (const route of protectedRoutes()) expect(realPath(route)).not.toContain(':');
    for (const name of Object.keys(openByDesign)) expect(protectedRoutes().map(nameOf)).toContain(name);
  });
});

/** Tables in which no tenant can have a row yet, and why. */
const emptyTables: Record<string, string> = {
  own_slots: 'held only while a pipeline of the user’s own runs, and this installation has none',
};

test('the victim has rows in every tenant table, so any change would show', async () => {
  const before = await tables.fingerprint(victim.tenantId);
  const empty = Object.entries(before).filter(([, { rows }]) => rows === 0);
  expect(empty.map(([name]) => name).sort()).toEqual(Object.keys(emptyTables).sort());
});

describe('without a good token every route that is not public', () => {
  test.each(Object.keys(badTokens))('returns 401 to %s, shows nothing and changes nothing', async (name) => {
    const token = (await badTokens[name]?.(victim)) ?? null;
    const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
    const before = await tables.fingerprint(victim.tenantId);
    for (const route of protectedRoutes()) {
      const { method } = route;
      const told = await product.ask(null, { method, path: realPath(route), body: bodyOf(route), headers });
      const label = nameOf(route);
      tally.equal({ label, status: told.status }, { label, status: 401 });
      tally.equal({ label, type: told.type }, { label, type: 'application/problem+json; charset=utf-8' });
      tally.equal({ label, echoed: token !== null && told.text.includes(token) }, { label, echoed: false });
      tally.equal({ label, leak: leakIn(told.text, saidIn(route)) }, { label, leak: null });
    }
    expect(await tables.fingerprint(victim.tenantId)).toEqual(before);
  });
});

/** The response without what differs from request to request. */
function comparable(told: Told, ids: readonly string[]): string {
  const text = told.text.replace(/"request_id":"[^"]*"/, '');
  return ids.reduce((rest, id) => rest.replaceAll(id, 'ID').replaceAll(encodeURIComponent(id), 'ID'), text);
}

const idsIn = (path: string, route: Route) =>
  path
    .split('/')
    .flatMap((part, at) => (route.url.split('/')[at]?.startsWith(':') ? [decodeURIComponent(part)] : []));

describe('somebody of another tenant', () => {
  test.each(roles)(
    'reaches nothing as %s with the ids of the victim, on any route',
    { timeout: 180_000 },
    async (role) => {
      for (const route of protectedRoutes().toSorted(byTurn)) {
        const label = `${role}: ${nameOf(route)}`;
        const exempt = openByDesign[nameOf(route)]?.roles.includes(role) ?? false;
        if (exempt && route.method !== 'PUT') continue;
        const before = await tables.fingerprint(victim.tenantId);
        const { method } = route;
        const [path, nobodys] = [realPath(route), nobodysPath(route)];
        const told = await product.ask(intruderAs(role), { method, path, body: bodyOf(route) });
        tally.equal({ label, leak: leakIn(told.text, saidIn(route)) }, { label, leak: null });
        if (path === nobodys) {
          const isAllowed = can(role, route.action);
          tally.equal({ label, isRefused: told.status === 403 }, { label, isRefused: !isAllowed });
        } else {
          const allowed = exempt ? [403, 204, 400, 422] : [403, 404];
          tally.ok(allowed.includes(told.status), `${label} answered ${told.status} ${told.text}`);
          // The response does not reveal whether an id belongs to another tenant or to nobody.
          const unknown = await product.ask(intruderAs(role), { method, path: nobodys, body: bodyOf(route) });
          tally.equal(
            { label, status: told.status, text: comparable(told, idsIn(path, route)) },
            { label, status: unknown.status, text: comparable(unknown, idsIn(nobodys, route)) },
          );
        }
        const after = await tables.fingerprint(victim.tenantId);
        tally.equal({ label, after }, { label, after: before });
      }
    },
  );

  test('finds nothing of the victim by any filter or cursor of a list', { timeout: 180_000 }, async () => {
    for (const route of protectedRoutes().filter(({ method }) => method === 'GET')) {
      if (openByDesign[nameOf(route)] && route.url.endsWith('/stream')) continue;
      for (const { name } of described.get(nameOf(route))?.query ?? []) {
        const value = await victimsValue(name, route);
        if (value === null) continue;
        const role = rolesAllowed(route.action).find((one) => one !== 'operator') ?? 'admin';
        const path = `${realPath(route)}?${name}=${encodeURIComponent(value)}`;
        const told = await product.ask(intruderAs(role), { path });
        const label = `${nameOf(route)}?${name}`;
        // 410: a position in the victim's log is none in the own one.
        tally.ok([200, 400, 404, 410].includes(told.status), `${label} answered ${told.status} ${told.text}`);
        tally.equal({ label, leak: leakIn(told.text, [value, ...saidIn(route)]) }, { label, leak: null });
      }
    }
    const lists = ['workspaces', 'users', 'jobs', 'uploads', 'events'].map(
      (name) => `GET /api/${name}?cursor`,
    );
    expect(cursors).toEqual(expect.arrayContaining([...lists, 'GET /api/pending?after']));
  });

  test('cannot put anything into a workspace of the victim', async () => {
    const before = await tables.fingerprint(victim.tenantId);
    const workspaceId = victim.things.get('/api/workspaces/:workspace_id') ?? '';
    for (const role of roles.filter((one) => can(one, 'upload.create'))) {
      const body = uploadForm('Campaign ID,Day,Clicks\n1,2026-03-01,7\n', { workspace_id: workspaceId });
      const told = await product.ask(intruderAs(role), { method: 'POST', path: '/api/uploads', body });
      tally.ok(told.status >= 400 && told.status < 500, `${role} was answered ${told.status} ${told.text}`);
      tally.equal(leakIn(told.text, [workspaceId]), null);
    }
    expect(await tables.fingerprint(victim.tenantId)).toEqual(before);
  });

  test('gets only its own events on the live stream', async () => {
    const stop = new AbortController();
    const headers = await product.bearer(intruderAs('admin'));
    const { body } = await fetch(`${product.url}/api/events/stream?after=0-0`, {
      headers,
      signal: stop.signal,
    });
    let heard = '';
    // Events come in the order in which they were written, and the victim's came first.
    for await (const piece of body ?? []) {
      heard += Buffer.from(piece).toString();
      if (heard.includes(ownJob)) break;
    }
    stop.abort();
    tally.ok(heard.includes(ownJob), 'the stream shows what is the intruder’s own');
    tally.equal(leakIn(heard, []), null);
  });
});

/** What each filter would have to be to find something of the victim's; null where it names nothing of anybody. */
const filters: Record<string, () => string | null | Promise<string>> = {
  workspace_id: () => victim.things.get('/api/workspaces/:workspace_id') ?? '',
  jobId: () => victim.things.get('/api/jobs/:job_id') ?? '',
  subjectId: () => victim.things.get('/api/jobs/:job_id') ?? '',
  connector_id: () => victim.things.get('/api/connectors/:connector_id') ?? '',
  subject: () => victim.things.get('/api/jobs/:job_id') ?? '',
  userId: () => victim.userId,
  scrape_run_id: () => victim.things.get('/api/scraping/:source/runs/:scrape_run_id') ?? '',
  error_code: () => canary,
  input: () => canary,
  upload_id: () => victim.things.get('/api/uploads/:upload_id') ?? '',
  filename: () => canary,
  campaign: () => canary,
  q: () => canary,
  campaign_id: () => firstId('campaign'),
  ad_set_id: () => firstId('ad_set'),
  ad_id: () => firstId('ad'),
  client_id: () => victim.things.get('/api/workspaces/:workspace_id') ?? '',
};
const plainFilters = (
  'limit status statuses pipeline page pageSize sort jobType updatedFrom updatedTo platform validation_status ' +
  'entity_type from to type state offset fromRow around order before errorCode kind level currency range group_by ' +
  'filter format line minAttempts'
).split(' ');

/** An id that the victim's own list shows. */
async function firstId(entity: 'campaign' | 'ad_set' | 'ad'): Promise<string> {
  const { body } = await product.ask(victim.claims(), { path: `/api/${entity.replace('_', '-')}s?limit=1` });
  const [first] = body.data as [Record<string, string>];
  return first[`${entity}_id`] ?? '';
}

async function victimsValue(name: string, route: Route): Promise<string | null> {
  if (plainFilters.includes(name)) return null;
  if (name === 'cursor' || name === 'after') return cursorOf(route, name);
  const filter = filters[name];
  if (!filter) {
    throw new Error(
      `${nameOf(route)}?${name}: add the filter to filters, or to plainFilters if it names nothing.`,
    );
  }
  return filter();
}

/** Where the victim's own first page ends; null when it has no second one. */
async function cursorOf(route: Route, name: string): Promise<string | null> {
  const size = described.get(nameOf(route))?.query.some((one) => one.name === 'limit') ? 'limit' : 'pageSize';
  const { body } = await product.ask(victim.claims(), { path: `${realPath(route)}?${size}=1` });
  const [first] = (body.data ?? []) as { id?: string }[];
  const isEventId = name === 'after' && size === 'limit';
  const cursor = isEventId ? first?.id : (body.next_cursor ?? body.nextCursor);
  if (typeof cursor !== 'string') return null;
  cursors.push(`${nameOf(route)}?${name}`);
  return cursor;
}

test('the victim itself reaches every one of these things, so the refusals above prove something', async () => {
  for (const route of protectedRoutes().toSorted(byTurn)) {
    // A stream never ends, and an Airbyte that could list its connections is not there.
    if (route.url.endsWith('/stream') || route.url === '/api/connections') continue;
    // Tasks are the installation's, and this one defines none; test/library has their tenants.
    if (route.url === '/api/tasks/:name') continue;
    const role = can('admin', route.action) ? 'admin' : (rolesAllowed(route.action)[0] as Role);
    const { method } = route;
    const told = await product.ask(victim.claims(role), {
      method,
      path: realPath(route),
      body: bodyOf(route),
    });
    const isReached = told.status < 500 && ![401, 403, 404].includes(told.status);
    tally.ok(isReached, `${nameOf(route)} answered ${told.status} ${told.text} to its owner`);
  }
}, 180_000);

test('the tests above made at least 1,000 assertions', () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
});
