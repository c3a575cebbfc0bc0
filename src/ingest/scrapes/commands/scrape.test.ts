import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { serveWebSite } from '../../../../test/support/fakes/site.ts';
import {
  type CommandResult,
  type Running,
  useCommandLine,
} from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';

// Some of the commands are processes of their own, and the embedder is the one that comes with Sluice.
vi.setConfig({ testTimeout: 120_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 50 };
let server: Running | undefined;
let url = '';

beforeAll(async () => {
  server = sluice.start(['serve'], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    // The web site of the test is on this machine.
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  });
  url = await vi.waitFor(() => {
    const found = /running at (\S+)/.exec(server?.stdout() ?? '')?.[1] ?? '';
    expect(found, server?.stderr()).not.toBe('');
    return found;
  }, patience);
}, 90_000);

afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.ended;
});

async function token(tenantId: string): Promise<string> {
  return mintToken(testTokens, { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 });
}

async function run(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.run(args, { SLUICE_URL: url, SLUICE_TOKEN: await token(tenantId) });
}

async function runHere(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.runHere(args, { SLUICE_URL: url, SLUICE_TOKEN: await token(tenantId) });
}

async function ask(tenantId: string, route: string, method = 'GET'): Promise<Response> {
  return fetch(`${url}${route}`, { method, headers: { authorization: `Bearer ${await token(tenantId)}` } });
}

async function lines(name: string, references: object[]): Promise<string> {
  const file = path.join(sluice.cwd, name);
  await writeFile(file, references.map((reference) => JSON.stringify(reference)).join('\n'));
  return file;
}

const reference = (name: string, content: string) => ({
  external_id: name,
  url: `https://example.com/${name}`,
  title: name,
  content,
});

async function statuses(tenantId: string, source: string): Promise<string[]> {
  const answer = await ask(tenantId, `/api/scraping/${source}/handoffs`);
  const { data } = (await answer.json()) as { data: { status: string }[] };
  return data.map(({ status }) => status);
}

test('references from a file are handed over by a server that runs, and are found', async () => {
  const tenantId = await newTenant(database);
  const file = await lines('refs.ndjson', [
    reference('herons', 'Herons stand in shallow water and wait for fish.'),
    reference('locks', 'A lock lifts boats from one level of a canal to the next.'),
  ]);
  const pushed = await run(tenantId, 'scrape', 'birds', '--file', file, '--kb', 'nature');
  expect(pushed).toMatchObject({ code: 0 });
  expect(pushed.stdout).toMatch(/^RUN +STATUS +PERSISTED +NEW +CHANGED +QUEUED +COMPLETED +FAILED +SKIPPED/);
  expect(pushed.stdout).toMatch(/completed +2 +2 +0 +2 +0 +0 +0/);
  await vi.waitFor(
    async () => expect(await statuses(tenantId, 'birds')).toEqual(['completed', 'completed']),
    patience,
  );
  const found = await runHere(tenantId, 'search', 'which bird waits for fish?', '--kb', 'nature', '--json');
  expect(found.stdout).toContain('https://example.com/herons');
  const again = await runHere(tenantId, 'scrape', 'birds', '--file', file, '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({
    data: [{ handoff_queued_count: 0, handoff_skipped_count: 2 }],
  });
});

test('a site is crawled and followed to the end', async () => {
  const tenantId = await newTenant(database);
  const site = await serveWebSite({
    '/': { title: 'Home', links: ['/one', '/two'] },
    '/one': { title: 'One' },
  });
  const crawled = await runHere(tenantId, 'scrape', 'site', '--crawl', site.url, '--kb', 'pages', '--json');
  expect(JSON.parse(crawled.stdout)).toMatchObject({
    status: 'completed',
    references_persisted: 2,
    is_complete: true,
  });
  expect(crawled.code).toBe(0);
  site.pages.set('/one', { status: 403 });
  expect((await runHere(tenantId, 'scrape', 'site')).code, 'a page failed').toBe(3);
  for (const name of ['/', '/one']) site.pages.set(name, { status: 403 });
  const failed = await runHere(tenantId, 'scrape', 'site');
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain('Nothing could be read');
});

