import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { useServer } from '../../../test/support/servers/server.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';

const script = `export const answer = ${'42 + '.repeat(400)}0;`;
const built = mkdtempSync(path.join(tmpdir(), 'sluice-console-'));
const page = `<!doctype html>
<html><head>
    <meta name="csp-nonce" content="__CSP_NONCE__" />
    <title>Sluice</title></head><body></body></html>`;
const write = (name: string, content: string | Buffer) => {
  mkdirSync(path.dirname(path.join(built, name)), { recursive: true });
  writeFileSync(path.join(built, name), content);
};
write('index.html', page);
write('assets/main-1a2b.js', script);
write('assets/main-1a2b.js.br', brotliCompressSync(script));
write('assets/main-1a2b.js.gz', gzipSync(script));
write('assets/small-3c.css', 'b{}');
write('favicon.svg', '<svg/>');
write('.building-x/assets/half.js', 'half');
write('notes.secret', 'nobody’s');
afterAll(() => rmSync(built, { recursive: true, force: true }));

const database = useDatabase();
const server = useServer(database, { consoleDir: built, routes: [] });
const unbuilt = useServer(database, { consoleDir: path.join(built, 'nothing-here'), routes: [] });
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const nonceOf = (text: string) => /<meta name="csp-nonce" content="([\w-]{22})">/.exec(text)?.[1];

describe('the console’s page', () => {
  test.each(['/', '/jobs', '/jobs/0197?tab=rows', '/knowledge/new', '/a/view/of/a/newer/console'])(
    'is what a browser gets at %s',
    async (url) => {
      const answer = await server.app.inject({ url, headers: html });
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(answer.body).toContain('<title>Sluice</title>');
      expect(answer.headers['cache-control']).toBe('no-cache');
    },
  );

  test.each(['/api/none', '/api', '/health/none', '/docs/none.md', '/assets/gone-9z.js', '/metrics/none'])(
    'is not what a browser gets at %s',
    async (url) => {
      const answer = await server.app.inject({ url, headers: html });
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'route_not_found']);
    },
  );

  test('is not sent to a program that asks for another media type', async () => {
    for (const accept of ['application/json', '*/*', undefined]) {
      const answer = await server.app.inject({ url: '/jobs', headers: accept ? { accept } : {} });
      expect(answer.statusCode).toBe(404);
    }
    expect((await server.app.inject({ method: 'POST', url: '/jobs', headers: html })).statusCode).toBe(404);
  });

  test('has a new nonce each time, which the policy allows for styles only', async () => {
    const [first, second] = [await server.app.inject('/'), await server.app.inject('/')];
    const nonce = nonceOf(first.body);
    expect(nonce).toBeDefined();
    expect(nonceOf(second.body)).not.toBe(nonce);
    const policy = String(first.headers['content-security-policy']);
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}';`);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy.match(/nonce-/g)).toHaveLength(1);
    expect(policy).not.toContain('unsafe');
    expect(first.body.match(/csp-nonce/g)).toHaveLength(1);
  });

  test('stays valid in a browser’s cache, with the policy of the cached nonce', async () => {
    const first = await server.app.inject('/');
    const known = { 'if-none-match': String(first.headers.etag) };
    const again = await server.app.inject({ url: '/jobs', headers: { ...html, ...known } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect(again.headers['content-security-policy']).toContain(`'nonce-${nonceOf(first.body)}'`);
  });

  test.each(['"x"', `"${'A'.repeat(22)}.${'B'.repeat(22)}"`, `"'; script-src *"`, '*'])(
    'is sent in full to a client that sends the unknown ETag %s',
    async (known) => {
      const answer = await server.app.inject({ url: '/', headers: { 'if-none-match': known } });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-security-policy']).toContain(`'nonce-${nonceOf(answer.body)}'`);
    },
  );
});

describe('a file of the console', () => {
  test.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['identity', undefined, (content: Buffer) => content],
  ])('is sent to a client that accepts %s as %s, cacheable for ever', async (accepted, encoding, decode) => {
    const headers = { 'accept-encoding': accepted };
    const answer = await server.app.inject({ url: '/assets/main-1a2b.js', headers });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(decode(answer.rawPayload).toString()).toBe(script);
  });

  test('without a hash in its name is revalidated, and not sent again when unchanged', async () => {
    const first = await server.app.inject('/favicon.svg');
    expect(first.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' });
    const headers = { 'if-none-match': String(first.headers.etag) };
    expect((await server.app.inject({ url: '/favicon.svg', headers })).statusCode).toBe(304);
  });

  test.each([
    '/assets/../index.html',
    '/assets/%2e%2e/notes.secret',
    '/notes.secret',
    '/index.html',
    '/assets/main-1a2b.js.br',
    '/.building-x/assets/half.js',
    '/assets//main-1a2b.js',
    '/../../package.json',
    '/..%2f..%2fpackage.json',
  ])('is served only if the build made it for browsers: %s is refused', async (url) => {
    expect((await server.app.inject({ url })).statusCode).toBe(404);
  });
});

test('a server without a built console says in its page how to build it', async () => {
  const answer = await unbuilt.app.inject('/');
  expect([answer.statusCode, answer.body]).toEqual([
    200,
    expect.stringContaining('<code>npm run build</code>'),
  ]);
  expect((await unbuilt.app.inject({ url: '/jobs', headers: html })).body).toContain('npm run build');
});
