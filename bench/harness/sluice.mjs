// The built program as users run it: `sluice serve` and `sluice worker`, as separate processes.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './children.mjs';
import { endOnce } from './cleanup.mjs';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** As `npm start` does it. */
export const nodeFlags = ['--max-semi-space-size=8'];
const jwtSecret = 'a secret of the benchmarks, long enough for HS256';
export const tenantId = 'tenant-1';
export const userId = 'bench';

/** A server on this database, without a worker by default; resolves when it is ready. */
export async function startServe({ database, settings = {}, hasWorker = false, dataDir = null }) {
  const words = ['serve', ...(hasWorker ? [] : ['--no-worker']), '--port', '0'];
  const started = await startProcess(words, { database, settings, dataDir });
  const url = await started.firstUrl();
  await until('the server is ready', async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...started, url, headers: await bearerOf({ tenantId }) };
}

/** Worker processes on this database; resolves when all are registered. */
export async function startWorkers(count, { database, settings = {} }) {
  const workers = await Promise.all(
    Array.from({ length: count }, () => startProcess(['worker'], { database, settings })),
  );
  await until(`${count} workers have entered themselves`, async () => {
    const [row] = await database.query('select count(*)::int as count from workers where lost_at is null');
    return row.count >= count;
  });
  return { pids: workers.map(({ pid }) => pid), stop: () => Promise.all(workers.map(({ stop }) => stop())) };
}

/** The product's default settings, except for the given ones. Without a database: the embedded one. */
export async function startProcess(words, { database = null, settings = {}, dataDir = null }) {
  const home = dataDir ?? (await mkdtemp(join(tmpdir(), 'sluice-bench-home-')));
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_ENV: 'production',
    LOG_LEVEL: 'error',
    SLUICE_DATA_DIR: home,
    SLUICE_JWT_SECRET: jwtSecret,
    ...(database ? { DATABASE_URL: database.ownerUrl } : {}),
    ...settings,
  };
  const child = spawn(process.execPath, [...nodeFlags, main, ...words], {
    env,
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = `${errors}${text}`.slice(-10_000);
  });
  child.once('exit', (code) => {
    if (code !== 0) console.error(`sluice ${words[0]} ended with ${code}:\n${errors}`);
  });
  const stop = endOnce(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    if (dataDir === null) await rm(home, { recursive: true, force: true });
  });
  const firstUrl = async () => {
    await until('the server says where it listens', () => {
      if (child.exitCode !== null) throw new Error(`sluice ${words[0]} ended with ${child.exitCode}`);
      return /https?:\/\/\S+/.test(output);
    });
    return /https?:\/\/[^\s/]+/.exec(output)[0];
  };
  return { pid: child.pid, stop, firstUrl };
}

/** The header of an admin of the tenant. */
export async function bearerOf({ tenantId: ofTenant, userId: user = userId }) {
  const { mintToken } = await import('../../dist/modules/kernel/tenancy/tokens.js');
  const token = await mintToken(
    { secret: jwtSecret, issuer: 'sluice', audience: 'sluice', jwksUrl: null },
    { tenantId: ofTenant, userId: user, role: 'admin', lifetimeSeconds: 86_400 },
  );
  return { authorization: `Bearer ${token}` };
}

/** Signs cursors as the server does, to open a page without reading all pages before it. */
export async function cursorAfter({ jobId, id }) {
  const { createCursors } = await import('../../dist/modules/kernel/http/cursor.js');
  const secret = createHmac('sha256', jwtSecret).update('sluice server secret').digest('base64url');
  return createCursors(secret).encode(`items/id/${jobId}`, [id]);
}
