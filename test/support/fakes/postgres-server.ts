import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, statfsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { joinEmbeddedPostgres } from '../../../src/lib/postgres/embedded/embedded-postgres.ts';
import { quoteIdentifier } from '../../../src/lib/postgres/sql.ts';

export interface TestServer {
  ownerUrl: string;
  postgresDir: string;
  stop(): Promise<void>;
}

/**
 * For the server that all test files share. What a test proves about durability it proves by killing our processes, or
 * with a PostgreSQL of its own that it may kill: this one never has to survive. To make and drop the database of a test
 * file took 0.4 s with fsync on a disk, and takes 0.1 s without and in memory.
 */
const unsafeSettings = { fsync: 'off', full_page_writes: 'off', max_wal_size: '512MB' };

/** In memory where there is room: a database is cloned and dropped for every test file. */
function roomyDirectory(): string {
  const inMemory = '/dev/shm';
  const neededBytes = 4 * 1024 ** 3;
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize >= neededBytes ? inMemory : tmpdir();
  } catch {
    // Not Linux: there is no such place.
    return tmpdir();
  }
}

export function startTestServer(): Promise<TestServer> {
  return process.env.SLUICE_TEST_POSTGRES === 'system' ? startSystemServer() : startEmbeddedServer();
}

async function startEmbeddedServer(): Promise<TestServer> {
  const dataDir = await mkdtemp(path.join(roomyDirectory(), 'sluice-test-'));
  await chmod(dataDir, 0o755);
  const settings = { max_connections: '400', ...unsafeSettings };
  const server = await joinEmbeddedPostgres({ dataDir, settings });
  return {
    ownerUrl: server.ownerUrl,
    postgresDir: server.postgresDir,
    async stop() {
      await server.leave();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Where Debian keeps the newest PostgreSQL, or null. */
export function findSystemPostgres(): string | null {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return null;
  const versions = readdirSync(root)
    .map(Number)
    .filter((version) => version >= 15);
  const bin = path.join(root, String(Math.max(...versions)), 'bin');
  return existsSync(path.join(bin, 'initdb')) ? bin : null;
}

async function startSystemServer(): Promise<TestServer> {
  const bin = findSystemPostgres();
  if (bin === null) throw new Error('There is no system PostgreSQL >= 15 under /usr/lib/postgresql');
  const user = unprivilegedUser();
  const home = await mkdtemp(path.join(roomyDirectory(), 'sluice-pg-'));
  if (user) await chown(home, user.uid, user.gid);
  const postgresDir = path.join(home, 'data');
  const passwordFile = path.join(home, 'password');
  await writeFile(passwordFile, 'test-owner', { mode: 0o644 });
  execFileSync(
    path.join(bin, 'initdb'),
    [
      '-D',
      postgresDir,
      '-U',
      'sluice_owner',
      '--pwfile',
      passwordFile,
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { ...user, stdio: 'ignore', cwd: '/' },
  );
  const all = {
    listen_addresses: '',
    unix_socket_directories: home,
    max_connections: '400',
    client_connection_check_interval: '1s',
    timezone: 'UTC',
    ...unsafeSettings,
  };
  const child = spawn(
    path.join(bin, 'postgres'),
    ['-D', postgresDir, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...user, stdio: 'ignore', cwd: '/', detached: true },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ownerUrl = `postgres://sluice_owner:test-owner@${encodeURIComponent(home)}:5432/postgres`;
  await waitUntilReady(ownerUrl, 30_000);
  return {
    ownerUrl,
    postgresDir,
    async stop() {
      child.kill('SIGINT');
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

export async function waitUntilReady(url: string, deadlineMs: number): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    try {
      await queryOnce(url, 'select 1');
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
}

export async function queryOnce<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

export async function createDatabase(serverUrl: string, name: string, template?: string): Promise<void> {
  const from = template === undefined ? '' : ` template ${quoteIdentifier(template)} strategy file_copy`;
  await queryOnce(serverUrl, `create database ${quoteIdentifier(name)}${from}`);
}

/** PostgreSQL refuses to run as root: the Debian user `postgres`, when we are root. */
export function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const uid = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }));
  const gid = Number(execFileSync('id', ['-g', 'postgres'], { encoding: 'utf8' }));
  return { uid, gid };
}
