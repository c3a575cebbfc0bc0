import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { kernelUrlFor } from '../../../src/lib/postgres/roles.ts';
import { freePort } from './ports.ts';
import { waitUntilReady } from './postgres-server.ts';

export interface PgBouncer {
  /** The same login and database, through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Services live in /usr/sbin, which an ordinary user's PATH leaves out. */
export function findPgBouncer(): string | null {
  const directories = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/sbin'];
  return directories.map((directory) => path.join(directory, 'pgbouncer')).find(existsSync) ?? null;
}

/** pgbouncer in transaction mode in front of one database, for the application's login and the kernel's. */
export async function startPgBouncer(options: { program: string; databaseUrl: string }): Promise<PgBouncer> {
  const target = new URL(options.databaseUrl);
  const host = decodeURIComponent(target.hostname);
  const dir = await mkdtemp(path.join(tmpdir(), 'sluice-bouncer-'));
  await chmod(dir, 0o755);
  const port = await freePort();
  const database = target.pathname.slice(1);
  const users = [options.databaseUrl, kernelUrlFor(options.databaseUrl)].map(userLine).join('');
  await writeFile(path.join(dir, 'users.txt'), users, { mode: 0o644 });
  await writeFile(
    path.join(dir, 'pgbouncer.ini'),
    `[databases]
${database} = host=${host} port=${target.port || '5432'} dbname=${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${path.join(dir, 'users.txt')}
pool_mode = transaction
default_pool_size = 10
max_client_conn = 200
server_reset_query_always = 0
`,
    { mode: 0o644 },
  );
  // It refuses to run as root, like PostgreSQL; both run as Debian's user `postgres`.
  const asUser = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
  const child = spawn(options.program, ['-q', ...asUser, path.join(dir, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: '/',
  });
  const ended = endOf(child);
  const url = `postgres://${target.username}:${target.password}@127.0.0.1:${port}/${database}`;
  await Promise.race([waitUntilReady(url, 60_000), ended.then(refuse)]);
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function userLine(url: string): string {
  const { username, password } = new URL(url);
  return `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`;
}

function endOf(child: ChildProcess): Promise<string> {
  let words = '';
  child.stderr?.on('data', (chunk) => {
    words += String(chunk);
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(`exit code ${code}: ${words}`)));
}

function refuse(reason: string): never {
  throw new Error(`pgbouncer did not start: ${reason}`);
}
