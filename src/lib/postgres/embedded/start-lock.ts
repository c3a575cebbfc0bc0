import { link, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, findText, uniqueSuffix } from './files.ts';
import { findProcessStamp } from './processes.ts';

const namePrefix = 'postgres.lock.';

interface StartLock {
  release(): Promise<void>;
}

type LockAttempt = { lock: StartLock } | { lock: null; heldBy: number | null };

/**
 * At most one process of a data directory makes or starts its database. Node has no flock, and a lock
 * file that is deleted when its owner died can be deleted twice, the second time from under a new owner.
 * So locks are numbered: the file with the highest number is the lock. A process that finds it free (or its owner dead)
 * creates the next number, exclusively, and the highest number is never deleted. An empty file is free: a lock must be
 * released even on a full disk, where nothing can be written.
 */
export async function tryStartLock(directory: string): Promise<LockAttempt> {
  const before = await highestNumber(directory);
  const holder = before === 0 ? null : await findHolder(lockPath(directory, before));
  if (holder !== null) return { lock: null, heldBy: holder };
  const mine = before + 1;
  if (!(await createLock(directory, mine))) return { lock: null, heldBy: null };
  if ((await highestNumber(directory)) > mine) {
    // We were slow: numbers above ours came and ours had already been cleared away.
    await rm(lockPath(directory, mine), { force: true });
    return { lock: null, heldBy: null };
  }
  await clearBelow(directory, mine);
  const release = () => truncate(lockPath(directory, mine));
  return { lock: { release } };
}

async function highestNumber(directory: string): Promise<number> {
  return Math.max(0, ...(await listNumbers(directory)));
}

async function listNumbers(directory: string): Promise<number[]> {
  const names = await readdir(directory);
  return names
    .filter((name) => name.startsWith(namePrefix))
    .map((name) => name.slice(namePrefix.length))
    .filter((rest) => /^\d{1,15}$/.test(rest))
    .map(Number);
}

/** The pid of the living process that holds the lock, or null when it may be taken. */
async function findHolder(path: string): Promise<number | null> {
  const text = await findText(path);
  if (text === null) return null;
  const [pidText = '', stamp] = text.split('\n');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  return (await findProcessStamp(pid)) === stamp ? pid : null;
}

async function createLock(directory: string, number: number): Promise<boolean> {
  const stamp = await findProcessStamp(process.pid);
  const draft = join(directory, `postgres.lock-draft-${uniqueSuffix()}`);
  try {
    await writeFile(draft, `${process.pid}\n${stamp}`, { flag: 'wx', mode: 0o644 });
    // A link appears together with its content; a file that is created and then written does not.
    await link(draft, lockPath(directory, number));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function clearBelow(directory: string, number: number): Promise<void> {
  for (const lower of await listNumbers(directory)) {
    if (lower < number) await rm(lockPath(directory, lower), { force: true });
  }
}

function lockPath(directory: string, number: number): string {
  return join(directory, `${namePrefix}${number}`);
}
