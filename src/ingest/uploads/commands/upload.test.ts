import { execFileSync } from 'node:child_process';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { zipOf } from '../../../../test/generators/zip-archive.ts';
import {
  type CommandResult,
  type Running,
  useCommandLine,
} from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { adLine, adReport, range } from '../../../../test/support/worlds/upload-runs.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';
import { checkpointOf } from '../staging/checkpoint.ts';
import { stageOf, type UploadView } from './follow.ts';
import { confirm } from './upload.ts';

// Some of the commands are processes of their own.
vi.setConfig({ testTimeout: 90_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 30_000, interval: 25 };
const closedPort = 'http://127.0.0.1:1';
const nobodysId = '00000000-0000-4000-8000-000000000000';
const servers: Running[] = [];
let url = '';
/** Takes reports in, small ones only, and works on none. */
let idleUrl = '';

async function serve(args: string[], env: Record<string, string> = {}): Promise<string> {
  const server = sluice.start(['serve', ...args], {
    PORT: '0',
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    ...env,
  });
  servers.push(server);
  return vi.waitFor(() => {
    const found = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
    expect(found, server.stderr()).not.toBe('');
    return found;
  }, patience);
}

afterAll(async () => {
  for (const { child } of servers) child.kill('SIGTERM');
  await Promise.all(servers.map(({ ended }) => ended));
});

async function as(tenantId: string, at = url): Promise<Record<string, string>> {
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  return { SLUICE_URL: at, SLUICE_TOKEN: await mintToken(testTokens, claims) };
}

async function run(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.run(['upload', ...args], await as(tenantId));
}

async function runHere(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.runHere(['upload', ...args], await as(tenantId));
}

async function newPlace(...names: string[]): Promise<{ tenantId: string; workspaceIds: string[] }> {
  const tenantId = await newTenant(database);
  const workspaceIds: string[] = [];
  for (const name of names.length === 0 ? ['Main'] : names) {
    const [row] = await database.owner<{ workspace_id: string }>(
      `insert into workspaces (tenant_id, workspace_id, name)
       values ($1, gen_random_uuid(), $2) returning workspace_id`,
      [tenantId, name],
    );
    workspaceIds.push(row?.workspace_id ?? '');
  }
  return { tenantId, workspaceIds };
}

/** How many jobs of a tenant may be worked on at a time; with none, what it uploads stays where it is. */
async function limitJobs(tenantId: string, limits: { concurrent_jobs?: number }): Promise<void> {
  await database.owner('update tenants set limits = $2 where tenant_id = $1', [
    tenantId,
    JSON.stringify(limits),
  ]);
}

async function put(name: string, text: string | Buffer): Promise<string> {
  await writeFile(path.join(sluice.cwd, name), text);
  return name;
}

const report = (count: number, bad = 0) =>
  adReport([
    ...range(count - bad).map((n) => adLine(n)),
    ...range(bad).map((n) => adLine(count + n, { day: 'someday' })),
  ]);
const idIn = (text: string) => /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text)?.[0] ?? '';
const meta = ['--platform', 'meta'];

const count = async (name: string, tenantId: string) => {
  const rows = await database.owner<{ n: number }>(
    `select count(*)::integer as n from ${name} where tenant_id = $1`,
    [tenantId],
  );
  return rows[0]?.n;
};

// One after the other: both would migrate the database.
beforeAll(async () => {
  url = await serve([]);
  idleUrl = await serve(['--no-worker'], { MAX_REPORT_BYTES: '2048' });
}, 90_000);

test('a report is sent, followed to its end and shown, and its rows are in production', async () => {
  const { tenantId } = await newPlace();
  await put('good.csv', report(30));
  await limitJobs(tenantId, { concurrent_jobs: 0 });
  const following = sluice.start(['upload', 'good.csv', ...meta], await as(tenantId));
  await expect.poll(() => following.stderr(), patience).toMatch(/^good\.csv: /m);
  await limitJobs(tenantId, {});
  const done = await following.ended;
  expect(done.code, done.stderr).toBe(0);
  const [head, row] = done.stdout.trim().split('\n');
  expect(head).toMatch(/^UPLOAD +STATUS +ROWS +PROMOTED +INVALID +FAILED +FILE$/);
  expect(row).toMatch(/^[0-9a-f-]{36} +completed +30 +30 +0 +0 +good\.csv$/);
  expect(await count('daily_metrics', tenantId)).toBe(30);
  expect(done.stderr).not.toContain('rejected');
});

