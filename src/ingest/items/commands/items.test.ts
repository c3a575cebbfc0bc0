import { execFileSync } from 'node:child_process';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type CommandResult,
  type Running,
  useCommandLine,
} from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';
import { refuseTerminal } from './export.ts';

// Some of the commands are processes of their own.
vi.setConfig({ testTimeout: 90_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 30_000, interval: 25 };
const closedPort = 'http://127.0.0.1:1';
let server: Running | undefined;
let url = '';

/** Rows say themselves how they are to end; a file beside the config mends the bug. */
const config = `
import { existsSync } from 'node:fs';
const mended = new URL('mended', import.meta.url);
const moody = {
  name: 'moody',
  processItem: ({ input }, options, { signal }) => {
    if (input.mood === 'waits') {
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ status: 'DONE' })));
    }
    if (input.mood === 'throws' && !existsSync(mended)) throw new TypeError('a bug \\u0000 in the processor');
    if (input.mood === 'garbage') return { status: 'FINE' };
    if (input.mood === 'bigint') return { status: 'DONE', result: { n: 1n } };
    if (input.mood === 'missing') return { status: 'NOT_FOUND', reason: 'nowhere' };
    return { status: 'DONE', result: { mood: input.mood } };
  },
};
export default { processors: [moody] };
`;

beforeAll(async () => {
  await writeFile(path.join(sluice.cwd, 'sluice.config.mjs'), config);
  server = sluice.start(['serve'], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    MAX_ATTEMPTS_ERROR: '1',
    MAX_ATTEMPTS_NOT_FOUND: '1',
  });
  await vi.waitFor(() => {
    url = /running at (\S+)/.exec(server?.stdout() ?? '')?.[1] ?? '';
    expect(url, server?.stderr()).not.toBe('');
  }, patience);
});

afterAll(async () => {
  server?.child.kill('SIGTERM');
  await server?.ended;
});

async function as(tenantId: string, at = url): Promise<Record<string, string>> {
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  return { SLUICE_URL: at, SLUICE_TOKEN: await mintToken(testTokens, claims) };
}

async function run(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.run(['items', ...args], await as(tenantId));
}

async function runHere(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.runHere(['items', ...args], await as(tenantId));
}

async function put(name: string, text: string): Promise<string> {
  await writeFile(path.join(sluice.cwd, name), text);
  return name;
}

const idOf = (stdout: string) => stdout.trim().split('\n')[0] ?? '';

test('a file goes in, is followed to its end, and comes out with the same rows', async () => {
  const tenantId = await newTenant(database);
  const rows = Array.from({ length: 300 }, (_, n) => ({ id: `${n}`, text: `line\n"${n}"`, name: `ä${n}` }));
  const lines = rows.map(({ id, text, name }) => `${id},"${text.replaceAll('"', '""')}",${name}`);
  await put('rows.csv', `id,text,name\n${lines.join('\n')}\n`);
  const imported = await run(tenantId, 'import', 'rows.csv', '--watch');
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
  expect(imported.stderr).toContain('300 rows, 300 done, 0 failed, 0 not found, 0 skipped');
  const jobId = idOf(imported.stdout);
  const written = await run(tenantId, 'export', jobId, '-o', 'out.csv');
  expect(written).toMatchObject({ code: 0, stdout: '' });
  const file = await readFile(path.join(sluice.cwd, 'out.csv'), 'utf8');
  const expected = rows.map((row, index) => ({ row_no: `${index + 1}`, status: 'DONE', ...row }));
  expect(parse(file, { columns: true, bom: true })).toEqual(expected);
  expect((await run(tenantId, 'export', jobId, '--format', 'csv')).stdout).toBe(file);
  const book = await runHere(tenantId, 'export', jobId, '-o', 'out.xlsx', '--json');
  const bytes = await readFile(path.join(sluice.cwd, 'out.xlsx'));
  expect(JSON.parse(book.stdout)).toMatchObject({ jobId, format: 'xlsx', sizeBytes: bytes.length });
  expect(bytes.subarray(0, 2).toString()).toBe('PK');
  const again = await runHere(tenantId, 'import', 'out.xlsx', '--sheet', 'Items', '--watch');
  expect(again.stderr).toContain('300 rows, 300 done');
});

