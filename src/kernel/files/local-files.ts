import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { isMissing, syncDirectory, writeDurably } from '../../lib/durable-files.ts';
import { contentErrors } from '../../lib/formats/errors.ts';
import { newId } from '../../lib/ids.ts';
import { fileErrors } from './errors.ts';
import { MeasuredContent } from './measured-content.ts';
import { assertStorageKey, isStorageKey, newStorageKey, randomStart } from './storage-key.ts';
import type { Files, OldContent, StoredContent } from './types.ts';

/**
 * Files in a local directory. The server generates names (`ab/cd/<uuid>`, spread over 65,536 directories). Content
 * is written to `tmp/` and renamed once it is complete and synced, so a name never stands for half a file.
 */
export function createLocalFiles(options: { root: string }): Files {
  const root = path.resolve(options.root);
  return {
    backend: 'local',
    store: (content, { maxBytes }) => storeContent(root, content, maxBytes),
    open: (storageKey, range = {}) => openContent(pathOf(root, storageKey), { storageKey, ...range }),
    remove: (storageKey) => removeContent(root, storageKey),
    exists: (storageKey) => exists(pathOf(root, storageKey)),
    listOlderThan: (ageMs) => listOlderThan(root, ageMs),
    probe: () => probe(root),
    close: async () => {},
  };
}

const directoryMode = 0o700;
const fileMode = 0o600;

function pathOf(root: string, storageKey: string): string {
  assertStorageKey(storageKey);
  return path.join(root, storageKey);
}

async function storeContent(root: string, content: Readable, maxBytes: number): Promise<StoredContent> {
  const storageKey = newStorageKey();
  const draft = path.join(root, 'tmp', newId());
  const measured = new MeasuredContent(content, { maxBytes });
  let handle: FileHandle | undefined;
  try {
    await makeDirectory(path.dirname(draft), root);
    handle = await open(draft, 'wx', fileMode);
    for await (const chunk of measured.pieces()) await writeChunk(handle, chunk);
    await handle.sync();
    await handle.close();
    await moveDurably({ root, draft, target: pathOf(root, storageKey) });
    return { storageKey, ...measured.measures() };
  } catch (error) {
    content.destroy();
    await handle?.close().catch(() => {});
    await rm(draft, { force: true });
    // Not the system's message, which names paths of the server.
    throw isOutOfRoom(error)
      ? contentErrors.raise.storage_full('The file was not stored: no space left on device', { cause: error })
      : error;
  }
}

/** The disk is full, or this user's quota. */
function isOutOfRoom(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** One write may take only a part (a full disk, a signal). */
async function writeChunk(handle: FileHandle, chunk: Buffer): Promise<void> {
  let written = 0;
  while (written < chunk.length) written += (await handle.write(chunk, written)).bytesWritten;
}

async function moveDurably(move: { root: string; draft: string; target: string }): Promise<void> {
  const { root, draft, target } = move;
  const directory = path.dirname(target);
  await makeDirectory(directory, root);
  await rename(draft, target);
  await syncDirectory(directory);
}

/** A new directory is only durable once its parent is synced; `mkdir` says which was the first new one. */
async function makeDirectory(directory: string, root: string): Promise<void> {
  const firstMade = await mkdir(directory, { recursive: true, mode: directoryMode });
  if (firstMade === undefined) return;
  for (let made = directory; ; made = path.dirname(made)) {
    await syncDirectory(path.dirname(made));
    if (made === firstMade || made === root) break;
  }
}

/** Opens the file first, so that a missing one is an error here and not in the middle of a reply. */
async function openContent(
  file: string,
  { storageKey, start, end }: { storageKey: string; start?: number; end?: number },
): Promise<Readable> {
  let handle: FileHandle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw fileErrors.raise.file_content_missing(`The content ${storageKey} is not in the files directory`, {
      cause: error,
    });
  }
  return createReadStream('', { fd: handle, start: start ?? 0, end: end ?? Number.POSITIVE_INFINITY });
}

async function removeContent(root: string, storageKey: string): Promise<void> {
  await rm(pathOf(root, storageKey), { force: true });
}

async function exists(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function* listOlderThan(root: string, ageMs: number): AsyncGenerator<OldContent> {
  const before = Date.now() - ageMs;
  for (const name of await namesIn(path.join(root, 'tmp'))) {
    const file = path.join(root, 'tmp', name);
    if (await isOlder(file, before)) yield { kind: 'leftover', remove: () => rm(file, { force: true }) };
  }
  const names = (await namesIn(root)).filter((name) => /^[0-9a-f]{2}$/.test(name));
  const start = randomStart();
  for (const first of [...names.filter((name) => name >= start), ...names.filter((name) => name < start)]) {
    for (const second of await namesIn(path.join(root, first))) {
      for (const name of await namesIn(path.join(root, first, second))) {
        const storageKey = `${first}/${second}/${name}`;
        if (!isStorageKey(storageKey)) continue;
        if (await isOlder(path.join(root, storageKey), before)) yield { kind: 'stored', storageKey };
      }
    }
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function isOlder(file: string, beforeMs: number): Promise<boolean> {
  try {
    return (await stat(file)).mtimeMs < beforeMs;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function probe(root: string): Promise<void> {
  const file = path.join(root, 'tmp', newId());
  await makeDirectory(path.dirname(file), root);
  try {
    await writeDurably(file, 'probe', fileMode);
  } finally {
    await rm(file, { force: true });
  }
}
