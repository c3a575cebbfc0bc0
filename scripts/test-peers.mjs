// What the tests need beside npm packages: Debian programs, a system PostgreSQL, and a newer Node.
// Each function returns what it found, or a sentence that says why it is missing.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

// The one list of Debian packages that tests rely on. A package is installed when its command is missing.
const debianPackages = [
  { name: 'chromium', command: 'chromium', neededFor: 'the console in a real browser' },
  { name: 'pgbouncer', command: 'pgbouncer', neededFor: 'transaction pooling in front of PostgreSQL' },
  { name: 'vsftpd', command: 'vsftpd', neededFor: 'adapters that read from a real FTP server' },
  { name: 'openssl', command: 'openssl', neededFor: 'certificates of FTP servers in tests' },
  { name: 'tesseract-ocr', command: 'tesseract', neededFor: 'text in images and scans' },
  { name: 'git', command: 'git', neededFor: 'repositories that Git itself serves' },
  { name: 'curl', command: 'curl', neededFor: 'the commands of the tutorials' },
  { name: 'util-linux', command: 'setpriv', neededFor: 'running the server as an ordinary user' },
];
const newestNodeMajor = 24;
const oldestPostgresMajor = 15;
const installTimeoutMs = 300_000;

/** Installs missing packages if possible; returns one sentence per package that is still missing. */
export function ensureDebianPackages() {
  const missing = debianPackages.filter(({ command }) => !findCommand(command));
  if (missing.length === 0) return [];
  const reason = installDebianPackages(missing.map(({ name }) => name));
  return missing
    .filter(({ command }) => !findCommand(command))
    .map(({ name, neededFor }) => `${name} (${neededFor}): ${reason}`);
}

function installDebianPackages(names) {
  if (process.getuid?.() !== 0) return `not installed, and only root can: apt-get install ${names.join(' ')}`;
  if (!findCommand('apt-get')) return 'not installed, and there is no apt-get here';
  // RUNLEVEL=1 keeps Debian from starting the services it installs: the tests start their own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const options = { env, encoding: 'utf8', timeout: installTimeoutMs };
  const update = spawnSync('apt-get', ['update', '-qq'], options);
  if (update.status !== 0) return `apt-get update failed: ${reasonOf(update)}`;
  const install = spawnSync(
    'apt-get',
    ['install', '-y', '-qq', '--no-install-recommends', ...names],
    options,
  );
  return install.status === 0
    ? 'installed, but its command is not on the PATH'
    : `apt-get: ${reasonOf(install)}`;
}

/** Debian's browser, as `{ path }` or `{ missing }`. */
export function findChromium() {
  const path = findCommand('chromium');
  return path ? { path } : { missing: 'there is no chromium on the PATH (Debian: apt-get install chromium)' };
}

/** The oldest system PostgreSQL that Sluice still supports, as `{ version }` or `{ missing }`. */
export function findSystemPostgres() {
  const found = postgresDirectories()
    .map((directory) => postgresVersion(join(directory, 'postgres')))
    .filter((version) => version !== null);
  const usable = found.filter((version) => Number.parseInt(version, 10) >= oldestPostgresMajor);
  if (usable.length > 0) return { version: usable[0] };
  if (found.length > 0) return { missing: `PostgreSQL ${found[0]} is older than ${oldestPostgresMajor}` };
  return { missing: `no system PostgreSQL ≥ ${oldestPostgresMajor} (Debian: apt-get install postgresql)` };
}

function postgresDirectories() {
  const debian = '/usr/lib/postgresql';
  const directories = existsSync(debian)
    ? readdirSync(debian)
        .sort((a, b) => Number(a) - Number(b))
        .map((version) => join(debian, version, 'bin'))
    : [];
  const configured = findCommand('pg_config')
    ? spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' })
    : null;
  if (configured?.status === 0) directories.push(configured.stdout.trim());
  return directories;
}

function postgresVersion(program) {
  if (!existsSync(program)) return null;
  const answer = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /(\d+(?:\.\d+)*)/.exec(answer.stdout ?? '')?.[1] ?? null;
}

/** A Node of the newest supported major version, as `{ path, version }` or `{ missing }`. */
export async function findNewestNode() {
  if (Number.parseInt(process.versions.node, 10) === newestNodeMajor) return checkedNode(process.execPath);
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const cache = await cacheDirectory();
  const home = join(cache, `${name}-${newestNodeMajor}`);
  const path = join(home, 'node_modules', name, 'bin', 'node');
  if (existsSync(path)) return checkedNode(path);

  const scratch = await mkdtemp(join(cache, 'installing-'));
  try {
    // The binary's own package and not `node`: that one fetches it in an install script, and those are off.
    const install = spawnSync(
      'npm',
      [
        ...['install', `${name}@${newestNodeMajor}`, '--prefix', scratch, '--no-save', '--ignore-scripts'],
        // A cache of its own: a user without a writable home directory can still fetch it.
        ...['--cache', join(cache, 'npm')],
      ],
      { cwd: scratch, encoding: 'utf8', timeout: installTimeoutMs },
    );
    if (install.status !== 0) return { missing: `npm could not fetch ${name}: ${reasonOf(install)}` };
    await rename(scratch, home).catch((error) => {
      // Another test run was faster; its copy is just as good.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return checkedNode(path);
}

function checkedNode(path) {
  const answer = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (answer.status === 0) return { path, version: answer.stdout.trim() };
  return { missing: `${path} does not run here: ${reasonOf(answer)}` };
}

async function cacheDirectory() {
  const owner = process.getuid?.() ?? 'user';
  const candidates = [
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice-test'),
    join(tmpdir(), `sluice-test-${owner}`),
  ];
  for (const directory of candidates) {
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // Files here are executed, so a directory that another user created is not safe.
      if ((await lstat(directory)).uid === process.getuid?.()) return directory;
    } catch {
      // Not writable: try the next candidate, and finally a new directory.
    }
  }
  return mkdtemp(join(tmpdir(), 'sluice-test-'));
}

function findCommand(command) {
  // Services are in /usr/sbin, which an ordinary user's PATH does not have.
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return directories.map((directory) => join(directory, command)).find((path) => existsSync(path)) ?? null;
}

/** The sentence in a failed program's output that says why; npm and apt-get put advice after it. */
function reasonOf({ stdout, stderr, error }) {
  if (error) return error.message;
  const lines = `${stdout ?? ''}\n${stderr ?? ''}`.split('\n').filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => /^(npm error|E:)/.test(line) && !/^npm error code/.test(line));
  return errors[0] ?? lines.at(-1) ?? 'it gave no reason';
}