test('several files become several jobs, and options are read from a file', async () => {
  const tenantId = await newTenant(database);
  await put('one.csv', 'sku\na\n');
  await put('two.ndjson', '{"sku":"b"}\n{"sku":""}\n');
  await put('rules.json', '{"rules":[{"column":"sku","required":true}]}');
  const flags = ['--processor', 'validate', '--options', '@rules.json'];
  const imported = await runHere(tenantId, 'import', 'one.csv', 'two.ndjson', ...flags, '--watch', '--json');
  const answers = imported.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers).toMatchObject([
    { jobId: answers[2].jobId },
    { jobId: answers[3].jobId },
    { queueState: 'DONE', totalItems: 1, failedItems: 0 },
    { queueState: 'DONE', totalItems: 2, failedItems: 1, fileName: 'two.ndjson' },
  ]);
  expect(imported.code).toBe(3);
  const [, two, one] = (await runHere(tenantId, 'list')).stdout.split('\n');
  expect(two).toMatch(/ two\.ndjson +partly done +2 of 2 +1 +validate /);
  expect(one).toMatch(/ one\.csv +done +1 of 1 +- +validate /);
  expect((await runHere(tenantId, 'list', '--status', 'canceled')).stderr).toBe('No job of rows matches.\n');
});

test('a processor’s bugs are the errors of their own rows, which end with 3 and can be processed again', async () => {
  const tenantId = await newTenant(database);
  await put('moods.csv', 'mood\nfine\nthrows\ngarbage\nbigint\nmissing\n');
  const imported = await runHere(tenantId, 'import', 'moods.csv', '--processor', 'moody');
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  const jobId = idOf(imported.stdout);
  const watched = await run(tenantId, 'watch', jobId);
  expect(watched).toMatchObject({ code: 3, stdout: '' });
  expect(watched.stderr).toContain('5 rows, 1 done, 3 failed, 1 not found, 0 skipped');
  const items = await database.owner<{ id: string; error_code: string; last_error: string }>(
    `select id::text, error_code, last_error from job_items where job_id = $1 and status = 'ERROR' order by row_no`,
    [jobId],
  );
  expect(items).toMatchObject([
    { error_code: 'processor_failed', last_error: 'a bug \ufffd in the processor' },
    { error_code: 'processor_misbehaved', last_error: expect.stringContaining('the status "FINE"') },
    { error_code: 'processor_misbehaved', last_error: expect.stringContaining('BigInt') },
  ]);
  const exhausted = await runHere(tenantId, 'reprocess', jobId);
  expect(exhausted).toMatchObject({ code: 0, stdout: '0 reset, 4 exhausted\n' });
  expect(exhausted.stderr).toContain('--reset-attempts');
  await put('mended', '');
  const chosen = ['--item', items[0]?.id ?? '', '--reset-attempts'];
  expect((await runHere(tenantId, 'reprocess', jobId, ...chosen)).stdout).toBe('1 reset, 0 exhausted\n');
  expect((await runHere(tenantId, 'watch', jobId, '--quiet')).stderr).toContain(
    '2 done, 2 failed, 1 not found',
  );
  const all = ['--status', 'not_found', '--reset-attempts', '--json'];
  const report = JSON.parse((await runHere(tenantId, 'reprocess', jobId, ...all)).stdout);
  expect(report).toMatchObject({ jobId, reset: 1, exhausted: 0 });
});

test('Ctrl+C ends the watch of a paused job with 130, and a canceled job ends it with 1', async () => {
  const tenantId = await newTenant(database);
  await put('waits.csv', 'mood\nwaits\n');
  const jobId = idOf((await runHere(tenantId, 'import', 'waits.csv', '--processor', 'moody')).stdout);
  await sluice.runHere(['jobs', 'pause', jobId], await as(tenantId));
  const watching = sluice.start(['items', 'watch', jobId], await as(tenantId));
  await expect.poll(() => watching.stderr(), patience).toContain('is paused');
  watching.child.kill('SIGINT');
  expect((await watching.ended).code).toBe(130);
  await sluice.runHere(['jobs', 'cancel', jobId], await as(tenantId));
  const ended = await runHere(tenantId, 'watch', jobId);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('was canceled');
  const stranger = await runHere(await newTenant(database), 'watch', jobId);
  expect(stranger).toMatchObject({ code: 1, stdout: '' });
  expect(stranger.stderr).toContain('(job_not_found)');
});

test('what the server refuses is told with the names that it knows, and the other files are named', async () => {
  const tenantId = await newTenant(database);
  await put('one.csv', 'sku\na\n');
  const refused = await runHere(tenantId, 'import', 'one.csv', 'one.csv', '--processor', 'mody');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(
    'Did you mean moody? Known: noop, validate, http, llm, chain, catalog, image, moody',
  );
  expect(refused.stderr).toContain('Not imported: one.csv, one.csv');
});

