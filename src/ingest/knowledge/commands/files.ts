import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Client } from '../../../cli/client/client.ts';
import { readPages } from '../../../cli/client/lists.ts';
import { encodeFiles, type FormFile } from '../../../cli/client/multipart-form.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { CommandFailure, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { ProgressLine } from '../../../cli/terminal/progress.ts';
import { batchesOf } from '../../../lib/batches.ts';
import { messageOf } from '../../../lib/errors.ts';
import { kindOfName } from '../formats/detect.ts';
import type { renderFile } from '../views.ts';

type FileView = ReturnType<typeof renderFile>;

/** A file as the knowledge base is to know it. */
export interface IndexedFile {
  /** Below the folder that was named, with slashes on every system. */
  name: string;
  path: string;
  sizeBytes: number;
}

/** What was found in a place. */
export interface FoundFiles {
  files: IndexedFile[];
  /** This machine's name for the place, under which the knowledge base remembers what came from it. */
  origin: string;
  /** Everything was looked at: what is not among the files is not there. */
  isComplete: boolean;
}

const maxFiles = 100_000;
const maxDepth = 50;
const maxOrigin = 1_000;

/** A file, or what lies below a folder and can be read; hidden ones are left out. */
export async function findFiles(place: string): Promise<FoundFiles> {
  const found = await stat(place).catch((error: unknown) => {
    throw new UsageError(
      `${place} cannot be read: ${messageOf(error)}. Allowed: a file, a folder, or a web address.`,
    );
  });
  const origin = await originOf(place);
  if (found.isFile()) {
    const files = [{ name: path.basename(place), path: place, sizeBytes: found.size }];
    return { files, origin, isComplete: true };
  }
  if (!found.isDirectory()) throw new UsageError(`${place} is no file. Allowed: a file or a folder.`);
  const walk: Walk = { files: [], isComplete: true };
  await collect(place, { prefix: '', depth: 0, walk });
  const { files, isComplete } = walk;
  if (files.length === 0) {
    throw new UsageError(
      `There is nothing to read in ${place}. Allowed: Markdown, text, HTML, PDF, DOCX, VTT and SRT files.`,
    );
  }
  return { files, origin, isComplete };
}

/** The same place on another machine is another place. */
async function originOf(place: string): Promise<string> {
  const origin = `${hostname()}:${await realpath(place)}`;
  if (origin.length <= maxOrigin) return origin;
  return `${hostname()}:sha256:${createHash('sha256').update(origin).digest('hex')}`;
}

type Walk = Pick<FoundFiles, 'files' | 'isComplete'>;

async function collect(folder: string, at: { prefix: string; depth: number; walk: Walk }): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const inner = path.join(folder, entry.name);
    const name = `${at.prefix}${entry.name}`;
    if (entry.isDirectory()) {
      if (at.depth >= maxDepth) at.walk.isComplete = false;
      else await collect(inner, { ...at, prefix: `${name}/`, depth: at.depth + 1 });
    } else if (entry.isFile() && kindOfName(entry.name) !== null) {
      if (at.walk.files.length >= maxFiles)
        throw new UsageError(`There are too many files. Allowed: ${maxFiles}.`);
      at.walk.files.push({ name, path: inner, sizeBytes: (await stat(inner)).size });
    }
  }
}

export interface SendReport {
  sent: number;
  unchanged: number;
  /** Files that came from this place and are not there any more. */
  missing: FileView[];
}

/** Sends what the knowledge base does not have in this form yet. */
export async function sendChanged(
  client: Client,
  { route, found, signal }: { route: string; found: FoundFiles; signal: AbortSignal },
): Promise<SendReport> {
  const { files, origin, isComplete } = found;
  const known = await knownFiles(client, route);
  const changed: IndexedFile[] = [];
  for (const file of files) {
    signal.throwIfAborted();
    const before = known.get(file.name);
    // One that came from elsewhere is sent as well: from now on it is this place that has it, or has it no more.
    if (before?.origin !== origin || before.sha256 !== (await hashOf(file))) changed.push(file);
  }
  const progress = new ProgressLine({ unit: 'bytes' });
  const total = changed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let done = 0;
  const onBytes = (count: number): void => {
    done += count;
    progress.update({ done, total });
  };
  try {
    for (const group of batchesOf(changed, formLimits)) {
      const form = encodeFiles(group.map((file) => formFile(file, onBytes)));
      await client.upload(`${route}/documents?origin=${encodeURIComponent(origin)}`, { ...form, signal });
    }
  } finally {
    progress.end();
  }
  const names = new Set(files.map(({ name }) => name));
  const missing = [...known.values()].filter((file) => file.origin === origin && !names.has(file.name));
  return {
    sent: changed.length,
    unchanged: files.length - changed.length,
    missing: isComplete ? missing : [],
  };
}

async function knownFiles(client: Client, route: string): Promise<Map<string, FileView>> {
  const { data } = await readPages<FileView>(client, `${route}/files`, { query: {}, limit: maxFiles });
  return new Map(data.map((file) => [file.name, file]));
}

async function hashOf(file: IndexedFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of contentOf(file)) hash.update(piece);
  return hash.digest('hex');
}

/** Small files go together, so that a thousand of them are not a thousand requests. */
const formLimits = {
  maxItems: 100,
  maxSize: 32 * 1024 * 1024,
  sizeOf: ({ sizeBytes }: IndexedFile) => sizeBytes,
};

function formFile(file: IndexedFile, onBytes: (count: number) => void): FormFile {
  async function* content(): AsyncGenerator<Uint8Array> {
    for await (const piece of contentOf(file)) {
      yield piece;
      onBytes(piece.length);
    }
  }
  return { fileName: file.name, content: content() };
}

async function* contentOf(file: IndexedFile): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of createReadStream(file.path, { highWaterMark: 256 * 1024 })) {
      yield piece as Uint8Array;
    }
  } catch (error) {
    throw new CommandFailure(`${shortText(file.path, 200)} cannot be read to its end: ${messageOf(error)}.`, {
      exitCode: exitCodes.failed,
      next: 'Mend the file, or index a folder without it.',
      cause: error,
    });
  }
}
