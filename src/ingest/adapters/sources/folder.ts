import { constants } from 'node:fs';
import { access, lstat, mkdir, open, opendir, realpath, rename } from 'node:fs/promises';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { tenantFolder } from '../../../kernel/files/folder.ts';
import { isMissing } from '../../../lib/durable-files.ts';
import { messageOf } from '../../../lib/errors.ts';
import { adapterFailures } from '../errors.ts';
import type { FileSource, FolderPlace, FoundFile } from '../types.ts';

/**
 * The files directly in a folder of the server. Each tenant has a folder of its own inside the root, so tenants cannot
 * see each other's files. Links that lead outside it are not followed.
 */
export async function openFolder(
  place: FolderPlace,
  { root, tenantId }: { root: string | null; tenantId: string },
): Promise<FileSource> {
  if (root === null) {
    throw adapterFailures.raise.adapter_folder_missing(
      'This server has no folder for adapters; the operator sets ADAPTER_FOLDER',
    );
  }
  const home = tenantFolder(root, tenantId);
  const folder = await findFolder(home, place.path);
  const fileOf = (name: string) => path.join(folder, name);
  return {
    isAtomic: false,
    list: (isWanted) => list(folder, isWanted),
    find: (name) => find(fileOf(name), name),
    read: (file, into) => read(fileOf(file.path), into),
    move: (names) => move(home, { from: fileOf(names.from), to: fileOf(names.to) }),
    close: async () => {},
  };
}

async function findFolder(home: string, below: string): Promise<string> {
  const where = `The folder ${JSON.stringify(below)} in the tenant’s part of ADAPTER_FOLDER`;
  try {
    const base = await realpath(home);
    const folder = await realpath(path.join(base, below));
    if (folder !== base && !folder.startsWith(`${base}${path.sep}`)) {
      throw adapterFailures.raise.adapter_folder_missing(`${where} leads outside it`);
    }
    await access(folder, constants.R_OK | constants.X_OK);
    if (!(await lstat(folder)).isDirectory()) {
      throw adapterFailures.raise.adapter_folder_missing(`${where} is not a folder`);
    }
    return folder;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code.startsWith('adapter_')) throw error;
    const why = isMissing(error) ? 'does not exist' : `cannot be read (${code})`;
    throw adapterFailures.raise.adapter_folder_missing(`${where} ${why}`, { cause: error });
  }
}

const batchSize = 500;

async function* list(folder: string, isWanted: (name: string) => boolean): AsyncGenerator<FoundFile[]> {
  let files: FoundFile[] = [];
  let looked = 0;
  for await (const entry of await opendir(folder)) {
    const isOne = entry.isFile() && isWanted(entry.name);
    const found = isOne ? await find(path.join(folder, entry.name), entry.name) : null;
    if (found !== null) files.push(found);
    looked += 1;
    if (looked % batchSize !== 0) continue;
    yield files;
    files = [];
  }
  yield files;
}

/** The inode is part of the version: a file that replaces another one may have the same size and time. */
async function find(file: string, name: string): Promise<FoundFile | null> {
  try {
    const found = await lstat(file, { bigint: true });
    if (!found.isFile()) return null;
    return {
      path: name,
      sizeBytes: Number(found.size),
      version: `${found.mtimeNs}-${found.ino}`,
      modifiedAt: new Date(Number(found.mtimeMs)),
    };
  } catch (error) {
    if (isMissing(error)) return null;
    throw unreadable(name, error);
  }
}

async function read(file: string, into: Writable): Promise<void> {
  const name = path.basename(file);
  // Refuse a link that replaced the file, and do not wait for a pipe.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch((error: unknown) => {
    throw unreadable(name, error);
  });
  try {
    if (!(await handle.stat()).isFile()) throw unreadable(name, new Error('it is not a file'));
    await pipeline(handle.createReadStream({ autoClose: false }), into);
  } finally {
    await handle.close();
  }
}

function unreadable(name: string, error: unknown): Error {
  return adapterFailures.raise.adapter_file_unreadable(
    `The file ${JSON.stringify(name)} cannot be read: ${messageOf(error)}`,
    { cause: error },
  );
}

async function move(home: string, { from, to }: { from: string; to: string }): Promise<void> {
  const folder = path.dirname(to);
  await mkdir(folder, { recursive: true });
  const base = await realpath(home);
  if (!(await realpath(folder)).startsWith(`${base}${path.sep}`)) {
    throw adapterFailures.raise.adapter_refused(`The folder ${path.basename(folder)} leads outside its root`);
  }
  await rename(from, to);
}
