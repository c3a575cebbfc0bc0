import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, syncDirectory, writeDurably } from '../../lib/durable-files.ts';
import { messageOf } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { secretErrors } from './errors.ts';
import { parseSecretKeys, type SecretKeys } from './stored-secrets.ts';

/**
 * Secrets that an installation creates on its first start and keeps in its data directory, unless the operator sets
 * them. Any number of processes may start at once: all get the same ones.
 */
export async function loadJwtSecret(options: {
  configured: string | null;
  dataDir: string;
}): Promise<string> {
  return options.configured ?? readOrMakeSecret(path.join(options.dataDir, 'jwt.secret'));
}

export async function loadSecretKeys(options: {
  configured: string | null;
  dataDir: string;
}): Promise<SecretKeys> {
  return parseSecretKeys(
    options.configured ?? (await readOrMakeSecret(path.join(options.dataDir, 'secret.key'))),
  );
}

const secretShape = /^[A-Za-z0-9_-]{43}$/;
const fileMode = 0o600;

async function readOrMakeSecret(file: string): Promise<string> {
  const kept = await findSecret(file);
  if (kept !== null) return kept;
  await makeSecret(file);
  const made = await findSecret(file);
  if (made !== null) return made;
  throw secretErrors.raise.secret_file_unusable(`${file} vanished right after it was made`);
}

async function findSecret(file: string): Promise<string | null> {
  let content: string;
  try {
    content = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) return null;
    throw secretErrors.raise.secret_file_unusable(`${file} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (secretShape.test(content)) return content;
  throw secretErrors.raise.secret_file_unusable(
    `${file} does not hold a secret of 43 base64url characters; it may have been cut short or edited`,
  );
}

/**
 * Written and fsynced under another name, then linked: the name appears with its whole content or not at all, and
 * of several processes one wins. `open` with O_EXCL alone would let the others read a file that is still empty.
 */
async function makeSecret(file: string): Promise<void> {
  const directory = path.dirname(file);
  await mkdir(directory, { recursive: true });
  const draft = `${file}.${newId()}.tmp`;
  try {
    await writeDurably(draft, `${randomBytes(32).toString('base64url')}\n`, fileMode);
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await syncDirectory(directory);
  } catch (error) {
    throw secretErrors.raise.secret_file_unusable(`${file} cannot be written: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    await rm(draft, { force: true });
  }
}
