import { expect, test } from 'vitest';
import type { TestClaims } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { name, pair, provider, spellings, value } from './secret-provider.ts';
import { Tally } from './tally.ts';

// Attacks on stored secrets, over HTTP against the built product in a process of its own. Test servers are on this
// machine, so private addresses are open; jobs run when they are driven.
const database = useDatabase();
const server = useServerProcess(database, {
  SLUICE_WORKER: 'false',
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
});

interface Told {
  status: number;
  text: string;
  body: Record<string, unknown>;
}

interface Ask {
  method?: string;
  body?: unknown;
}

async function ask(who: TestClaims, path: string, { method = 'GET', body }: Ask = {}): Promise<Told> {
  const headers: Record<string, string> = await server.bearer(who);
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers['content-type'] = 'application/json';
  const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...sent });
  const text = await answer.text();
  const isJson = (answer.headers.get('content-type') ?? '').includes('json');
  return { status: answer.status, text, body: isJson ? JSON.parse(text) : {} };
}

type People = Record<'admin' | 'member' | 'support' | 'service', TestClaims & { tenantId: string }>;

async function newPeople(): Promise<People> {
  const tenantId = await newTenant(database);
  return {
    admin: { tenantId, role: 'admin', userId: 'user-a' },
    member: { tenantId, role: 'member', userId: 'user-m' },
    support: { tenantId, role: 'support', userId: 'user-s' },
    service: { tenantId, role: 'service', userId: 'user-v' },
  };
}

async function store({ admin }: People, body: object): Promise<void> {
  const told = await ask(admin, `/api/secrets/${name}`, { method: 'PUT', body: { value, ...body } });
  expect(told.status, told.text).toBe(204);
}

type Auth = Record<string, string>;
const bearer: Auth = { type: 'bearer', secret: name };

function jobForm(url: string, { auth = bearer, more = {} }: { auth?: Auth; more?: object } = {}): FormData {
  const form = new FormData();
  form.set('processor', 'http');
  form.set('options', JSON.stringify({ request: { url }, auth, ...more }));
  form.set('file', new Blob(['sku\none\n']), 'rows.csv');
  return form;
}

function createJob(who: TestClaims, url: string, options: Parameters<typeof jobForm>[1] = {}): Promise<Told> {
  return ask(who, '/api/jobs', { method: 'POST', body: jobForm(url, options) });
}

/** Everything that a job shows about its one row, once it has run. */
async function runJob(
  who: TestClaims,
  made: Told,
): Promise<{ item: Record<string, unknown>; shown: string }> {
  expect(made.status, made.text).toBe(201);
  const { jobId } = made.body;
  await ask(who, `/api/jobs/${jobId}/kickoff?durationMs=20000`, { method: 'POST' });
  const places = [`/api/jobs/${jobId}`, `/api/jobs/${jobId}/items`, '/api/events', '/api/pending'];
  const told = await Promise.all(places.map((place) => ask(who, place)));
  const csv = await ask(who, `/api/jobs/${jobId}/export?format=csv`, { method: 'POST' });
  const calls = await database.owner('select error from search_events where job_id = $1', [jobId]);
  const [item] = (told[1]?.body.data ?? []) as Record<string, unknown>[];
  return {
    item: item ?? {},
    shown: [...told, csv].map(({ text }) => text).join('\n') + JSON.stringify(calls),
  };
}

const tally = new Tally('secrets', 650);

/** None of what may not be seen is in the text. */
function assertClean(text: string, where: string): void {
  for (const [what, spelling] of Object.entries(spellings)) {
    tally.ok(!text.includes(spelling), `${where} shows ${what}: ${spelling}`);
  }
}