test('refused rows end with 3, and come down with their reasons by the command that is named', async () => {
  const { tenantId } = await newPlace();
  await put('mixed.csv', report(40, 2));
  const done = await runHere(tenantId, 'mixed.csv', ...meta, '--json');
  expect(done.code, done.stderr).toBe(3);
  const record = JSON.parse(done.stdout) as UploadView;
  expect(record).toMatchObject({ status: 'partial', total_rows: 40, promoted_rows: 38, invalid_rows: 2 });
  const told =
    new RegExp(`sluice (upload rejected ${record.upload_id} -o \\S+)`).exec(done.stderr)?.[1] ?? '';
  const written = await sluice.run(told.split(' '), await as(tenantId));
  expect(written.code, written.stderr).toBe(0);
  expect(written.stdout).toBe('');
  const file = await readFile(path.join(sluice.cwd, 'rejected.csv'), 'utf8');
  const rows = parse(file, { columns: true, bom: true }) as Record<string, string>[];
  expect(rows.map((row) => row.Day)).toEqual(['someday', 'someday']);
  expect(rows[0]?.['Rejection reason']).toMatch(/metric_date/);
  expect((await runHere(tenantId, 'rejected', record.upload_id)).stdout).toBe(file);
  await put('corrected.csv', file.replaceAll('someday', '2026-03-02'));
  expect(await runHere(tenantId, 'corrected.csv', ...meta)).toMatchObject({ code: 0 });
  expect(await count('daily_metrics', tenantId)).toBe(40);
});

test('a report with too many bad rows ends with 1 and the reason; --force-partial takes the good ones', async () => {
  const { tenantId } = await newPlace();
  await put('bad.csv', report(10, 5));
  const failed = await runHere(tenantId, 'bad.csv', ...meta);
  expect(failed.code).toBe(1);
  expect(failed.stdout).toMatch(/ failed +10 +0 +5 /);
  expect(failed.stderr).toMatch(/bad\.csv is failed: .*50/);
  expect(failed.stderr).toContain(`sluice upload rejected ${idIn(failed.stdout)}`);
  const forced = await runHere(tenantId, 'bad.csv', ...meta, '--force-partial');
  expect(forced.code).toBe(3);
  expect(forced.stdout).toMatch(/ partial +10 +5 +5 /);
});

test('with several workspaces the command lists them, and goes into the one that is named', async () => {
  const { tenantId, workspaceIds } = await newPlace('North', 'South');
  await put('good.csv', report(3));
  const asked = await runHere(tenantId, 'good.csv', ...meta);
  expect(asked).toMatchObject({ code: 2, stdout: '' });
  expect(asked.stderr).toContain(`${workspaceIds[0]}  North`);
  expect(asked.stderr).toContain(`${workspaceIds[1]}  South`);
  expect(await count('data_uploads', tenantId)).toBe(0);
  const named = ['--workspace', workspaceIds[1] ?? '', '--client', nobodysId, '--source', 'api', '--json'];
  const done = await runHere(tenantId, 'good.csv', ...meta, ...named);
  expect(JSON.parse(done.stdout)).toMatchObject({
    workspace_id: workspaceIds[1],
    client_id: nobodysId,
    source: 'api',
    status: 'completed',
  });
});

test('columns with names of their own are mapped from a file, and a review holds the upload', async () => {
  const { tenantId } = await newPlace();
  await put('own.csv', report(3).replace('Impressions', 'Blicke'));
  await put('mapping.json', '{"Blicke":"impressions"}');
  const held = await runHere(
    tenantId,
    'own.csv',
    ...meta,
    '--mapping',
    '@mapping.json',
    '--review',
    '--json',
  );
  expect(held.code, held.stderr).toBe(0);
  const record = JSON.parse(held.stdout) as UploadView;
  expect(record).toMatchObject({
    status: 'staging_complete',
    review: true,
    mapping: { Blicke: 'impressions' },
  });
  expect(held.stderr).toContain('held for review');
  expect(await count('daily_metrics', tenantId)).toBe(0);
  const { SLUICE_TOKEN: token } = await as(tenantId);
  const promoted = await fetch(`${url}/api/uploads/${record.upload_id}/promote`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  expect(promoted.status).toBe(202);
  const sum = 'select sum(impressions)::integer as sum from daily_metrics where tenant_id = $1';
  await expect.poll(() => database.owner(sum, [tenantId]), patience).toEqual([{ sum: 60 }]);
});

test('--no-wait prints an id for each file at once, and nothing else', async () => {
  const { tenantId } = await newPlace();
  await put('one.csv', report(2));
  await put('two.csv', report(3));
  const sent = await runHere(tenantId, 'one.csv', 'two.csv', ...meta, '--no-wait', '--json');
  expect(sent).toMatchObject({ code: 0, stderr: '' });
  const answers = sent.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers).toMatchObject([{ status: 'pending' }, { status: 'pending' }]);
  expect(new Set(answers.map(({ upload_id: id }) => id)).size).toBe(2);
});

