import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { useServer } from '../../test/support/servers/server.ts';
import { useDatabase } from '../../test/support/worlds/database.ts';
import { problems } from '../kernel/http/replies.ts';
import type { RouteModule } from '../kernel/http/route.ts';

const faultyRoutes: RouteModule = (app) => {
  app.route({
    method: 'POST',
    url: '/api/test/strict',
    config: { action: 'job.read' },
    schema: {
      querystring: z.strictObject({ wanted: z.string().optional() }),
      body: z.strictObject({
        name: z.string().min(2),
        nested: z.strictObject({ count: z.int() }).optional(),
        list: z.array(z.strictObject({ id: z.int() })).optional(),
      }),
      response: { 200: z.object({ ok: z.literal(true) }), ...problems() },
    },
    handler: async () => ({ ok: true as const }),
  });
  app.route({
    method: 'GET',
    url: '/api/test/bug',
    config: { action: 'job.read' },
    schema: { response: { 200: z.object({ ok: z.literal(true) }), ...problems() } },
    handler: async () => {
      throw new Error('secret internals: password=hunter2');
    },
  });
  app.route({
    method: 'GET',
    url: '/api/test/wrong-reply',
    config: { action: 'job.read' },
    schema: { response: { 200: z.object({ ok: z.literal(true) }), ...problems() } },
    handler: async () => ({ ok: 'secret internals' }) as unknown as { ok: true },
  });
};

const database = useDatabase();
const server = useServer(database, { routes: [faultyRoutes] });

interface Request {
  method?: 'GET' | 'POST' | 'PUT';
  url?: string;
  headers?: Record<string, string>;
  payload?: string | object;
}

async function send(request: Request) {
  const headers = { ...(await server.bearer({ tenantId: 'problems' })), ...request.headers };
  return server.app.inject({ method: 'POST', url: '/api/test/strict', ...request, headers });
}

/** Everything that the server sends in response to these bytes before it closes the connection. */
function sendBytes(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let heard = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      heard += text;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.write(bytes);
  });
}

const json = { 'content-type': 'application/json' };

describe('a problem document', () => {
  test.each<[string, number, string, Request]>([
    ['a body that is not JSON', 400, 'malformed_body', { payload: '{"a":', headers: json }],
    [
      'a body that is not UTF-8',
      400,
      'malformed_body',
      { payload: Buffer.from('{"name":"caf\xe9"}', 'latin1'), headers: json },
    ],
    [
      'a body that tries prototype pollution',
      400,
      'malformed_body',
      { payload: '{"__proto__":{}}', headers: json },
    ],
    [
      'a body of another media type',
      415,
      'unsupported_media_type',
      { payload: 'x', headers: { 'content-type': 'text/plain' } },
    ],
    [
      'a body without a media type',
      415,
      'unsupported_media_type',
      { payload: 'x', headers: { 'content-type': '' } },
    ],
    ['a body that is too large', 413, 'body_too_large', { payload: { name: 'x'.repeat(70_000) } }],
    ['a body of the wrong form', 400, 'malformed_request', { payload: { name: 7 } }],
    ['no body where one is needed', 400, 'malformed_request', { headers: json }],
    ['an unknown route', 404, 'route_not_found', { url: '/api/nothing', method: 'GET' }],
    ['a method that a route does not have', 404, 'route_not_found', { url: '/api/me', method: 'PUT' }],
    ['a path that cannot be decoded', 400, 'malformed_url', { url: '/api/tenants/%zz', method: 'GET' }],
    ['a bug', 500, 'internal_error', { url: '/api/test/bug', method: 'GET' }],
    [
      'a reply that breaks its own schema',
      500,
      'internal_error',
      { url: '/api/test/wrong-reply', method: 'GET' },
    ],
  ])('a problem document for %s is %i %s', async (_what, status, code, request) => {
    const answer = await send(request);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    const problem = answer.json();
    expect(problem).toMatchObject({
      status,
      code,
      type: `/docs/errors.md#${code}`,
      request_id: answer.headers['x-request-id'],
    });
    expect(answer.statusCode).toBe(status);
    for (const member of ['title', 'detail', 'instance']) expect(typeof problem[member]).toBe('string');
    expect(answer.body).not.toContain('secret internals');
  });

  test.each<[string, Request, { pointer: string; message: string }]>([
    [
      'the limit of the route',
      { payload: { name: 'x'.repeat(70_000) } },
      { pointer: '/body', message: 'must not have more than 65536 bytes' },
    ],
    [
      'the media types of the route',
      { payload: 'x', headers: { 'content-type': 'text/plain' } },
      { pointer: '/headers/content-type', message: 'must be one of application/json' },
    ],
  ])('names %s', async (_what, request, field) => {
    expect((await send(request)).json()).toMatchObject({ errors: [field] });
  });

  test.each([
    ['what is not HTTP', 'NONSENSE\r\n\r\n', 'HTTP/1.1 400 ', 'malformed_http'],
    [
      'too large headers',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      'HTTP/1.1 431 ',
      'headers_too_large',
    ],
  ])('is sent for %s, which never becomes a request', async (_what, bytes, line, code) => {
    const answer = await sendBytes(bytes);
    expect(answer.startsWith(line)).toBe(true);
    expect(answer).toContain('content-type: application/problem+json');
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code, instance: '/' });
  });

  test('points at every wrong place and says what is allowed there', async () => {
    const payload = {
      name: 'x',
      extra: 1,
      nested: { count: 1.5, more: 1 },
      list: [{ id: 1 }, { id: 1, odd: 1 }],
    };
    const { errors } = (await send({ payload })).json();
    const byPointer = Object.fromEntries(
      errors.map(({ pointer, message }: { pointer: string; message: string }) => [pointer, message]),
    );
    expect(Object.keys(byPointer).sort()).toEqual([
      '/body',
      '/body/list/1',
      '/body/name',
      '/body/nested',
      '/body/nested/count',
    ]);
    expect(byPointer['/body']).toMatch(/"extra".*allowed: name, nested, list/);
    expect(byPointer['/body/nested']).toMatch(/"more".*allowed: count/);
    expect(byPointer['/body/list/1']).toMatch(/"odd".*allowed: id/);
  });

  test('refuses unknown query parameters, also where a route takes none', async () => {
    const strict = await send({ url: '/api/test/strict?other=1', payload: { name: 'ok' } });
    expect(strict.json().errors).toEqual([
      { pointer: '/query', message: expect.stringMatching(/"other".*allowed: wanted/) },
    ]);
    const none = await send({ url: '/api/me?other=1', method: 'GET' });
    expect(none.json().errors[0].message).toMatch(/allowed: no query parameters/);
  });

  test('does not repeat the query, which may hold a login code', async () => {
    const answer = await server.app.inject({ url: `/login?code=${'A'.repeat(43)}` });
    expect(answer.json()).toMatchObject({ code: 'login_link_refused', instance: '/login' });
    expect(answer.body).not.toContain('AAAA');
  });

  test('carries the caller’s request id when it has a safe form, and a new one otherwise', async () => {
    const given = await send({ url: '/api/nothing', headers: { 'x-request-id': 'trace-1234.a_b' } });
    expect(given.json().request_id).toBe('trace-1234.a_b');
    const unsafe = await send({ url: '/api/nothing', headers: { 'x-request-id': 'a b\tc<script>' } });
    expect(unsafe.json().request_id).toMatch(/^[0-9a-f-]{36}$/);
  });
});
