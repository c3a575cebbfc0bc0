import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';
import { findText, removeBeginningWith, replaceFile, uniqueSuffix } from './files.ts';
import type { Layout } from './layout.ts';

const run = promisify(execFile);

export const ownerRole = 'sluice_owner';

const draftPrefix = 'postgres.new-';
const initdbLimitMs = 120_000;

/** Servers get nothing of our environment: PGOPTIONS, LD_PRELOAD or a locale would change what they do. */
export const serverEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Make the database unless it is there. initdb works in a draft directory that gets its name at the end,
 * so a killed one leaves nothing that looks like a database. Call it with the start lock held.
 */
export async function ensureCluster(
  layout: Layout,
  binaries: Binaries,
  { mayMake, onNotice }: { mayMake: boolean; onNotice: (text: string) => void },
): Promise<void> {
  const { postgresDir } = layout;
  const madeBy = await findText(join(postgresDir, 'PG_VERSION'));
  if (madeBy !== null && (await hasControlFile(postgresDir))) {
    requireSameMajor({ postgresDir, madeBy: Number(madeBy), major: binaries.major });
    return;
  }
  if (!mayMake) {
    throw new Error(
      `The database in ${postgresDir} is gone, or no longer complete. It was there when Sluice started, so no ` +
        'empty one is made in its place. Bring it back (a disk that is not mounted, a backup).',
    );
  }
  await putAside(postgresDir, onNotice);
  await removeBeginningWith({ directory: dirname(postgresDir), prefix: draftPrefix });
  const password = await ensurePassword(layout);
  await initialise(layout, { initdb: binaries.initdb, password });
}

/** The owner's password, or null when no database has been made yet. */
export async function findPassword(layout: Layout): Promise<string | null> {
  const made = await findText(join(layout.postgresDir, 'PG_VERSION'));
  // Read after the check for the database: the process that creates one writes the password first.
  const password = await findText(layout.passwordFile);
  if (password !== null) return password.trim();
  if (made === null) return null;
  throw new Error(
    `There is a database in ${layout.postgresDir} but its password file ${layout.passwordFile} is gone. ` +
      'Put it back from a backup, or move the database directory away to begin with an empty one.',
  );
}

async function ensurePassword(layout: Layout): Promise<string> {
  const found = await findPassword(layout);
  if (found) return found;
  const password = randomBytes(24).toString('hex');
  await replaceFile(layout.passwordFile, { text: `${password}\n`, mode: 0o600 });
  return password;
}

async function initialise(layout: Layout, secret: { initdb: string; password: string }): Promise<void> {
  const { account, postgresDir } = layout;
  const draft = join(dirname(postgresDir), `${draftPrefix}${uniqueSuffix()}`);
  const passwordCopy = join(draft, 'password');
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordCopy, secret.password, { mode: 0o600 });
  if (account) {
    await chown(passwordCopy, account.uid, account.gid);
    await chown(draft, account.uid, account.gid);
  }
  const args = [
    ['-D', join(draft, 'postgres'), '-U', ownerRole, `--pwfile=${passwordCopy}`, '--auth=scram-sha-256'],
    ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ['--data-checksums', '--no-instructions'],
  ].flat();
  try {
    await run(secret.initdb, args, {
      ...(account && { uid: account.uid, gid: account.gid }),
      cwd: '/',
      env: serverEnvironment,
      timeout: initdbLimitMs,
    });
    await rename(join(draft, 'postgres'), postgresDir);
  } catch (error) {
    throw new Error(`The database could not be made in ${postgresDir}: ${explain(error)}`, { cause: error });
  } finally {
    await removeBeginningWith({ directory: dirname(postgresDir), prefix: draftPrefix });
  }
}

function explain(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return output === '' ? String(error) : output.split('\n').slice(-5).join(' | ');
}

/** The directory holds something that is not a database. It may be valuable, so it is moved and never deleted. */
async function putAside(postgresDir: string, onNotice: (text: string) => void): Promise<void> {
  const found = await stat(postgresDir).catch(() => null);
  if (found === null) return;
  const aside = `${postgresDir}.incomplete-${uniqueSuffix()}`;
  await rename(postgresDir, aside);
  onNotice(
    `${postgresDir} held no complete database (its making was probably cut short). It was moved to ${aside} ` +
      'and a new one is made; delete the moved one when nothing is missing.',
  );
}

async function hasControlFile(postgresDir: string): Promise<boolean> {
  const found = await stat(join(postgresDir, 'global', 'pg_control')).catch(() => null);
  return found !== null && found.size > 0;
}

function requireSameMajor(versions: { postgresDir: string; madeBy: number; major: number }): void {
  const { postgresDir, madeBy, major } = versions;
  if (madeBy === major) return;
  throw new Error(
    `The database in ${postgresDir} was made by PostgreSQL ${madeBy}, this Sluice brings PostgreSQL ${major}, ` +
      `which cannot open it. Install a Sluice that brings ${madeBy}, or move the contents with pg_dump of ${madeBy}.`,
  );
}