test('every report of an archive is followed to its end and shown by its name', async () => {
  const { tenantId } = await newPlace();
  const members = [2, 3].map((n) => ({ name: `reports/${n}.csv`, content: report(n) }));
  await put('reports.zip', zipOf(members));
  const sent = await runHere(tenantId, 'reports.zip', ...meta);
  expect(sent.code).toBe(0);
  expect(sent.stdout).toMatch(/completed.*2\.csv\n.*completed.*3\.csv/);
  const ids = await runHere(tenantId, 'reports.zip', ...meta, '--no-wait');
  expect(ids.stdout.trim().split('\n')).toHaveLength(2);
});

test('the worse end of two reports is the exit code, and a bad file says what is wrong with it', async () => {
  const { tenantId } = await newPlace();
  await put('good.csv', report(3));
  await put('prose.csv', 'Dear all,\nplease find nothing attached.\n');
  const done = await runHere(tenantId, 'good.csv', 'prose.csv', ...meta);
  expect(done.code).toBe(1);
  expect(done.stdout).toMatch(/ completed .*good\.csv\n.* failed .*prose\.csv\n$/);
  expect(done.stderr).toMatch(/prose\.csv is failed: \S+/);
});

test('what comes behind rejected and undo is theirs: a tenant that is named there is looked at', async () => {
  const { tenantId } = await newPlace();
  await put('good.csv', report(2));
  const uploadId = idIn((await runHere(tenantId, 'send', 'good.csv', ...meta)).stdout);
  const here = { SLUICE_URL: url, SLUICE_JWT_SECRET: testTokens.secret ?? '' };
  const own = await sluice.runHere(['upload', 'rejected', uploadId, '--tenant', tenantId], here);
  expect(own.code, own.stderr).toBe(0);
  expect(own.stdout).toMatch(/Rejection reason\r?\n$/);
  const { tenantId: stranger } = await newPlace();
  const undone = await sluice.runHere(['upload', 'undo', uploadId, '--yes', '--tenant', stranger], here);
  expect(undone).toMatchObject({ code: 1, stdout: '' });
  expect(undone.stderr).toContain('(upload_not_found)');
});

test('undo asks a person, or is told --yes, and deletes what the upload created', async () => {
  const { tenantId } = await newPlace();
  await put('good.csv', report(5));
  const uploadId = idIn((await runHere(tenantId, 'good.csv', ...meta)).stdout);
  const unasked = await runHere(tenantId, 'undo', uploadId);
  expect(unasked).toMatchObject({ code: 2, stdout: '' });
  expect(unasked.stderr).toContain('Allowed: with --yes');
  expect(await count('daily_metrics', tenantId)).toBe(5);
  const undone = await run(tenantId, 'undo', uploadId, '--yes');
  expect(undone).toMatchObject({ code: 0 });
  expect(undone.stdout).toMatch(/^daily_metrics +5 +0$/m);
  expect(await count('daily_metrics', tenantId)).toBe(0);
  const again = await runHere(tenantId, 'undo', uploadId, '--yes', '--json');
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain('(upload_state_conflict)');
});

test.each([
  { answer: 'y\n', is: true },
  { answer: 'YES\n', is: true },
  { answer: '\n', is: false },
  { answer: 'yonder\n', is: false },
  { answer: '', is: false },
])('the answer $answer to a question is taken as $is', async ({ answer, is }) => {
  const input = new PassThrough();
  const output = new PassThrough();
  const { signal } = new AbortController();
  input.end(answer);
  expect(await confirm('Undo? ', { input, output, signal })).toBe(is);
  expect(String(output.read())).toContain('Undo? ');
});

test('an upload that is followed goes on when the command is interrupted, which ends with 130', async () => {
  const { tenantId } = await newPlace();
  await put('waits.csv', report(2));
  // The other server has a worker, which would be done with it before the command is interrupted.
  await limitJobs(tenantId, { concurrent_jobs: 0 });
  const following = sluice.start(['upload', 'waits.csv', ...meta], await as(tenantId, idleUrl));
  await expect.poll(() => following.stderr(), patience).toContain('waits.csv: ');
  following.child.kill('SIGINT');
  const ended = await following.ended;
  expect(ended).toMatchObject({ code: 130, stdout: '' });
  expect(ended.stderr).toMatch(/Upload [0-9a-f-]{36} goes on without this command/);
  expect(await count('data_uploads', tenantId)).toBe(1);
});

