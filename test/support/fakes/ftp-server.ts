import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../worlds/kernel.ts';
import { freePort } from './ports.ts';

/** A real FTP server of one test file: vsftpd on a port of its own, with one user and one password. */
export interface FtpServer {
  readonly port: number;
  /** What clients see and what lies on the disk: the server shows its files where they are. */
  readonly folder: string;
  readonly user: string;
  readonly password: string;
  /** PEM; null without TLS. */
  readonly certificate: string | null;
  /** Restarts on the same port. */
  start(): Promise<void>;
  kill(): Promise<void>;
  remove(): Promise<void>;
}

/** Services live in /usr/sbin, which an ordinary user's PATH leaves out. */
export function findFtpServer(): string | null {
  const directories = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/sbin'];
  return directories.map((directory) => path.join(directory, 'vsftpd')).find(existsSync) ?? null;
}

const password = 'open sesame';

/** `bytesPerSecond`: so slow that a file can be caught on its way. */
export async function prepareFtpServer(options: {
  program: string;
  tls: boolean;
  bytesPerSecond: number;
}): Promise<FtpServer> {
  const home = await mkdtemp(path.join(tmpdir(), 'sluice-ftp-'));
  const folder = path.join(home, 'inbox');
  await mkdir(folder);
  const certificate = options.tls ? await makeCertificate(home) : null;
  const port = await freePort();
  const config = path.join(home, 'vsftpd.conf');
  await writeFile(path.join(home, 'passwords'), `${password}\n`);
  await writeFile(config, configOf({ ...options, home, port }));
  let child: ChildProcess | undefined;
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    // With the processes of its sessions, as when the machine is switched off.
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  };
  return {
    ...{ port, folder, user: 'anonymous', password, certificate },
    start: async () => {
      const started = spawn(options.program, [config], { stdio: 'ignore', cwd: '/', detached: true });
      child = started;
      const listens = async () => {
        if (started.exitCode !== null) throw new Error(`vsftpd ended with ${started.exitCode}`);
        return canConnect(port);
      };
      await eventually(listens, 'the FTP server listens');
    },
    kill,
    remove: async () => {
      await kill();
      await rm(home, { recursive: true, force: true });
    },
  };
}

function configOf({
  home,
  port,
  tls,
  bytesPerSecond,
}: {
  home: string;
  port: number;
  tls: boolean;
  bytesPerSecond: number;
}): string {
  const settings = {
    anon_max_rate: bytesPerSecond,
    listen: 'YES',
    listen_address: '127.0.0.1',
    listen_port: port,
    background: 'NO',
    // Needs no root, and shows files where they are instead of in a cage.
    run_as_launching_user: 'YES',
    secure_chroot_dir: home,
    anonymous_enable: 'YES',
    local_enable: 'NO',
    // Anonymous by name; the password is looked at all the same.
    secure_email_list_enable: 'YES',
    email_password_file: path.join(home, 'passwords'),
    write_enable: 'YES',
    anon_mkdir_write_enable: 'YES',
    anon_other_write_enable: 'YES',
    anon_world_readable_only: 'NO',
    allow_writeable_chroot: 'YES',
    seccomp_sandbox: 'NO',
    xferlog_enable: 'NO',
    ...(tls
      ? {
          ssl_enable: 'YES',
          allow_anon_ssl: 'YES',
          force_anon_logins_ssl: 'YES',
          force_anon_data_ssl: 'YES',
          rsa_cert_file: path.join(home, 'certificate.pem'),
          rsa_private_key_file: path.join(home, 'key.pem'),
          ssl_tlsv1: 'YES',
        }
      : {}),
  };
  return `${Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}

async function makeCertificate(home: string): Promise<string> {
  const [key, certificate] = [path.join(home, 'key.pem'), path.join(home, 'certificate.pem')];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, '-keyout', key, '-out', certificate, ...name], {
    stdio: 'ignore',
  });
  return readFile(certificate, 'utf8');
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
