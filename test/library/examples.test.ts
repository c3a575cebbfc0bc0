import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';

vi.setConfig({ testTimeout: 300_000 });

const root = path.join(import.meta.dirname, '../..');
const patience = { timeout: 60_000, interval: 25 };
/** Builds the product. */
useCommandLine();
let place = '';
const running = new Set<ChildProcess>();

beforeAll(async () => {
  place = await mkdtemp(path.join(tmpdir(), 'sluice-examples-'));
  // As `npm install` leaves it: everything side by side.
  const modules = path.join(place, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(path.join(root, 'node_modules'))) {
    if (name !== 'sluice') await symlink(path.join(root, 'node_modules', name), path.join(modules, name));
  }
  await symlink(root, path.join(modules, 'sluice'));
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  for (const name of await readdir(place)) {
    const location = await readFile(path.join(place, name, '.sluice/postgres.location'), 'utf8').catch(
      () => null,
    );
    if (location !== null) await rm(path.dirname(location.trim()), { recursive: true, force: true });
  }
  await rm(place, { recursive: true, force: true });
});

async function start(name: string, args: string[]) {
  const cwd = path.join(place, name);
  await cp(path.join(root, 'examples', name), cwd, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0' };
  return runIn(cwd, args, env);
}

function runIn(cwd: string, args: string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, args, { cwd, env });
  running.add(child);
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve(signal ?? code);
    }),
  );
  return { cwd, env, child, output: () => output, ended };
}

async function serving(name: string) {
  const app = await start(name, ['app.mjs']);
  await expect.poll(app.output, patience).toMatch(/http:\/\//);
  const url = /http:\S+/.exec(app.output())?.[0] ?? '';
  const post = async (where: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${where}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const get = async (where: string) => JSON.parse(await (await fetch(`${url}${where}`)).text());
  const stop = async () => {
    app.child.kill('SIGTERM');
    expect(await app.ended, app.output()).toBe(0);
  };
  return { url, post, get, stop };
}

test('the shop charges a card once per order, and a declined one not at all', async () => {
  const { url, post, get, stop } = await serving('charge-cards');
  const card = { card: '4242', cents: 995 };
  expect(await post('/orders/1/charge', card)).toEqual({ status: 200, body: { receipt: 'r-1' } });
  const declined = await post('/orders/2/charge', { card: '0000', cents: 5 });
  expect(declined).toEqual({ status: 402, body: { error: 'The card was declined' } });
  expect((await post('/orders/3/charge', { card: '4242' })).status).toBe(422);
  expect(await get('/charges')).toEqual([{ ...card, receipt: 'r-1' }]);
  expect((await fetch(`${url}/sluice/health/live`)).status).toBe(200);
  await stop();
});

test('the ETL goes on where it was killed, and each line counts once', async () => {
  const lines = 60_000;
  const first = await start('etl', ['etl.mjs', String(lines)]);
  const { cwd, env } = first;
  // Killed while it works; on a fast machine perhaps when it is done, and the sums must be right then, too.
  await expect.poll(first.output, patience).toContain('job ');
  first.child.kill('SIGKILL');
  await first.ended;
  const again = runIn(cwd, ['etl.mjs', String(lines)], env);
  expect(await again.ended, again.output()).toBe(0);
  const cents = (lines / 1000) * ((999 * 1000) / 2);
  const sums = again.output();
  expect(sums).toContain(`success {"rows":${lines}}`);
  const { count, cents: total } = JSON.parse(/\{"count".*\}/.exec(sums)?.[0] ?? '{}') as Record<
    string,
    number
  >;
  // A run that had ended before it was killed is done a second time as a new job.
  const times = Number(count) / lines;
  expect([1, 2]).toContain(times);
  expect(Number(total)).toBe(times * cents);
});

test('the scheduled report makes one job per tick', async () => {
  const program = path.join(root, 'dist/main.js');
  const server = await start('scheduled-report', [program, 'serve']);
  await expect.poll(server.output, patience).toContain('running at');
  const url = /running at (\S+)/.exec(server.output())?.[1] ?? '';
  const list = async () => {
    const listed = runIn(server.cwd, [program, 'jobs', 'list', '--pipeline', 'heartbeat', '--json'], {
      ...server.env,
      SLUICE_URL: url,
    });
    await listed.ended;
    return JSON.parse(/\{[\s\S]*\}/.exec(listed.output())?.[0] ?? '{"data":[]}').data as {
      result?: { at: string };
    }[];
  };
  await expect
    .poll(async () => (await list()).filter((job) => job.result).length, patience)
    .toBeGreaterThan(1);
  const ticks = (await list()).flatMap((job) => job.result?.at ?? []);
  expect(new Set(ticks).size).toBe(ticks.length);
  for (const tick of ticks) expect(new Date(tick).getTime() % 2_000).toBe(0);
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});

test('an order of the Express app and its job commit together, or neither', async () => {
  const { url, post, get, stop } = await serving('express-kysely');
  const { status, body } = await post('/orders', { article: 'lamp' });
  expect(status).toBe(201);
  expect(await get(`/orders/${body.jobId}/confirmation`)).toMatchObject({
    status: 'success',
    result: 'Order 1 is confirmed',
  });
  expect(await post('/orders', { article: 'lamp', fails: true })).toMatchObject({ status: 409 });
  expect((await fetch(`${url}/sluice/health/live`)).status).toBe(200);
  await stop();
});