test('an upload that is interrupted while it is sent ends with 130 and leaves nothing', async () => {
  const { tenantId } = await newPlace();
  execFileSync('mkfifo', [path.join(sluice.cwd, 'endless.csv')]);
  const filesDir = path.join(sluice.cwd, '.sluice', 'files');
  const files = async () => (await readdir(filesDir, { recursive: true })).length;
  const before = await files();
  const sending = sluice.start(['upload', 'endless.csv', ...meta], await as(tenantId));
  const writer = await open(path.join(sluice.cwd, 'endless.csv'), 'w');
  try {
    await writer.write(report(5_000));
    await expect.poll(files, patience).toBeGreaterThan(before);
    sending.child.kill('SIGINT');
    expect(await sending.ended).toMatchObject({ code: 130, stdout: '' });
    await expect.poll(files, patience).toBe(before);
    expect(await count('data_uploads', tenantId)).toBe(0);
  } finally {
    await writer.close();
  }
});

test('a report that is too large for the server is refused with the reason, and the others are named', async () => {
  const { tenantId } = await newPlace();
  await put('small.csv', report(2));
  await put('large.csv', report(20_000));
  const refused = await sluice.runHere(
    ['upload', 'small.csv', 'large.csv', ...meta],
    await as(tenantId, idleUrl),
  );
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('(report_too_large)');
  expect(refused.stderr).toMatch(/Uploaded: small\.csv as [0-9a-f-]{36}\nNot uploaded: large\.csv/);
});

test.each([
  ['upload.test.csv'],
  ['nowhere.csv', ...meta],
  ['.', ...meta],
  ['here.csv', '--platform', 'My Space'],
  ['here.csv', ...meta, '--workspace', 'main'],
  ['here.csv', ...meta, '--mapping', '{'],
  ['here.csv', ...meta, '--mapping', '["spend"]'],
  ['here.csv', ...meta, '--mapping', '@nowhere.json'],
  ['rejected', 'not-an-id'],
  ['rejected', nobodysId, '--json'],
  ['rejected', nobodysId, '-o', '.'],
  ['undo', 'not-an-id', '--yes'],
])('upload %s %s … is wrong usage: it ends with 2 and says what is allowed', async (...args) => {
  await put('here.csv', report(1));
  await put('upload.test.csv', report(1));
  const result = await sluice.runHere(['upload', ...args], await as('nobody', closedPort));
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toMatch(/Allowed/);
});

test('no server ends every command with 5, a token that may not with 4, a wrong id with 1', async () => {
  await put('here.csv', report(1));
  const commands = [
    ['here.csv', ...meta],
    ['here.csv', ...meta, '--workspace', nobodysId],
    ['rejected', nobodysId, '-o', 'never.csv'],
    ['undo', nobodysId, '--yes'],
  ];
  const { tenantId } = await newPlace();
  for (const args of commands) {
    const away = await sluice.runHere(['upload', ...args], await as('nobody', closedPort));
    expect({ args, code: away.code, stdout: away.stdout }).toEqual({ args, code: 5, stdout: '' });
    const stranger = { SLUICE_URL: url, SLUICE_TOKEN: 'not-a-token-of-anybody' };
    const refused = await sluice.runHere(['upload', ...args], stranger);
    expect({ args, code: refused.code, stdout: refused.stdout }).toEqual({ args, code: 4, stdout: '' });
  }
  for (const args of commands.slice(1)) {
    const unknown = await runHere(tenantId, ...args);
    const code = args.includes('--workspace') ? 4 : 1;
    expect({ args, code: unknown.code, stdout: unknown.stdout }).toEqual({ args, code, stdout: '' });
  }
  expect((await readdir(sluice.cwd)).filter((name) => name.includes('never'))).toEqual([]);
});

test('each stage tells its own rows: those read so far, then those promoted of all', () => {
  const figures = { ...checkpointOf({}).figures, totalRows: 400 };
  const promotion = { entityType: 'ad' as const, afterRow: 7, warnings: [] };
  const at = (status: string) => ({ status, total_rows: 1_000 }) as UploadView;
  const reading = checkpointOf({ figures });
  expect(stageOf(at('processing'), reading)).toMatchObject({ done: 400, total: null });
  expect(stageOf(at('promoting'), checkpointOf({ promotion }))).toMatchObject({ done: 0, total: 1_000 });
  const facts = checkpointOf({ promotion: { ...promotion, entityType: 'daily_metric', afterRow: 249 } });
  expect(stageOf(at('promoting'), facts)).toMatchObject({ done: 250, total: 1_000 });
});