test.each([
  ['import', 'nowhere.csv'],
  ['import', '.'],
  ['import', '-', '-'],
  ['import', 'sluice.config.mjs', '--options', '{'],
  ['watch', 'not-an-id'],
  ['reprocess', '00000000-0000-4000-8000-000000000000', '--status', 'PENDING'],
  ['export', '00000000-0000-4000-8000-000000000000', '--json'],
  ['export', '00000000-0000-4000-8000-000000000000', '-o', '.'],
])('%s %s … is wrong usage: it ends with 2 and says what is allowed', async (...args) => {
  const result = await sluice.runHere(['items', ...args], await as('nobody', closedPort));
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toMatch(/Allowed|cannot be read/);
});

test('a server that is not there ends every command with 5, a wrong token with 4, and no file is left', async () => {
  const jobId = '00000000-0000-4000-8000-000000000000';
  await put('one.csv', 'sku\na\n');
  const commands = [
    ['import', 'one.csv'],
    ['watch', jobId],
    ['reprocess', jobId],
    ['export', jobId, '-o', 'never.csv'],
  ];
  for (const args of commands) {
    const away = await sluice.runHere(['items', ...args], await as('nobody', closedPort));
    expect({ args, code: away.code, stdout: away.stdout }).toEqual({ args, code: 5, stdout: '' });
  }
  const stranger = { SLUICE_URL: url, SLUICE_TOKEN: 'not-a-token-of-anybody' };
  for (const args of [commands[0], commands.at(-1)]) {
    const refused = await sluice.runHere(['items', ...(args ?? [])], stranger);
    expect({ args, code: refused.code, stdout: refused.stdout }).toEqual({ args, code: 4, stdout: '' });
  }
  expect((await readdir(sluice.cwd)).filter((name) => name.includes('never'))).toEqual([]);
});

const countJobs = async (tenantId: string) =>
  (await database.owner('select 1 from ingestion_jobs where tenant_id = $1', [tenantId])).length;
const countRows = async (tenantId: string) =>
  (await database.owner('select 1 from job_items where tenant_id = $1', [tenantId])).length;

test('an import that is interrupted ends with 130 and leaves no job and no row', async () => {
  const tenantId = await newTenant(database);
  const pipe = path.join(sluice.cwd, 'endless.csv');
  execFileSync('mkfifo', [pipe]);
  const importing = sluice.start(['items', 'import', 'endless.csv'], await as(tenantId));
  const writer = await open(pipe, 'w');
  try {
    await writer.write(`a,b\n${'1,2\n'.repeat(20_000)}`);
    await expect.poll(() => countRows(tenantId), patience).toBeGreaterThan(0);
    importing.child.kill('SIGINT');
    expect(await importing.ended).toMatchObject({ code: 130, stdout: '' });
    await expect.poll(() => countJobs(tenantId), patience).toBe(0);
    // The job goes first, and then its rows.
    await expect.poll(() => countRows(tenantId), patience).toBe(0);
  } finally {
    await writer.close();
  }
});

/** A server that begins an export and does not end it. */
async function startStalling(onBegun: (socket: Socket) => void): Promise<Server> {
  const stalling = createServer((request, reply) => {
    reply.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).write('row_no,status\n');
    onBegun(request.socket);
  });
  await new Promise<void>((resolve) => stalling.listen(0, '127.0.0.1', resolve));
  return stalling;
}

const leftOvers = async () => (await readdir(sluice.cwd)).filter((name) => name.includes('half'));

test.each([
  { how: 'is interrupted', code: 130 },
  { how: 'breaks off', code: 5 },
])('an export that $how leaves nothing and ends with $code', async ({ how, code }) => {
  let begun: Socket | undefined;
  const stalling = await startStalling((socket) => {
    begun = socket;
  });
  try {
    const { port } = stalling.address() as AddressInfo;
    const env = await as('nobody', `http://127.0.0.1:${port}`);
    const jobId = '00000000-0000-4000-8000-000000000000';
    const exporting = sluice.start(['items', 'export', jobId, '-o', 'half.csv'], env);
    await expect.poll(leftOvers, patience).toEqual([`.half.csv.${exporting.child.pid}.part`]);
    if (how === 'breaks off') begun?.destroy();
    else exporting.child.kill('SIGINT');
    expect(await exporting.ended).toMatchObject({ code, stdout: '' });
    expect(await leftOvers()).toEqual([]);
  } finally {
    stalling.closeAllConnections();
    stalling.close();
  }
});

test('a spreadsheet is not for a terminal', () => {
  expect(() => refuseTerminal('xlsx', { isTTY: true })).toThrow(/Allowed: -o FILE/);
  expect(() => refuseTerminal('xlsx', {})).not.toThrow();
  expect(() => refuseTerminal('csv', { isTTY: true })).not.toThrow();
});
