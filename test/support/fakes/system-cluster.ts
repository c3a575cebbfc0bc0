import { execFile, execFileSync, spawn } from 'node:child_process';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  findSystemPostgres,
  queryOnce,
  unprivilegedUser,
  waitUntilReady,
  withDatabase,
} from './postgres-server.ts';

const run = promisify(execFile);

/**
 * A cluster of the system's PostgreSQL, which has what the embedded one lacks: pg_dump, psql and pg_basebackup. It runs
 * on a socket in a directory of its own and is stopped and removed by whoever made it.
 */
export class SystemCluster {
  readonly #home: string;
  #ended: Promise<void> = Promise.resolve();
  #kill: (signal: NodeJS.Signals) => void = () => {};

  private constructor(home: string) {
    this.#home = home;
  }

  /** A fresh one, running. */
  static async create(): Promise<SystemCluster> {
    const cluster = await SystemCluster.#inNewHome();
    const options = ['-U', 'sluice_owner', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    execFileSync(program('initdb'), ['-D', cluster.#dataDir, ...options], asUser());
    await cluster.start();
    return cluster;
  }

  static async #inNewHome(): Promise<SystemCluster> {
    const home = await mkdtemp(path.join(tmpdir(), 'sluice-cluster-'));
    const user = unprivilegedUser();
    if (user) await chown(home, user.uid, user.gid);
    return new SystemCluster(home);
  }

  get #dataDir(): string {
    return path.join(this.#home, 'data');
  }

  url(database: string): string {
    return `postgres://sluice_owner:none@${encodeURIComponent(this.#home)}:5432/${database}`;
  }

  async start(settings: Record<string, string> = {}): Promise<void> {
    const all = {
      ...{ listen_addresses: '', unix_socket_directories: this.#home, fsync: 'off', timezone: 'UTC' },
      ...settings,
    };
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(program('postgres'), ['-D', this.#dataDir, ...flags], {
      ...asUser(),
      detached: true,
    });
    this.#kill = (signal) => child.kill(signal);
    this.#ended = new Promise((resolve) => child.once('exit', () => resolve()));
    await waitUntilReady(this.url('postgres'), 30_000);
  }

  /** Everything up to here, in a cluster of its own that is not running yet. */
  async baseBackup(): Promise<SystemCluster> {
    const copy = await SystemCluster.#inNewHome();
    const from = ['-h', this.#home, '-U', 'sluice_owner'];
    await run(program('pg_basebackup'), [...from, '-D', copy.#dataDir, '-c', 'fast'], asUser());
    return copy;
  }

  /** A standby that never hears of its primary again, and is promoted: a new timeline begins. */
  async startPromoted(): Promise<void> {
    await this.#signal('standby.signal');
    await this.start();
    await queryOnce(this.url('postgres'), 'select pg_promote()');
    await this.#untilWritable();
  }

  /** Recovers only as far as it must, as a recovery to a point in time does. */
  async startRecovered(): Promise<void> {
    await this.#signal('recovery.signal');
    await this.start({
      restore_command: 'false',
      recovery_target: 'immediate',
      recovery_target_action: 'promote',
    });
    await this.#untilWritable();
  }

  async dump(database: string): Promise<string> {
    const { stdout } = await run(program('pg_dump'), [this.url(database)], {
      ...asUser(),
      maxBuffer: 256 * 1024 * 1024,
    });
    return stdout;
  }

  async restore(database: string, dump: string): Promise<void> {
    await queryOnce(this.url('postgres'), `create database ${database}`);
    const file = path.join(this.#home, 'dump.sql');
    await writeFile(file, dump);
    const flags = ['-v', 'ON_ERROR_STOP=1', '-q', '-o', '/dev/null', '-f', file];
    await run(program('psql'), [...flags, withDatabase(this.url('postgres'), database)], asUser());
  }

  async remove(): Promise<void> {
    this.#kill('SIGINT');
    await this.#ended;
    await rm(this.#home, { recursive: true, force: true });
  }

  async #signal(name: string): Promise<void> {
    const file = path.join(this.#dataDir, name);
    await writeFile(file, '');
    const user = unprivilegedUser();
    if (user) await chown(file, user.uid, user.gid);
  }

  async #untilWritable(): Promise<void> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const [row] = await queryOnce<{ isStandby: boolean }>(
        this.url('postgres'),
        'select pg_is_in_recovery() as "isStandby"',
      );
      if (row?.isStandby === false) return;
      if (Date.now() > deadline) throw new Error('The cluster was not promoted within 30 s');
    }
  }
}

function program(name: string): string {
  const bin = findSystemPostgres();
  if (bin === null) throw new Error('There is no system PostgreSQL >= 15 under /usr/lib/postgresql');
  return path.join(bin, name);
}

function asUser() {
  return { ...unprivilegedUser(), stdio: 'ignore', cwd: '/' } as const;
}