test('a member cannot send a secret to a server of their own, nor learn whether it exists', async () => {
  const people = await newPeople();
  const own = await provider();
  const vendor = await provider();
  await store(people, { hosts: [vendor.host] });
  for (const { url } of [own, vendor]) {
    const told = await createJob(people.member, url);
    tally.equal({ status: told.status, code: told.body.code }, { status: 403, code: 'secret_not_allowed' });
    const absent = await createJob(people.member, url, { auth: { type: 'bearer', secret: 'no_such_key' } });
    tally.equal(
      absent.text.replaceAll('no_such_key', name).replace(/"request_id":"[^"]*"/, ''),
      told.text.replace(/"request_id":"[^"]*"/, ''),
    );
  }
  tally.equal([...own.seen, ...vendor.seen], []);
});

test('a job that would send a secret to a host it is not for is refused at creation', async () => {
  const people = await newPeople();
  const [own, vendor] = [await provider(), await provider()];
  await store(people, { hosts: [vendor.host], roles: ['member'] });
  const auths: Auth[] = [
    bearer,
    { type: 'header', secret: name, header: 'x-key' },
    { type: 'basic', secret: name, username: 'robot' },
    { type: 'query', secret: name, parameter: 'key' },
  ];
  for (const who of [people.member, people.admin, people.service]) {
    for (const auth of auths) {
      const told = await createJob(who, own.url, { auth });
      tally.equal(
        { status: told.status, code: told.body.code },
        { status: 422, code: 'secret_host_not_allowed' },
      );
      tally.ok(told.text.includes(vendor.host), 'who may use the secret is told its hosts');
      const strategies = [
        { name: 'first', url: vendor.url },
        { name: 'second', url: own.url },
      ];
      const hidden = await createJob(who, vendor.url, { auth, more: { strategies } });
      tally.equal(hidden.status, 422);
    }
  }
  tally.equal([...own.seen, ...vendor.seen], []);
});

test('whatever a provider echoes is scrubbed from results, errors, events, exports and search_events', async () => {
  const echoes = Object.entries(spellings);
  for (const status of [200, 401, 500]) {
    const people = await newPeople();
    const vendor = await provider((_request, response) => {
      response.statusCode = status;
      response.setHeader('content-type', 'application/json');
      const said = Object.fromEntries(echoes);
      response.end(JSON.stringify({ said, [value]: 'as a key', message: `x${value}x`, list: [[value]] }));
    });
    await store(people, { hosts: [vendor.host], roles: ['member'] });
    const made = await createJob(people.member, vendor.url, {
      auth: { type: 'basic', secret: name, username: 'robot' },
    });
    const { item, shown } = await runJob(people.member, made);
    tally.ok(vendor.seen.join().includes(pair), 'the provider itself gets the secret');
    tally.equal(item.status === 'DONE', status === 200);
    assertClean(shown, `a job whose provider returned ${status}`);
    // A result is JSON inside JSON once more in some places: look at its values as well.
    assertClean(JSON.stringify(item.result ?? '') + String(item.lastError), 'the row');
    tally.ok(shown.includes('[redacted]'), 'a person sees that something was removed');
  }
});

test('an error message that ends inside the secret shows no part of it', async () => {
  const people = await newPeople();
  const vendor = await provider((_request, response) => {
    response.statusCode = 400;
    response.end(`${'x'.repeat(190)}${value}`);
  });
  await store(people, { hosts: [vendor.host] });
  const { item } = await runJob(people.admin, await createJob(people.admin, vendor.url));
  tally.equal(item.status, 'ERROR');
  for (let length = 4; length <= 12; length += 1) {
    tally.ok(!String(item.lastError).includes(value.slice(0, length)), `shows ${length} characters`);
  }
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) to another host does not carry the secret',
  async (status) => {
    const people = await newPeople();
    const elsewhere = await provider();
    const targets = {
      plain: elsewhere.url,
      withKey: `${elsewhere.url}?key=${encodeURIComponent(value)}`,
      inPath: `${elsewhere.url}/${Buffer.from(value).toString('base64url')}`,
    };
    for (const [what, location] of Object.entries(targets)) {
      const vendor = await provider((_request, response) => response.writeHead(status, { location }).end());
      await store(people, { hosts: [vendor.host] });
      for (const auth of [bearer, { type: 'query', secret: name, parameter: 'key' }]) {
        const more = { request: { url: vendor.url, method: 'POST', body: { sku: '{{sku}}' } } };
        const { item, shown } = await runJob(
          people.admin,
          await createJob(people.admin, vendor.url, { auth, more }),
        );
        tally.equal(vendor.seen.length > 0, true);
        tally.equal(item.status, what === 'plain' ? 'DONE' : 'ERROR');
        assertClean(shown, `the job after a redirect ${what}`);
      }
    }
    assertClean(elsewhere.seen.join('\n'), 'the other host');
    tally.equal(elsewhere.seen.length, 2);
  },
);

