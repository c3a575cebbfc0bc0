import { execFileSync, spawn } from 'node:child_process';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { NetConnectOpts } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { queryOnce, unprivilegedUser, waitUntilReady } from './postgres-server.ts';

/** Debian's PostgreSQL as a primary and a replica that streams from it. */
export interface ReplicatedPostgres {
  primary: ReplicatedServer;
  replica: ReplicatedServer;
  stop(): Promise<void>;
}

export interface ReplicatedServer {
  /** The owner's, over the server's own socket. */
  ownerUrl: string;
  /** For a proxy. */
  address: NetConnectOpts;
}

export async function startReplicatedPostgres(bin: string): Promise<ReplicatedPostgres> {
  const user = unprivilegedUser();
  const home = await mkdtemp(path.join(tmpdir(), 'sluice-pair-'));
  const give = (name: string) => (user ? chown(name, user.uid, user.gid) : Promise.resolve());
  await give(home);
  const run = (program: string, args: string[]) =>
    execFileSync(path.join(bin, program), args, {
      ...user,
      stdio: 'ignore',
      cwd: '/',
      env: { ...process.env, PGPASSWORD: 'test-owner' },
    });
  const servers: { stop(): Promise<void> }[] = [];
  const start = async (name: string) => {
    const socketDir = path.join(home, `${name}-socket`);
    await mkdir(socketDir);
    await give(socketDir);
    const server = await startPostgres({ bin, user, dataDir: path.join(home, name), socketDir });
    servers.push(server);
    return server;
  };
  const stop = async () => {
    for (const server of servers.reverse()) await server.stop();
    await rm(home, { recursive: true, force: true });
  };
  try {
    const passwordFile = path.join(home, 'password');
    await writeFile(passwordFile, 'test-owner', { mode: 0o644 });
    const rights = ['-U', 'sluice_owner', '--pwfile', passwordFile, '-A', 'scram-sha-256'];
    run('initdb', ['-D', path.join(home, 'primary'), ...rights, '-E', 'UTF8', '--locale=C', '--no-sync']);
    const primary = await start('primary');
    const from = ['-h', path.join(home, 'primary-socket'), '-U', 'sluice_owner'];
    run('pg_basebackup', ['-D', path.join(home, 'replica'), ...from, '-R', '-c', 'fast', '--no-sync']);
    const replica = await start('replica');
    return { primary, replica, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startPostgres(options: {
  bin: string;
  user: { uid: number; gid: number } | undefined;
  dataDir: string;
  socketDir: string;
}): Promise<ReplicatedServer & { stop(): Promise<void> }> {
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${options.socketDir}`,
    'fsync=off',
    'timezone=UTC',
  ];
  const child = spawn(
    path.join(options.bin, 'postgres'),
    ['-D', options.dataDir, ...settings.flatMap((setting) => ['-c', setting])],
    { ...options.user, stdio: 'ignore', cwd: '/', detached: true },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ownerUrl = `postgres://sluice_owner:test-owner@${encodeURIComponent(options.socketDir)}:5432/postgres`;
  await waitUntilReady(ownerUrl, 60_000);
  return {
    ownerUrl,
    address: { path: path.join(options.socketDir, '.s.PGSQL.5432') },
    stop: async () => {
      child.kill('SIGQUIT');
      await ended;
    },
  };
}

/** What a failover does to an old primary that is still there: it accepts no writes any more. */
export async function demote({ ownerUrl }: ReplicatedServer): Promise<void> {
  await queryOnce(ownerUrl, 'alter system set default_transaction_read_only = on');
  await queryOnce(ownerUrl, 'select pg_reload_conf()');
}

export async function acceptWrites({ ownerUrl }: ReplicatedServer): Promise<void> {
  const writable = `${ownerUrl}?options=${encodeURIComponent('-c default_transaction_read_only=off')}`;
  await queryOnce(writable, 'alter system reset all');
  await queryOnce(ownerUrl, 'select pg_reload_conf()');
}
