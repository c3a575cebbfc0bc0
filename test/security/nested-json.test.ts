import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type FormPart, formBytes, formType } from '../generators/multipart-body.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { Tally } from './tally.ts';

// JSON of brackets, sent to a started server: parsing it would stop everybody else's requests.
const database = useDatabase();
const server = useServerProcess(database, { SLUICE_WORKER: 'false' });
const tally = new Tally('JSON that is nested too deeply', 150);
const claims = { tenantId: 'nested', role: 'operator' } as const;

afterAll(() => expect(tally.report()).toBeGreaterThanOrEqual(tally.quota));

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

interface Operation {
  requestBody?: { content: Record<string, unknown> };
}

/** Every route that takes JSON, from the API's own description. */
const jsonRoutes = Object.entries(
  JSON.parse(readFileSync(path.join(import.meta.dirname, '../../openapi.json'), 'utf8')).paths as Record<
    string,
    Record<string, Operation>
  >,
).flatMap(([url, operations]) =>
  Object.entries(operations)
    .filter(([, { requestBody }]) => requestBody?.content['application/json'] !== undefined)
    .map(([method]) => ({ method: method.toUpperCase(), url: url.replace(/\{\w+\}/g, 'x') })),
);

/** These take a file or JSON, and their description names no schema of a body. */
const eitherRoutes = ['/api/jobs', '/api/uploads'].map((url) => ({ method: 'POST', url }));

async function send(
  { method, url }: { method: string; url: string },
  body: string | Uint8Array<ArrayBuffer>,
  type = 'application/json',
) {
  const headers = { ...(await server.bearer(claims)), 'content-type': type };
  const reply = await fetch(`${server.url}${url}`, { method, headers, body });
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

describe('a JSON body', () => {
  test('has at least 30 routes to go to', () => {
    tally.ok(jsonRoutes.length >= 30, `only ${jsonRoutes.length} routes take JSON`);
  });

  test.each([...jsonRoutes, ...eitherRoutes])('of 65 levels is refused by $method $url', async (route) => {
    const { status, body } = await send(route, nested(65));
    tally.equal(
      { status, code: body.code, depth: body.max_depth, offset: body.byte_offset },
      { status: 400, code: 'json_too_deep', depth: 64, offset: 64 },
    );
    const inObject = await send(route, `{"rows":[{"a":${nested(63)}}]}`);
    tally.equal(inObject.body.code, 'json_too_deep');
    const allowed = await send(route, nested(64));
    tally.ok(allowed.body.code !== 'json_too_deep', `${route.url} refuses 64 levels`);
    tally.ok(allowed.status < 500, `${route.url} fails on 64 levels: ${allowed.status}`);
  });

  test('of 400 KB that is nested as metadata or as a row is refused, and is no server error', async () => {
    const deep = nested(200_000);
    for (const [url, body] of [
      ['/api/catalogs/x/match', `{"rows":[{"a":${deep}}]}`],
      [
        '/api/scraping/x/sync',
        `{"references":[{"external_id":"a","url":"https://a.example","metadata":${deep}}]}`,
      ],
    ] as const) {
      const told = await send({ method: 'POST', url }, body);
      tally.equal({ status: told.status, code: told.body.code }, { status: 400, code: 'json_too_deep' });
    }
  });
});

test('nested bodies delay another tenant no more than flat ones do', async () => {
  const slowestMe = async (body: string) => {
    const headers = await server.bearer({ tenantId: 'neighbour' });
    let isOver = false;
    const attack = Array.from({ length: 4 }, async () => {
      for (let sent = 0; sent < 15; sent += 1) {
        const told = await send({ method: 'POST', url: '/api/catalogs/x/match' }, body);
        tally.ok(told.status >= 400 && told.status < 500, `the attack got ${told.status}`);
      }
    });
    const attacked = Promise.all(attack).finally(() => {
      isOver = true;
    });
    let slowest = 0;
    while (!isOver) {
      const startedAt = performance.now();
      await (await fetch(`${server.url}/api/me`, { headers })).text();
      slowest = Math.max(slowest, performance.now() - startedAt);
    }
    await attacked;
    return slowest;
  };
  const flat = await slowestMe(`{"rows":"${'x'.repeat(1_000_000)}"}`);
  const deep = await slowestMe(`{"rows":${nested(500_000)}}`);
  tally.ok(deep <= 5 * flat + 1_000, `the slowest /api/me took ${deep} ms; beside flat bodies ${flat} ms`);
});

describe('a JSON body that is too large', () => {
  /** Routes that take rows, references, mappings or lists of ids. */
  const dataRoutes = [
    /^POST \/api\/(jobs|uploads|knowledge|connectors\/import)$/,
    /\/(match|reprocess|mappings?|promote|corrections|sources(\/x)?|adapters\/x|items\/x|sync)$/,
    /^PATCH \/api\/knowledge\/x$/,
    /^POST \/api\/knowledge\/x\/evaluations$/,
    /^(PUT \/api\/items\/templates|POST \/api\/tasks)\/x$/,
  ];
  const noData = /^POST \/api\/connectors\/x\/sync$|\/api\/uploads\/sources/;
  const isData = (name: string) => !noData.test(name) && dataRoutes.some((one) => one.test(name));

  test.each([...jsonRoutes, ...eitherRoutes])('is refused by $method $url', async (route) => {
    const name = `${route.method} ${route.url}`;
    const padded = (sizeBytes: number) => `"${'x'.repeat(sizeBytes - 2)}"`;
    const most = name === 'POST /api/session' ? 16 * 1024 : isData(name) ? null : 64 * 1024;
    const large = await send(route, padded((most ?? 1024 * 1024) + 1));
    if (name === 'POST /api/scraping/x/sync')
      tally.ok(large.status < 500, 'sync takes more: it has its own limit');
    else
      tally.equal(
        { name, status: large.status, code: large.body.code },
        { name, status: 413, code: 'body_too_large' },
      );
    const fits = await send(route, padded(most ?? 512 * 1024));
    tally.ok(fits.body.code !== 'body_too_large' && fits.status < 500, `${name} refuses ${most} bytes`);
  });
});

async function sendForm(url: string, parts: readonly FormPart[]) {
  const method = url.startsWith('/api/catalogs') ? 'PUT' : 'POST';
  return send({ method, url }, Buffer.concat([...formBytes(parts)]), formType);
}

describe('JSON inside of a form', () => {
  test.each([
    ['/api/jobs', 'options'],
    ['/api/uploads', 'mapping'],
    ['/api/catalogs/x', 'fields'],
  ])('%s refuses the field %s that is nested too deeply', async (url, field) => {
    for (const type of ['text/plain', 'application/json']) {
      const told = await sendForm(url, [
        {
          name: field,
          content: `{"a":${nested(4_000)}}`,
          ...(type === 'application/json' && { mediaType: type }),
        },
        { name: 'file', fileName: 'a.csv', content: 'a\n1\n' },
      ]);
      tally.ok(told.status >= 400 && told.status < 500, `${url} ${type}: ${told.status}`);
      tally.equal(told.body.code, 'json_too_deep');
    }
  });

  test.each([
    ['an array of rows', `[{"a":${nested(64)}}]`],
    ['lines of rows', `{"a":1}\n{"a":${nested(64)}}\n`],
    ['half a million brackets', `[{"a":${nested(500_000)}}]`],
  ])('a file of items with %s is refused', async (_what, content) => {
    const told = await sendForm('/api/jobs', [{ name: 'file', fileName: 'a.json', content }]);
    tally.equal({ status: told.status, code: told.body.code }, { status: 400, code: 'json_too_deep' });
  });
});