test('hand-offs that fail are told, and end with 3', async () => {
  const tenantId = await newTenant(database);
  const file = await lines('one.ndjson', [reference('a', 'A text.')]);
  const made = await runHere(tenantId, 'scrape', 'birds', '--kb', 'nature');
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('There are no references.') });
  expect((await ask(tenantId, '/api/knowledge/nature', 'DELETE')).status).toBe(204);
  const pushed = await runHere(tenantId, 'scrape', 'birds', '--file', file);
  expect(pushed.code).toBe(3);
  expect(pushed.stderr).toContain('1 hand-offs failed');
});

test('wrong usage ends with 2 and says what is allowed', async () => {
  const tenantId = await newTenant(database);
  const wrong = await lines('wrong.ndjson', [{}]);
  await writeFile(wrong, '{"external_id": "a"}\nno json');
  for (const [args, text] of [
    [['--file', 'no-such.ndjson', '--kb', 'nature'], 'There is no file no-such.ndjson'],
    [['--file', wrong, '--kb', 'nature'], 'Line 2 is no JSON'],
    [['--file', wrong, '--crawl', 'https://example.com'], 'not both'],
    [['--crawl', 'https://example.com'], '--crawl needs --kb'],
    [['--kind', 'feed'], 'give both'],
  ] as const) {
    const refused = await runHere(tenantId, 'scrape', 'birds', ...args);
    expect(refused.code, refused.stderr).toBe(2);
    expect(refused.stderr).toContain(text);
  }
  const missing = await runHere(tenantId, 'scrape', 'no-such');
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('There is no scrape source no-such');
});

test('the server stays ready without hand-offs, and has them again when they are back', async () => {
  const tenantId = await newTenant(database);
  const file = await lines('down.ndjson', [reference('a', 'A text.')]);
  const owner = { DATABASE_URL: database.ownerUrl };
  expect(await sluice.runHere(['migrate', 'down', 'handoffs'], owner)).toMatchObject({ code: 0 });
  const pushed = await runHere(tenantId, 'scrape', 'birds', '--file', file, '--kb', 'nature');
  expect(pushed).toMatchObject({ code: 0, stderr: expect.stringContaining('Hand-offs are disabled') });
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  expect((await ask(tenantId, '/api/scraping/birds/handoffs')).status).toBe(503);
  expect(await sluice.runHere(['migrate', 'up', '--feature', 'handoffs'], owner)).toMatchObject({ code: 0 });
  expect((await runHere(tenantId, 'scrape', 'birds', '--file', file)).code).toBe(0);
  await vi.waitFor(async () => expect(await statuses(tenantId, 'birds')).toEqual(['completed']), patience);
});

test('a push that is refused leaves neither a source nor a knowledge base behind', async () => {
  const tenantId = await newTenant(database);
  const file = await lines('refused.ndjson', [{ external_id: 'no-content', url: 'https://example.com/x' }]);
  const refused = await runHere(tenantId, 'scrape', 'unlucky', '--file', file, '--kb', 'unlucky');
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('content');
  expect((await ask(tenantId, '/api/scraping/sources/unlucky')).status).toBe(404);
  expect((await ask(tenantId, '/api/knowledge/unlucky')).status).toBe(404);
});

test('a file that is no JSON leaves nothing behind', async () => {
  const tenantId = await newTenant(database);
  const file = path.join(sluice.cwd, 'no.json');
  await writeFile(file, 'no JSON');
  const refused = await runHere(tenantId, 'scrape', 'unread', '--file', file, '--kb', 'unread');
  expect(refused.code).not.toBe(0);
  expect((await ask(tenantId, '/api/scraping/sources/unread')).status).toBe(404);
  expect((await ask(tenantId, '/api/knowledge/unread')).status).toBe(404);
});

test('the help says what a reference looks like', async () => {
  const { stdout } = await runHere('anybody', 'scrape', '--help');
  for (const field of ['external_id', 'url', 'title', 'content', 'metadata'])
    expect(stdout).toContain(`"${field}"`);
});
