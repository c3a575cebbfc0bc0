import { request } from 'node:http';
import { hostname } from 'node:os';
import { afterAll, describe, expect, test } from 'vitest';
import { type Role, roles } from '../../src/kernel/tenancy/types.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { Tally } from './tally.ts';

// What a started server tells to whom: metrics through a proxy, names of machines, look-alike tenants.
const database = useDatabase();
const server = useServerProcess(database, {});
const tally = new Tally('Edges of a started server', 120);

afterAll(() => expect(tally.report()).toBeGreaterThanOrEqual(tally.quota));

/** `fetch` does not let a caller set Host. */
function get(path: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { headers }, async (response) => {
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece as Buffer);
      resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() });
    });
    sent.on('error', reject).end();
  });
}

describe('/metrics from this machine', () => {
  test.each(['localhost', 'localhost:7400', 'LOCALHOST', '127.0.0.1', '127.8.9.1:80', '[::1]', '[::1]:7400'])(
    'is open to the host %s',
    async (host) => tally.equal((await get('/metrics', { host })).status, 200),
  );

  test.each([
    'sluice.example.com',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '127.0.0.256x',
    '128.0.0.1',
    '10.0.0.1:7400',
    '[::2]',
    'localhost:7400@evil.example',
    'sluice',
  ])('needs a token for the host %j', async (host) => {
    const { status, text } = await get('/metrics', { host });
    tally.equal(status, 401);
    tally.ok(!text.includes('sluice_'), 'metrics were shown');
  });

  test.each([
    ['via', '1.1 proxy'],
    ['forwarded', 'for=192.0.2.1'],
    ['x-forwarded-for', '192.0.2.1'],
    ['x-forwarded-host', 'sluice.example.com'],
    ['x-forwarded-proto', 'https'],
    ['x-forwarded-port', '443'],
    ['x-forwarded-server', 'proxy'],
    ['x-real-ip', '192.0.2.1'],
    ['x-client-ip', '192.0.2.1'],
    ['x-cluster-client-ip', '192.0.2.1'],
    ['x-original-forwarded-for', '192.0.2.1'],
    ['x-original-host', 'sluice.example.com'],
    ['true-client-ip', '192.0.2.1'],
    ['cf-connecting-ip', '192.0.2.1'],
    ['fastly-client-ip', '192.0.2.1'],
    ['x-envoy-external-address', '192.0.2.1'],
    ['x-amzn-trace-id', 'Root=1-2-3'],
  ])('needs a token when a proxy has added %s', async (name, value) => {
    const { status, text } = await get('/metrics', { host: 'localhost', [name]: value });
    tally.equal({ name, status }, { name, status: 401 });
    tally.ok(!text.includes('sluice_'), 'metrics were shown');
  });
});

describe('the names of machines', () => {
  const readAs = async (role: Role, path: string) => {
    const { authorization } = await server.bearer({ tenantId: 'names', userId: role, role });
    const reply = await fetch(`${server.url}${path}`, { headers: { authorization } });
    const text = await reply.text();
    return { status: reply.status, text, data: (JSON.parse(text).data ?? []) as Record<string, unknown>[] };
  };

  test.each(roles)('are shown to administrators only, as %s', async (role) => {
    const mayKnow = role === 'admin' || role === 'operator';
    await eventually(
      async () => (await readAs('operator', '/api/stats/workers')).data.length > 0,
      'there is a worker',
    );
    const workers = await readAs(role, '/api/stats/workers');
    tally.equal(workers.status, 200);
    tally.ok(workers.data.length > 0, 'no worker is listed');
    for (const { name, worker_id: id } of workers.data) {
      tally.equal(String(name).includes(hostname()), mayKnow);
      tally.ok(String(id).length === 36, 'a worker has no id');
    }
    const upkeep = await readAs(role, '/api/stats/upkeep');
    tally.equal(upkeep.status, 200);
    for (const { last_result: result, last_error: error } of mayKnow ? [] : upkeep.data) {
      tally.equal({ result, error }, { result: null, error: null });
    }
    const status = JSON.parse((await readAs(role, '/api/connectors/status')).text);
    tally.equal(status.base_url !== null, mayKnow);
    for (const path of ['/api/stats/overview', '/api/stats/jobs', '/api/jobs', '/api/me']) {
      tally.equal(
        { path, leaks: (await readAs(role, path)).text.includes(hostname()) },
        { path, leaks: false },
      );
    }
  });
});

describe('a tenant id', () => {
  const lookalikes = {
    'a space before': ' acme',
    'a space behind': 'acme ',
    'a no-break space behind': 'acme\u00a0',
    'a no-break space inside': 'ac\u00a0me',
    'an ideographic space inside': 'ac\u3000me',
    'a tab behind': 'acme\t',
    'a line break behind': 'acme\n',
    'a zero-width space': 'ac\u200bme',
    'a zero-width joiner': 'ac\u200dme',
    'a zero-width non-joiner': 'ac\u200cme',
    'a byte order mark': '\ufeffacme',
    'a soft hyphen': 'ac\u00adme',
    'a word joiner': 'acme\u2060',
    'a right-to-left override': 'ac\u202eme',
    'a left-to-right mark': 'acme\u200e',
    'a bidi isolate': '\u2066acme\u2069',
    'an Arabic letter mark': 'acme\u061c',
    'a variation selector': 'acme\ufe0f',
    'a tag character': 'acme\u{e0061}',
    'a combining grapheme joiner': 'ac\u034fme',
    'a Hangul filler': 'acme\u3164',
    'a line separator': 'ac\u2028me',
    'letters that are not composed': 'cafe\u0301',
    'a control character': 'ac\u0085me',
  };

  test.each(Object.entries(lookalikes))(
    'with %s is refused in a token and as a new tenant',
    async (_what, id) => {
      const headers = await server.bearer({ tenantId: id, role: 'member' });
      const reply = await fetch(`${server.url}/api/me`, { headers });
      const { code } = (await reply.json()) as { code?: string };
      tally.equal(reply.status, 401);
      tally.ok(code === 'tenant_id_refused' || code === 'invalid_token', `the code is ${code}`);
      const made = await fetch(`${server.url}/api/tenants`, {
        method: 'POST',
        headers: {
          ...(await server.bearer({ tenantId: 'acme', role: 'operator' })),
          'content-type': 'application/json',
        },
        body: JSON.stringify({ tenant_id: id }),
      });
      const problem = (await made.json()) as { errors?: { pointer: string }[] };
      tally.equal(
        { status: made.status, pointer: problem.errors?.[0]?.pointer },
        { status: 400, pointer: '/body/tenant_id' },
      );
      const rows = await database.owner('select 1 from tenants where tenant_id = $1', [id]);
      tally.equal(rows.length, 0);
    },
  );

  test.each(['acme', 'Acme GmbH & Co', 'a/b?c#d', 'caf\u00e9', '東京', '\u{1f701}', 'o\u2019hara'])(
    'such as %s is welcome',
    async (tenantId) => {
      const reply = await fetch(`${server.url}/api/me`, { headers: await server.bearer({ tenantId }) });
      tally.equal(reply.status, 200);
    },
  );

  test('of a tenant that exists already keeps working', async () => {
    await database.owner(`insert into tenants (tenant_id, name, plan) values ('old ', 'Old', 'free')`);
    const reply = await fetch(`${server.url}/api/me`, { headers: await server.bearer({ tenantId: 'old ' }) });
    tally.equal(reply.status, 200);
  });
});
