import { lstat, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The operating-system user that the server runs as when we are root, which PostgreSQL refuses to be. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

const preferredNames = ['postgres', 'nobody'];

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export async function getUnprivilegedAccount(): Promise<Account> {
  const accounts = parsePasswd(await readFile('/etc/passwd', 'utf8'));
  for (const name of preferredNames) {
    const account = accounts.find((candidate) => candidate.name === name && candidate.uid !== 0);
    if (account) return account;
  }
  throw new Error(
    `PostgreSQL refuses to run as root and /etc/passwd has none of the users ${preferredNames.join(', ')}. ` +
      'Run Sluice as an ordinary user, add a user "postgres", or set DATABASE_URL to a database of your own.',
  );
}

/** The account that owns a file, for a database that another account than our first choice has made. */
export async function ownerOf(path: string): Promise<Account> {
  const { uid, gid } = await stat(path);
  const accounts = parsePasswd(await readFile('/etc/passwd', 'utf8').catch(() => ''));
  const name = accounts.find((candidate) => candidate.uid === uid)?.name ?? `uid ${uid}`;
  return { name, uid, gid };
}

/** The first directory on the way from / to this one that the account may not enter, or null. */
export async function findClosedDirectory(directory: string, account: Account): Promise<string | null> {
  const way = [directory];
  for (let at = directory; at !== dirname(at); at = dirname(at)) way.unshift(dirname(at));
  for (const step of way) {
    if (!(await allows({ path: step, account, bit: 1 }))) return step;
  }
  return null;
}

/** Whether the permission bits let the account in: 1 to enter or run, 4 to read. */
export async function allows(question: { path: string; account: Account; bit: 1 | 4 }): Promise<boolean> {
  const { path, account, bit } = question;
  const { mode, uid, gid } = await stat(path);
  if (uid === account.uid) return (mode & (bit << 6)) !== 0;
  if (gid === account.gid) return (mode & (bit << 3)) !== 0;
  return (mode & bit) !== 0;
}

/** A real directory, not a link, that belongs to the server's user (or to us, when we are that user). */
export async function isOwnDirectory(path: string, account: Account | null): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true && found.uid === (account?.uid ?? process.getuid?.());
}

function parsePasswd(text: string): Account[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (!name || !uid || !gid) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}