test('work that has begun obeys a secret whose roles or hosts change afterwards', async () => {
  const people = await newPeople();
  const vendor = await provider();
  await store(people, { hosts: [vendor.host], roles: ['member'] });
  const byMember = await createJob(people.member, vendor.url);
  const byAdmin = await createJob(people.admin, vendor.url);
  await store(people, { hosts: ['127.0.0.1:1'], roles: [] });
  const refused = await runJob(people.member, byMember);
  tally.equal([refused.item.status, vendor.seen], ['ERROR', []]);
  const unbound = await runJob(people.admin, byAdmin);
  tally.equal([unbound.item.status, vendor.seen], ['ERROR', []]);
  for (const { item, shown } of [refused, unbound]) {
    tally.ok(!shown.includes(name), 'the reason of a row does not name the secret');
    tally.ok(/secret/.test(String(item.lastError)), 'the reason says that it is about a secret');
  }
});

test('only those who may use a secret see its name', async () => {
  const people = await newPeople();
  await store(people, { hosts: ['api.example.com', 'reports.s3.example.com', 'ftp.example.com'] });
  const embedder = { provider: 'openai', model: 'm', dimensions: 4, api_key_secret: name };
  const kb = { kb_id: 'kb', name: 'One', embedder: { ...embedder, base_url: 'https://api.example.com/v1' } };
  const options = { request: { url: 'https://api.example.com/' }, auth: bearer };
  const target = { kind: 'items', processor: 'http', options };
  const keys = { access_key_id_secret: name, secret_access_key_secret: name };
  const s3 = { kind: 's3', endpoint: 'https://s3.example.com', bucket: 'reports', ...keys, target };
  const ftp = { kind: 'ftp', host: 'ftp.example.com', password_secret: name, target };
  const made = [
    await ask(people.admin, '/api/knowledge', { method: 'POST', body: kb }),
    await ask(people.admin, '/api/ingestion/adapters/one', { method: 'PUT', body: s3 }),
    await ask(people.admin, '/api/ingestion/adapters/two', { method: 'PUT', body: ftp }),
  ];
  for (const told of made) tally.equal([told.status, told.text.includes(name)], [201, true]);
  const places = [
    '/api/knowledge',
    '/api/knowledge/kb',
    '/api/ingestion/adapters',
    '/api/ingestion/adapters/one',
    '/api/ingestion/adapters/two',
    '/api/events',
    '/api/secrets',
  ];
  for (const place of places) {
    for (const who of [people.member, people.support]) {
      const told = await ask(who, place);
      tally.ok(!told.text.includes(name), `${who.role} reads the name in ${place}: ${told.text}`);
    }
    if (place === '/api/events') continue;
    tally.ok(
      (await ask(people.admin, place)).text.includes(name),
      `an admin does not see the name in ${place}`,
    );
  }
  await store(people, {
    hosts: ['api.example.com', 'reports.s3.example.com', 'ftp.example.com'],
    roles: ['member'],
  });
  for (const place of places.filter((each) => each !== '/api/events')) {
    tally.ok(
      (await ask(people.member, place)).text.includes(name),
      `a member who may does not see it in ${place}`,
    );
    tally.ok(!(await ask(people.support, place)).text.includes(name), `support sees it in ${place}`);
  }
});

