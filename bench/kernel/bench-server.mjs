// A PostgreSQL of the benchmark's own: Debian's, with its usual durability (fsync and synchronous_commit on).
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { build } from '../../scripts/build.mjs';

const startLimitMs = 30_000;

/** A migrated database and the two logins; `stop` removes everything. */
export async function startBenchServer() {
  const built = await build();
  if (built.status === 'failed') throw new Error(`The build failed:\n${built.message}`);
  const server = await startPostgres();
  try {
    const { ensureRoles, ensureAppLogin, appUrlFor } = await import('../../dist/lib/database-roles.js');
    const { migrateUp } = await import('../../dist/lib/migrate.js');
    await ensureRoles(server.ownerUrl);
    await migrateUp(server.ownerUrl);
    await ensureAppLogin(server.ownerUrl);
    return { ...server, appUrl: appUrlFor(server.ownerUrl) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function startPostgres() {
  const bin = findPostgres();
  const user = unprivilegedUser();
  const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  if (user) await chown(home, user.uid, user.gid);
  const passwordFile = join(home, 'password');
  await writeFile(passwordFile, 'bench-owner', { mode: 0o644 });
  const postgresDir = join(home, 'data');
  const options = { ...user, stdio: 'ignore', cwd: '/' };
  execFileSync(
    join(bin, 'initdb'),
    [
      ...['-D', postgresDir, '-U', 'sluice_owner', '--pwfile', passwordFile],
      ...['-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C'],
    ],
    options,
  );
  const settings = { listen_addresses: '', unix_socket_directories: home, shared_buffers: '512MB' };
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', postgresDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...options, detached: true },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const ownerUrl = `postgres://sluice_owner:bench-owner@${encodeURIComponent(home)}:5432/postgres`;
  const version = await untilReady(ownerUrl);
  return {
    ownerUrl,
    version,
    async stop() {
      child.kill('SIGINT');
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

function findPostgres() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root)
    ? readdirSync(root)
        .map(Number)
        .filter((version) => version >= 15)
    : [];
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
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}
