import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type Account,
  findClosedDirectory,
  getUnprivilegedAccount,
  isOwnDirectory,
  isRoot,
  ownerOf,
} from './account.ts';
import { errorCode, findText, replaceFile } from './files.ts';

/** Where everything of one database lies. Each process works it out alone and must come to the same result. */
export interface Layout {
  dataDir: string;
  /** PGDATA. */
  postgresDir: string;
  socketDir: string;
  passwordFile: string;
  logFile: string;
  /** Null when the server runs as the user that we are. */
  account: Account | null;
}

export const socketPort = 5432;

/** struct sockaddr_un has room for 108 bytes, the last one is a zero. */
const maxSocketPathBytes = 107;

const systemWideDir = '/var/lib/sluice';

export async function findLayout(dataDirOption: string, onNotice: (text: string) => void): Promise<Layout> {
  const dataDir = await makeDataDir(dataDirOption);
  const { postgresDir, account } = isRoot()
    ? await findPlaceAsRoot(dataDir, onNotice)
    : { postgresDir: await findPlaceAsUser(dataDir), account: null };
  return {
    dataDir,
    postgresDir,
    socketDir: chooseSocketDir(postgresDir),
    passwordFile: join(dataDir, 'postgres.password'),
    logFile: join(dataDir, 'postgres.log'),
    account,
  };
}

function chooseSocketDir(postgresDir: string): string {
  const beside = join(dirname(postgresDir), 'postgres.socket');
  const longest = Buffer.byteLength(join(beside, `.s.PGSQL.${socketPort}`));
  if (longest <= maxSocketPathBytes) return beside;
  // Not TMPDIR: it differs between processes and can itself be long, and all of them must find the socket.
  return `/tmp/sluice-${shortHash(postgresDir)}`;
}

/** Only the server's user gets in. Another user may have created a directory of this name in /tmp before us. */
export async function makeSocketDir(layout: Layout): Promise<void> {
  const { socketDir, account } = layout;
  const created = await mkdir(socketDir, { mode: 0o700 }).then(
    () => true,
    (error) => {
      if (errorCode(error) === 'EEXIST') return false;
      throw error;
    },
  );
  if (created && account) await chown(socketDir, account.uid, account.gid);
  await requireOwnSocketDir(layout);
  await chmod(socketDir, 0o700);
}

export async function requireOwnSocketDir({ socketDir, account }: Layout): Promise<void> {
  if (await isOwnDirectory(socketDir, account)) return;
  throw new Error(
    `${socketDir}, the directory for the database's socket, does not belong to ` +
      `${account?.name ?? 'the user that Sluice runs as'}. ` +
      'Its owner could listen there in place of the database. Remove it and start again.',
  );
}

async function makeDataDir(option: string): Promise<string> {
  try {
    const created = await mkdir(option, { recursive: true });
    // As root the server is another user, who must be able to pass through whatever our umask is.
    if (created !== undefined) await chmod(option, isRoot() ? 0o711 : 0o700);
    return await realpath(option);
  } catch (error) {
    throw new Error(
      `The data directory ${option} cannot be created or entered. Make it writable for the user that Sluice runs as, ` +
        'or set SLUICE_DATA_DIR to another place.',
      { cause: error },
    );
  }
}

async function findPlaceAsUser(dataDir: string): Promise<string> {
  const postgresDir = (await findRecordedPlace(dataDir)) ?? join(dataDir, 'postgres');
  const found = await stat(postgresDir).catch(() => null);
  if (found === null || found.uid === process.getuid?.()) return postgresDir;
  const owner = await ownerOf(postgresDir);
  throw new Error(
    `The database in ${postgresDir} belongs to ${owner.name}: it was made by Sluice running as root or as ` +
      `another user. Run Sluice as that user again, or set SLUICE_DATA_DIR to another place.`,
  );
}

interface Place {
  postgresDir: string;
  account: Account;
}

async function findPlaceAsRoot(dataDir: string, onNotice: (text: string) => void): Promise<Place> {
  const recorded = await findRecordedPlace(dataDir);
  const postgresDir = recorded ?? join(dataDir, 'postgres');
  const account = (await findOwner(postgresDir)) ?? (await getUnprivilegedAccount());
  const closed = await findClosedDirectory(recorded ? await makeHome(postgresDir) : dataDir, account);
  if (closed === null) return { postgresDir, account };
  if (recorded || (await findOwner(postgresDir))) {
    throw new Error(
      `The database in ${postgresDir} belongs to user ${account.name}, who may no longer enter ${closed}. ` +
        `Run "chmod o+x ${closed}", or run Sluice as ${account.name}.`,
    );
  }
  return { postgresDir: await moveOut({ dataDir, account, closed, onNotice }), account };
}

async function moveOut(request: {
  dataDir: string;
  account: Account;
  closed: string;
  onNotice: (text: string) => void;
}): Promise<string> {
  const { dataDir, account, closed, onNotice } = request;
  const name = `${basename(dataDir).replace(/^\.+/, '') || 'database'}-${shortHash(dataDir)}`;
  const postgresDir = join(systemWideDir, name, 'postgres');
  await makeHome(postgresDir);
  await replaceFile(locationFile(dataDir), { text: `${postgresDir}\n`, mode: 0o644 });
  onNotice(
    `The database lives in ${postgresDir}, because PostgreSQL does not run as root and user ${account.name} may ` +
      `not enter ${closed}. ${locationFile(dataDir)} says so too; keep both in your backups.`,
  );
  return postgresDir;
}

/** The directory above PGDATA, open for passing through. */
async function makeHome(postgresDir: string): Promise<string> {
  const home = dirname(postgresDir);
  if ((await mkdir(home, { recursive: true })) !== undefined) {
    await chmod(home, 0o711);
    if (dirname(home) === systemWideDir) await chmod(systemWideDir, 0o755);
  }
  return home;
}

async function findRecordedPlace(dataDir: string): Promise<string | null> {
  const text = (await findText(locationFile(dataDir)))?.trim();
  return text ? text : null;
}

function locationFile(dataDir: string): string {
  return join(dataDir, 'postgres.location');
}

/** Root's own directories do not count: they are left from a start that was cut short. */
async function findOwner(postgresDir: string): Promise<Account | null> {
  const found = await stat(postgresDir).catch(() => null);
  if (found === null || found.uid === 0) return null;
  return await ownerOf(postgresDir);
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
