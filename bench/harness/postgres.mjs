// A separate PostgreSQL for the benchmark: Debian's, with its usual durability, and the same settings for all.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { endOnce } from './cleanup.mjs';

const startLimitMs = 30_000;
const template = 'sluice_template';

const usualSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '512MB',
  // Checkpoints by size would fall into some rounds and not into others; each measurement begins with one instead.
  max_wal_size: '8GB',
  max_connections: '200',
};

/** A server with a migrated template; `stop` removes everything. `more` are settings that one benchmark needs. */
export async function startServer(more = {}) {
  const server = await startPostgres({ ...usualSettings, ...more });
  const { ensureRoles, ensureLogins, appUrlFor } = await import('../../dist/modules/lib/postgres/roles.js');
  const { migrateUp } = await import('../../dist/modules/lib/postgres/migrate.js');
  await query(server.url('postgres'), `create database ${template}`);
  await ensureRoles(server.url(template));
  await migrateUp(server.url(template));
  await ensureLogins(server.url(template));
  let made = 0;
  async function createDatabase(from) {
    made += 1;
    const name = `bench_${made}`;
    await query(server.url('postgres'), `create database ${name} template ${from}`);
    const ownerUrl = server.url(name);
    return {
      ownerUrl,
      appUrl: appUrlFor(ownerUrl),
      query: (text, values) => query(ownerUrl, text, values),
      drop: () => query(server.url('postgres'), `drop database ${name} with (force)`),
    };
  }
  return {
    ...server,
    /** As Sluice migrates it, with both logins. */
    sluiceDatabase: () => createDatabase(template),
    emptyDatabase: () => createDatabase('template1'),
  };
}

/** A checkpoint, so that earlier writes are not flushed while the clock runs. */
export async function flushWrites(database) {
  await database.query('vacuum analyze');
  await database.query('checkpoint');
}

async function startPostgres(serverSettings) {
  const bin = findPostgres();
  const user = unprivilegedUser();
  const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  if (user) await chown(home, user.uid, user.gid);
  const passwordFile = join(home, 'password');
  await writeFile(passwordFile, 'bench-owner', { mode: 0o644 });
  const cluster = join(home, 'cluster');
  const options = { ...user, stdio: 'ignore', cwd: '/' };
  const login = ['-U', 'sluice_owner', '--pwfile', passwordFile, '-A', 'scram-sha-256'];
  execFileSync(join(bin, 'initdb'), ['-D', cluster, ...login, '-E', 'UTF8', '--locale=C'], options);
  const all = { ...serverSettings, listen_addresses: '', unix_socket_directories: home };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Detached: Ctrl+C must reach the runner first, which stops the server in order.
  const child = spawn(join(bin, 'postgres'), ['-D', cluster, ...flags], { ...options, detached: true });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const url = (name) => `postgres://sluice_owner:bench-owner@${encodeURIComponent(home)}:5432/${name}`;
  const stop = endOnce(async () => {
    if (child.exitCode === null) child.kill('SIGINT');
    await ended;
    await rm(home, { recursive: true, force: true });
  });
  try {
    const version = await untilReady(url('postgres'));
    return { url, bin, stop, version, settings: serverSettings, pid: child.pid };
  } catch (error) {
    await stop();
    throw error;
  }
}

function findPostgres() {
  const root = '/usr/lib/postgresql';
  const versions = (existsSync(root) ? readdirSync(root) : []).map(Number).filter((major) => major >= 15);
  if (versions.length === 0) {
    throw new Error(
      'There is no PostgreSQL ≥ 15 under /usr/lib/postgresql (Debian: apt-get install postgresql)',
    );
  }
  return join(root, String(Math.min(...versions)), 'bin');
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser() {
  if (process.getuid() !== 0) return undefined;
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function untilReady(url) {
  const deadline = Date.now() + startLimitMs;
  for (;;) {
    try {
      const [row] = await query(url, 'show server_version');
      return row.server_version;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(50);
    }
  }
}

export async function query(url, text, values = []) {
  return withClient(url, async (client) => (await client.query(text, values)).rows);
}

export async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
