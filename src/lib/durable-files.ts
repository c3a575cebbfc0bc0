import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { newId } from './ids.ts';

/** A created, linked or renamed name survives a power cut only once its directory is synced too. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether a file system call failed because the file does not exist; ENOTDIR: a part of the path is a file. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** A new file whose content survives a power cut; its name does once the directory is synced. */
export async function writeDurably(file: string, content: string, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Puts a file that only its owner can read in the place of whatever has its name. A new file is renamed to it, so that
 * nobody reads half of it, wider rights of an older file do not stay, and a symbolic link is not followed.
 */
export async function replaceOwnFile(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const draft = `${file}.${newId()}.tmp`;
  try {
    await writeDurably(draft, content, 0o600);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}
