import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serverEnvironment } from './cluster.ts';
import { errorCode, findText } from './files.ts';
import { type Layout, makeSocketDir, socketPort } from './layout.ts';
import { findCommand } from './processes.ts';

interface Postmaster {
  pid: number;
  /** Whether it accepts logins; else it is starting, recovering or stopping. */
  ready: boolean;
}

type StartOutcome = { ready: true } | { ready: false; reason: string };

/** A crash with much to replay; PostgreSQL itself stays patient too, and killing it would only begin again. */
const startLimitMs = 10 * 60_000;
const stopLimitMs = 60_000;
const pollMs = 15;
const maxLogBytes = 10 * 1024 * 1024;

const defaultSettings: Record<string, string> = {
  client_connection_check_interval: '1s',
  fsync: 'on',
  idle_session_timeout: '0',
  jit: 'off',
  listen_addresses: '',
  log_min_messages: 'warning',
  log_timezone: 'UTC',
  max_connections: '200',
  max_wal_size: '2GB',
  shared_buffers: '128MB',
  timezone: 'UTC',
  wal_compression: 'on',
};

/** The living server of this database, or null. */
export async function findPostmaster(postgresDir: string): Promise<Postmaster | null> {
  const lines = (await findText(join(postgresDir, 'postmaster.pid')))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  if (!(await isPostmaster(pid, postgresDir))) return null;
  return { pid, ready: lines[7]?.trim() === 'ready' };
}

/** Start the server in a session of its own, so that Ctrl-C in our terminal does not reach it. */
export async function startPostmaster(
  layout: Layout,
  request: { postgres: string; settings: Record<string, string> },
): Promise<StartOutcome> {
  await removeForeignLocks(layout);
  await makeSocketDir(layout);
  await rotateLog(layout.logFile);
  const log = await open(layout.logFile, 'a', 0o600);
  try {
    const logStart = (await log.stat()).size;
    const server = spawn(request.postgres, serverArguments(layout, request.settings), {
      ...(layout.account && { uid: layout.account.uid, gid: layout.account.gid }),
      cwd: dirname(layout.postgresDir),
      detached: true,
      env: serverEnvironment,
      stdio: ['ignore', log.fd, log.fd],
    });
    server.unref();
    const ended = new AbortController();
    server.once('exit', () => ended.abort());
    if (server.pid === undefined) throw await spawnError(server, request.postgres);
    if (await waitUntilReady({ pid: server.pid, postgresDir: layout.postgresDir, ended: ended.signal })) {
      return { ready: true };
    }
    return { ready: false, reason: await readLogSince(layout.logFile, logStart) };
  } finally {
    await log.close();
  }
}

/** Fast shutdown: sessions are ended, everything is written. Resolves when the process is gone. */
export async function stopPostmaster(postgresDir: string): Promise<void> {
  const postmaster = await findPostmaster(postgresDir);
  if (postmaster === null) return;
  signal(postmaster.pid, 'SIGINT');
  if (await waitUntilGone(postmaster.pid, postgresDir)) return;
  // Immediate shutdown loses nothing that was committed: the next start replays the log.
  signal(postmaster.pid, 'SIGQUIT');
  if (await waitUntilGone(postmaster.pid, postgresDir)) return;
  throw new Error(
    `The database server (pid ${postmaster.pid}) did not stop within ${(2 * stopLimitMs) / 1000} s. ` +
      `Its log is beside ${postgresDir}; end the process by hand if it hangs on a broken disk.`,
  );
}

export async function readLogTail(logFile: string): Promise<string> {
  const size = (await stat(logFile).catch(() => null))?.size ?? 0;
  return await readLogSince(logFile, Math.max(0, size - 4_000));
}

async function isPostmaster(pid: number, postgresDir: string): Promise<boolean> {
  const command = await findCommand(pid);
  return command?.includes(`postgres -D ${postgresDir} `) ?? false;
}

function serverArguments(layout: Layout, extra: Record<string, string>): string[] {
  const settings = {
    ...defaultSettings,
    ...extra,
    port: String(socketPort),
    unix_socket_directories: quoteListEntry(layout.socketDir),
  };
  const pairs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', layout.postgresDir, ...pairs];
}

/** The setting is a comma-separated list of paths, so a path with a comma or a blank needs quotes. */
function quoteListEntry(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

/**
 * PostgreSQL takes a lock file for valid when its pid is alive and of the same user, whatever program that
 * is. After a container restart it easily is: our own. A dead pid we leave to PostgreSQL, which checks more.
 */
async function removeForeignLocks({ postgresDir, socketDir }: Layout): Promise<void> {
  const files = [join(postgresDir, 'postmaster.pid'), join(socketDir, `.s.PGSQL.${socketPort}.lock`)];
  for (const file of files) {
    const pid = Number((await findText(file))?.split('\n')[0]);
    if (!Number.isSafeInteger(pid) || pid <= 0 || !isAlive(pid)) continue;
    if (!(await isPostmaster(pid, postgresDir))) await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

async function spawnError(server: ReturnType<typeof spawn>, program: string): Promise<Error> {
  const [error] = await once(server, 'error').catch((cause) => [cause]);
  return new Error(
    `The database server ${program} could not be run: ${String(error)}. Its programs need a system with glibc ` +
      '(not Alpine) and the right to change the user when Sluice is root; else set DATABASE_URL.',
    { cause: error },
  );
}

async function waitUntilReady(server: {
  pid: number;
  postgresDir: string;
  ended: AbortSignal;
}): Promise<boolean> {
  const deadline = Date.now() + startLimitMs;
  while (!server.ended.aborted && Date.now() < deadline) {
    const found = await findPostmaster(server.postgresDir);
    if (found?.ready && found.pid === server.pid) return true;
    await delay(pollMs);
  }
  return false;
}

async function waitUntilGone(pid: number, postgresDir: string): Promise<boolean> {
  const deadline = Date.now() + stopLimitMs;
  while (Date.now() < deadline) {
    if (!(await isPostmaster(pid, postgresDir))) return true;
    await delay(pollMs);
  }
  return false;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

async function rotateLog(logFile: string): Promise<void> {
  const found = await stat(logFile).catch(() => null);
  if (found && found.size > maxLogBytes) await rename(logFile, `${logFile}.1`);
}

async function readLogSince(logFile: string, start: number): Promise<string> {
  const file = await open(logFile, 'r').catch(() => null);
  if (file === null) return '(no log)';
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(4_000), 0, 4_000, start);
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await file.close();
  }
}