test('bases and adapters that would send a secret to a host it is not for are refused', async () => {
  const people = await newPeople();
  await store(people, {
    hosts: ['api.example.com:443'],
    uses: ['embedder:openai', 'adapter:s3', 'adapter:ftp'],
  });
  const embedder = { provider: 'openai', model: 'm', dimensions: 4, api_key_secret: name };
  const keys = { access_key_id_secret: name, secret_access_key_secret: name };
  const target = { kind: 'items' };
  const adapter = '/api/ingestion/adapters/one';
  const ftp = { kind: 'ftp', host: 'api.example.com', port: 21, password_secret: name, target };
  const kb = (base_url: string) => ({ name: 'One', embedder: { ...embedder, base_url } });
  const wrong = [
    { path: '/api/knowledge', method: 'POST', body: kb('https://evil.example/v1') },
    { path: '/api/knowledge', method: 'POST', body: kb('https://api.example.com:8443/v1') },
    { path: '/api/knowledge', method: 'POST', body: kb('https://api.example.com.evil.example/v1') },
    // Its bucket is a host of its own.
    {
      path: adapter,
      method: 'PUT',
      body: { kind: 's3', endpoint: 'https://api.example.com', bucket: 'abc', ...keys, target },
    },
    { path: adapter, method: 'PUT', body: ftp },
    { path: adapter, method: 'PUT', body: { ...ftp, host: 'evil.example' } },
  ];
  for (const who of [people.admin, people.service]) {
    for (const { path, ...asked } of wrong) {
      const told = await ask(who, path, asked);
      const isTheirs = who.role === 'admin' || path === '/api/knowledge';
      tally.equal(
        [told.status, told.body.code],
        isTheirs ? [422, 'secret_host_not_allowed'] : [403, 'forbidden'],
      );
    }
  }
  const made = { method: 'POST', body: { kb_id: 'kb', ...kb('https://api.example.com/v1') } };
  tally.equal((await ask(people.admin, '/api/knowledge', made)).status, 201);
  const changed = { method: 'PATCH', body: { embedder: kb('https://evil.example/v1').embedder } };
  tally.equal((await ask(people.admin, '/api/knowledge/kb', changed)).status, 422);
  const other = await createJob(people.admin, 'https://api.example.com/');
  tally.equal([other.status, other.body.code], [422, 'secret_use_not_allowed']);
});

test('what an embedder echoes is scrubbed from the state of its run, and a moved secret stops the run', async () => {
  const people = await newPeople();
  const vendor = await provider((request, response) => {
    response.statusCode = 401;
    const message = `Wrong key ${request.headers.authorization} ${Object.values(spellings).join(' ')}`;
    response.end(JSON.stringify({ error: { message } }));
  });
  await store(people, { hosts: [vendor.host] });
  const base = { provider: 'openai', model: 'm', dimensions: 4, api_key_secret: name };
  const embedder = { ...base, base_url: `http://${vendor.host}/v1` };
  const body = { kb_id: 'kb', name: 'One', embedder, sources: [{ type: 'text', content: 'A text.' }] };
  await ask(people.admin, '/api/knowledge', { method: 'POST', body });
  const run = async () => {
    const started = await ask(people.admin, '/api/ingestion/jobs/kb/start', { method: 'POST' });
    await ask(people.admin, `/api/jobs/${started.body.job_id}/kickoff?durationMs=20000`, { method: 'POST' });
    return ask(people.member, '/api/ingestion/jobs/kb/status');
  };
  const echoed = await run();
  tally.ok(vendor.seen.length > 0, 'the embedder was called');
  tally.ok(
    String(echoed.body.last_error).includes('[redacted]'),
    'the message shows that something was removed',
  );
  assertClean(echoed.text, 'the state of the run');
  const calls = vendor.seen.length;
  await store(people, { hosts: ['api.example.com'] });
  const moved = await run();
  tally.equal(vendor.seen.length, calls);
  tally.ok(/may not be sent/.test(String(moved.body.last_error)), `says why: ${moved.body.last_error}`);
  tally.ok(
    !moved.text.includes(name) && !moved.text.includes('api.example.com'),
    'names neither secret nor hosts',
  );
});

test('checked as much as it should', () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
  expect(server.logs()).not.toContain(value);
});
