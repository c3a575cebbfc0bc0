import { open } from 'node:fs/promises';

/** A created, linked or renamed name survives a power cut only once its directory is synced too. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** "It is not there" as the answer of a file system call; ENOTDIR: a part of the path is a file. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
