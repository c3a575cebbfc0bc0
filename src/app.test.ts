import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { createDatabase, queryOnce, withDatabase } from '../test/support/fakes/postgres-server.ts';
import { useDatabase } from '../test/support/worlds/database.ts';
import { type App, createApp } from './app.ts';
import { loadConfig } from './config.ts';
import { newId } from './lib/ids.ts';
import { createLogger } from './lib/log.ts';
import { appUrlFor } from './lib/postgres/roles.ts';
import { SecretScrubber } from './lib/secret-scrubber.ts';

const database = useDatabase();
let cwd = '';
const running: App[] = [];
/** A backend ends some time after its connection was closed. */
const patience = { timeout: 15_000 };

beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'sluice-app-'));
});

afterEach(async () => {
  for (const app of running.splice(0)) await app.stop();
});

afterAll(async () => {
  await rm(cwd, { recursive: true, force: true });
});

async function start(env: Record<string, string>): Promise<App> {
  const { config, sources } = await loadConfig({ env: { PORT: '0', ...env }, cwd });
  const scrubber = new SecretScrubber();
  const app = await createApp({
    config,
    portIsExplicit: sources.port.from !== 'default',
    logger: createLogger({ level: 'silent', scrubber }),
    scrubber,
  });
  running.push(app);
  return app;
}

test('the login link of a start lets its holder in once', async () => {
  const app = await start({ DATABASE_URL: database.ownerUrl });
  expect(app.loginUrl).toBeNull();
  const link = (await readFile(app.loginFile ?? '', 'utf8')).trim();
  const first = await fetch(link, { redirect: 'manual' });
  const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? '';
  const me = await fetch(`${app.url}/api/me`, { headers: { cookie } });
  expect(await me.json()).toMatchObject({ role: 'operator', via: 'session' });
  expect((await fetch(link, { redirect: 'manual' })).status).toBe(401);
});

test('the application login alone is enough to run on a migrated database', async () => {
  const app = await start({ DATABASE_APP_URL: database.appUrl });
  expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
});

test('a database that lacks migrations is refused when migrating is off', async () => {
  const name = `empty_${newId().replaceAll('-', '')}`;
  const serverUrl = inject('serverUrl');
  await createDatabase(serverUrl, name);
  const ownerUrl = withDatabase(serverUrl, name);
  try {
    const off = start({ DATABASE_URL: ownerUrl, SLUICE_AUTO_MIGRATE: 'false' });
    await expect(off).rejects.toMatchObject({ code: 'schema_outdated' });
    const appOnly = start({ DATABASE_APP_URL: appUrlFor(ownerUrl) });
    await expect(appOnly).rejects.toMatchObject({ code: 'schema_outdated' });
    const app = await start({ DATABASE_URL: ownerUrl });
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
    await app.stop();
  } finally {
    await queryOnce(serverUrl, `drop database if exists ${name} with (force)`);
  }
});

test('a start that fails at the port leaves no database connection open', async () => {
  const blocker = await occupyPort();
  const { port } = blocker.address() as { port: number };
  const failing = start({ DATABASE_URL: database.ownerUrl, PORT: String(port) });
  await expect(failing).rejects.toMatchObject({ code: 'port_unavailable' });
  blocker.close();
  await expect.poll(countConnections, patience).toBe(0);
});

test('stopping closes the port and every database connection', async () => {
  const app = await start({ DATABASE_URL: database.ownerUrl });
  await fetch(`${app.url}/health/ready`);
  expect(await countConnections()).toBeGreaterThan(0);
  await app.stop();
  await expect(fetch(`${app.url}/health/live`)).rejects.toThrow();
  await expect.poll(countConnections, patience).toBe(0);
});

test('readiness fails when files cannot be written, and names no path', async () => {
  const dataDir = path.join(cwd, 'data');
  const app = await start({ DATABASE_URL: database.ownerUrl, SLUICE_DATA_DIR: dataDir });
  const url = `${app.url}/health/ready`;
  expect((await fetch(url)).status).toBe(200);
  await rm(path.join(dataDir, 'files'), { recursive: true });
  await writeFile(path.join(dataDir, 'files'), 'a file in the way');
  await expect.poll(async () => (await fetch(url)).status, patience).toBe(503);
  const body = await (await fetch(url)).text();
  expect(JSON.parse(body)).toMatchObject({
    checks: { storage: { state: 'failed' }, database: { state: 'ok' } },
  });
  expect(body).not.toContain(dataDir);
});

async function countConnections(): Promise<number> {
  const rows = await database.owner<{ n: number }>(
    `select count(*)::int as n
       from pg_stat_activity
      where datname = current_database() and application_name like 'sluice %'`,
  );
  return rows[0]?.n ?? -1;
}

function occupyPort(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
  });
}
