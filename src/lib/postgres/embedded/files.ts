import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, writeDurably } from '../../durable-files.ts';

/** A name that no other process and no other call uses. */
export function uniqueSuffix(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}

export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The text of a file, or null when there is none. */
export async function findText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Readers see the old text or the new one, never half of it, also after a power cut. */
export async function replaceFile(path: string, content: { text: string; mode: number }): Promise<void> {
  const draft = `${path}.draft-${uniqueSuffix()}`;
  try {
    await writeDurably(draft, content.text, content.mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Remove the entries of a directory whose names begin so: what a killed process left half done. */
export async function removeBeginningWith(names: { directory: string; prefix: string }): Promise<void> {
  const { directory, prefix } = names;
  for (const name of await readdir(directory)) {
    if (!name.startsWith(prefix)) continue;
    await rm(join(directory, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
