import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
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
const patience = { timeout: 30_000, interval: 25 };
const closedPort = 'http://127.0.0.1:1';
let server: Running | undefined;
let url = '';

async function serve(): Promise<string> {
  server = sluice.start(['serve'], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    // The web site of the test is on this machine.
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  });
  return vi.waitFor(() => {
    const found = /running at (\S+)/.exec(server?.stdout() ?? '')?.[1] ?? '';
    expect(found, server?.stderr()).not.toBe('');
    return found;
  }, patience);
}

beforeAll(async () => {
  url = await serve();
}, 90_000);

afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.ended;
});

beforeEach(async () => {
  await rm(path.join(sluice.cwd, 'docs'), { recursive: true, force: true });
});

async function as(tenantId: string, at = url): Promise<Record<string, string>> {
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  return { SLUICE_URL: at, SLUICE_TOKEN: await mintToken(testTokens, claims) };
}

async function run(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.run(args, await as(tenantId));
}

async function runHere(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.runHere(args, await as(tenantId));
}

async function put(name: string, text: string): Promise<void> {
  const file = path.join(sluice.cwd, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

const coffee = '# Coffee machine\n\n## Cleaning\n\nRinse the brewing unit every week with lukewarm water.\n';
const train = 'The night train to Vienna leaves at ten in the evening from platform four.\n';

test('a folder is indexed, searched by meaning, and sent again only where it changed', async () => {
  const tenantId = await newTenant(database);
  await put('docs/coffee.md', coffee);
  await put('docs/sub/train.txt', train);
  await put('docs/.hidden.md', 'not this');
  await put('docs/picture.bin', 'nor this');
  const first = await run(tenantId, 'index', 'docs', '--kb', 'my manual');
  expect(first.code, first.stderr).toBe(0);
  const [head, row] = first.stdout.trim().split('\n');
  expect(head).toMatch(/^RUN +STATUS +DOCS +UNCHANGED +EMPTY +FAILED +CHUNKS +EMBEDDED +SKIPPED$/);
  expect(row).toMatch(/^[0-9a-f-]{36} +completed +2 +0 +0 +0 /);
  expect(first.stderr).toContain('Created the knowledge base my manual.');
  expect(first.stderr).toContain('2 files sent, 0 unchanged.');
  const found = await run(tenantId, 'search', 'departure of the sleeper to Austria', '--kb', 'my manual');
  expect(found.code, found.stderr).toBe(0);
  expect(found.stdout).toMatch(
    /^\d\.\d{3} {2}train {2}\(file:sub\/train\.txt\)\n {2}The night train to Vienna/,
  );
  await put('docs/coffee.md', coffee.replace('week', 'month'));
  const second = await runHere(tenantId, 'index', 'docs', '--kb', 'my manual', '--json');
  expect(second.stderr).toContain('1 files sent, 1 unchanged.');
  expect(JSON.parse(second.stdout)).toMatchObject({
    kb_id: 'my manual',
    status: 'completed',
    counters: { docs_seen: 2, docs_unchanged: 1 },
  });
  const flags = ['--kb', 'my manual', '--mode', 'text', '--limit', '1', '--json'];
  const json = await runHere(tenantId, 'search', 'rinse the brewing unit', ...flags);
  expect(JSON.parse(json.stdout)).toMatchObject({
    results: [{ heading_path: ['Coffee machine', 'Cleaning'], document: { uri: 'file:coffee.md' } }],
  });
  expect(json.stdout).toContain('every month');
});

test('a document goes when its file has gone from the folder, unless it is to be kept', async () => {
  const tenantId = await newTenant(database);
  await put('docs/coffee.md', coffee);
  await put('docs/sub/train.txt', train);
  await put('others/bread.md', 'Bread is baked at six in the morning.\n');
  const index = (place: string, ...flags: string[]) =>
    runHere(tenantId, 'index', place, '--kb', 'home', ...flags);
  const names = async () => {
    const rows = await database.owner<{ uri: string }>(
      `select d.uri from knowledge_documents d where d.tenant_id = $1 order by d.uri`,
      [tenantId],
    );
    return rows.map(({ uri }) => uri);
  };
  expect((await index('docs')).code).toBe(0);
  expect((await index('others')).code).toBe(0);
  expect(await names()).toEqual(['file:bread.md', 'file:coffee.md', 'file:sub/train.txt']);
  await rm(path.join(sluice.cwd, 'docs/sub'), { recursive: true });
  const kept = await index('docs', '--keep-missing');
  expect(kept.stderr).toContain('1 files are gone from docs; their documents are kept.');
  expect(await names()).toHaveLength(3);
  // Under another name it is the same place.
  const gone = await index('./docs/');
  expect(gone.code, gone.stderr).toBe(0);
  expect(gone.stderr).toContain('0 files sent, 1 unchanged.');
  expect(gone.stderr).toContain('1 files are gone from ./docs/, and so are their documents.');
  expect(await names()).toEqual(['file:bread.md', 'file:coffee.md']);
});

test('documents that fail end with 3, and each is named with its reason', async () => {
  const tenantId = await newTenant(database);
  await put('docs/good.md', coffee);
  await put('docs/bad.pdf', '%PDF-1.7 is all that is right with it');
  const done = await runHere(tenantId, 'index', 'docs', '--kb', 'mixed');
  expect(done.code, done.stderr).toBe(3);
  expect(done.stdout).toMatch(/ completed +2 +0 +0 +1 /);
  expect(done.stderr).toMatch(/^file:bad\.pdf: \w+ \w+/m);
});

test('a web site is crawled, and is one source however often it is indexed', async () => {
  const site = await serveWebSite({
    '/': { title: 'Start', links: ['/trains'] },
    '/trains': {
      title: 'Trains',
      text: `${train} It has beds and a dining car. Breakfast is served at seven.`,
    },
  });
  const tenantId = await newTenant(database);
  const first = await runHere(tenantId, 'index', `${site.url}/`, '--kb', 'site');
  expect(first.code, first.stderr).toBe(0);
  expect(first.stdout).toMatch(/ completed +2 /);
  const found = await runHere(tenantId, 'search', 'is there breakfast', '--kb', 'site', '--limit', '1');
  expect(found.stdout).toContain(`${site.url}/trains`);
  expect((await runHere(tenantId, 'index', `${site.url}/`, '--kb', 'site')).code).toBe(0);
  const sources = await database.owner<{ type: string }>(
    'select type from knowledge_sources where tenant_id = $1 order by type',
    [tenantId],
  );
  expect(sources.map(({ type }) => type)).toEqual(['files', 'website']);
  await database.owner(
    `update knowledge_sources set settings = settings || '{"max_pages": 1}' where tenant_id = $1 and type = 'website'`,
    [tenantId],
  );
  const cut = await runHere(tenantId, 'index', `${site.url}/`, '--kb', 'site');
  expect(cut.code, 'the site has more than was read').toBe(3);
  expect(cut.stderr).toMatch(/Not everything was read: .*more pages than the limit of this crawl, 1/);
});

test('--watch no does not wait, and a run that is followed goes on when the command is interrupted', async () => {
  const site = await serveWebSite({ '/': { hangs: true } });
  const tenantId = await newTenant(database);
  const index = ['index', `${site.url}/`, '--kb', 'slow'];
  const started = await runHere(tenantId, ...index, '--watch', 'no');
  expect(started.code, started.stderr).toBe(0);
  expect(started.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  const jobId = started.stdout.trim();
  const followed = sluice.start(index, await as(tenantId));
  await expect.poll(() => followed.stderr(), patience).toContain('Another run is under way');
  followed.child.kill('SIGINT');
  expect(await followed.ended).toMatchObject({ code: 130, stdout: '' });
  const statuses = 'select job_id, status from ingestion_jobs where tenant_id = $1';
  await expect
    .poll(() => database.owner(statuses, [tenantId]), patience)
    .toEqual([{ job_id: jobId, status: 'running' }]);
});

test.each([
  ['index', 'docs'],
  ['index', 'nowhere', '--kb', 'one'],
  ['index', 'docs', '--kb', ''],
  ['index', 'docs/nothing', '--kb', 'one'],
  ['index', 'https://', '--kb', 'one'],
  ['index', 'docs', '--kb', 'one', '--watch', 'perhaps'],
  ['search', 'words'],
  ['search', 'words', '--kb', 'one', '--mode', 'guess'],
  ['search', 'words', '--kb', 'one', '--limit', '51'],
])('%s %s … is wrong usage: it ends with 2 and says what is allowed', async (...args) => {
  await put('docs/coffee.md', coffee);
  await put('docs/nothing/picture.bin', '');
  const result = await sluice.runHere(args, await as('nobody', closedPort));
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toMatch(/allowed|required/i);
});

test('a server that is not there ends with 5, a wrong token with 4, an unknown knowledge base with 1', async () => {
  await put('docs/coffee.md', coffee);
  const tenantId = await newTenant(database);
  const index = ['index', 'docs', '--kb', 'one'];
  const search = ['search', 'words', '--kb', 'one'];
  for (const args of [index, search]) {
    expect(await sluice.runHere(args, await as('nobody', closedPort))).toMatchObject({ code: 5, stdout: '' });
    const stranger = { SLUICE_URL: url, SLUICE_TOKEN: 'not-a-token-of-anybody' };
    expect(await sluice.runHere(args, stranger)).toMatchObject({ code: 4, stdout: '' });
  }
  const unknown = await runHere(tenantId, ...search);
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
  expect(unknown.stderr).toContain('(knowledge_base_not_found)');
});

test('questions with known answers are scored, and a wrong line is named', async () => {
  const tenantId = await newTenant(database);
  const docs = path.join(sluice.cwd, 'docs');
  await mkdir(docs, { recursive: true });
  await writeFile(path.join(docs, 'pump.md'), '# Pump\n\nThe pump is oiled every week.\n');
  await writeFile(path.join(docs, 'bread.md'), '# Bread\n\nBread needs yeast and time.\n');
  expect((await run(tenantId, 'index', 'docs', '--kb', 'eval')).code).toBe(0);
  const questions = path.join(docs, 'questions.jsonl');
  await writeFile(questions, '{"query": "how often is the pump oiled", "relevant": ["file:pump.md"]}\n');
  const scored = await run(tenantId, 'knowledge', 'eval', questions, '--kb', 'eval', '--k', '1');
  expect(scored.stdout).toContain('1 questions, hybrid, generation 1');
  expect(scored.stdout).toMatch(/recall@1\s+1\.000/);
  expect(scored.stdout).toMatch(/nDCG@1\s+1\.000/);
  await writeFile(questions, '{"query": "x", "relevant": ["y"]}\nnot json\n');
  const refused = await run(tenantId, 'knowledge', 'eval', questions, '--kb', 'eval');
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('Line 2');
});
