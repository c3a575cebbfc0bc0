import { chmod, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Running, useCommandLine } from '../support/servers/command-line.ts';

// The built product as a person starts it: nothing configured, an empty directory, the embedded database.
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 25 };
let server: Running;
let url = '';
let postgresPid = 0;
let cookie = '';

// As root the database is another user, who has to get to the data directory.
beforeAll(() => chmod(sluice.cwd, 0o711));
afterAll(() => {
  // Only when a test has failed: what it left running must not outlive it.
  if (postgresPid > 0 && isAlive(postgresPid)) process.kill(postgresPid, 'SIGQUIT');
});

async function startServer(): Promise<void> {
  server = sluice.start(['serve'], { PORT: '0' });
  await expect.poll(() => server.stdout() || server.child.exitCode, patience).toContain('sluice --help');
  url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
  const file = path.join(sluice.cwd, '.sluice/postgres/postmaster.pid');
  postgresPid = Number((await readFile(file, 'utf8')).split('\n')[0]);
}

async function logIn(): Promise<string> {
  const link = /log in +(\S+)/.exec(server.stdout())?.[1] ?? '';
  const answer = await fetch(link, { redirect: 'manual' });
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

async function read(route: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${url}${route}`, { headers: { cookie } });
  return { status: answer.status, text: await answer.text() };
}

async function readJson(route: string): Promise<unknown> {
  const { status, text } = await read(route);
  expect({ route, status }).toEqual({ route, status: 200 });
  return JSON.parse(text);
}

test('the product starts on an empty directory, prints at most eight lines, and the printed link logs in', async () => {
  await startServer();
  expect(server.stdout().trimEnd().split('\n').length).toBeLessThanOrEqual(8);
  expect(server.stderr()).toBe('');
  expect((await read('/health/ready')).status).toBe(200);
  expect((await read('/api/me')).status).toBe(401);
  cookie = await logIn();
  expect(await readJson('/api/me')).toMatchObject({ tenant_id: 'default', role: 'operator', via: 'session' });
  expect(await logIn()).toBe('');
});

test('the product serves the first pages that a user opens', async () => {
  expect(await readJson('/api/workspaces')).toMatchObject({ data: expect.any(Array) });
  expect(await readJson('/api/jobs')).toEqual({ data: [], has_more: false, next_cursor: null });
  expect(await readJson('/api/openapi.json')).toMatchObject({ openapi: expect.stringMatching(/^3\./) });
  expect((await read('/metrics')).text).toContain('process_cpu_seconds_total');
});

test('the command line works beside the server, on the same directory', async () => {
  const { port } = new URL(url);
  const [doctor, list, worker, token] = await Promise.all([
    sluice.run(['doctor', '--json']),
    sluice.run(['jobs', 'list', '--json'], { PORT: port }),
    sluice.run(['worker', '--once']),
    sluice.run(['token', '--tenant', 'default', '--role', 'admin']),
  ]);
  expect(JSON.parse(doctor.stdout)).toMatchObject({ ok: true });
  expect(list).toEqual({ code: 0, stdout: expect.stringContaining('"data": []'), stderr: '' });
  expect(worker).toEqual({ code: 0, stdout: '{"queued_processed":0,"retry_processed":0}\n', stderr: '' });
  const made = await fetch(`${url}/api/workspaces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.stdout.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'made before the crash' }),
  });
  expect(made.status).toBe(201);
});

test('the product starts again after kill -9 with all of its data', async () => {
  server.child.kill('SIGKILL');
  await server.ended;
  await startServer();
  const workspaces = (await readJson('/api/workspaces')) as { data: { name: string }[] };
  expect(workspaces.data.map(({ name }) => name)).toContain('made before the crash');
});

test('SIGTERM ends the product with exit code 0, and the embedded PostgreSQL with it', async () => {
  expect(isAlive(postgresPid)).toBe(true);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
  await expect.poll(() => isAlive(postgresPid), patience).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
