import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { kindOfName } from '../ingest/knowledge/formats/detect.ts';
import type { renderFile } from '../ingest/knowledge/views.ts';
import { messageOf } from '../lib/errors.ts';
import { shortText } from './cells.ts';
import type { Client } from './client.ts';
import { CommandFailure, exitCodes, UsageError } from './exit.ts';
import { readPages } from './lists.ts';
import { encodeFiles, type FormFile } from './multipart-form.ts';
import { ProgressLine } from './progress.ts';

type FileView = ReturnType<typeof renderFile>;

/** A file as the knowledge base is to know it. */
export interface IndexedFile {
  /** Below the folder that was named, with slashes on every system. */
  name: string;
  path: string;
  sizeBytes: number;
}

const maxFiles = 100_000;
const maxDepth = 50;

/** A file, or what lies below a folder and can be read; hidden ones are left out. */
export async function findFiles(place: string): Promise<IndexedFile[]> {
  const found = await stat(place).catch((error: unknown) => {
    throw new UsageError(
      `${place} cannot be read: ${messageOf(error)}. Allowed: a file, a folder, or a web address.`,
    );
  });
  if (found.isFile()) return [{ name: path.basename(place), path: place, sizeBytes: found.size }];
  if (!found.isDirectory()) throw new UsageError(`${place} is no file. Allowed: a file or a folder.`);
  const files: IndexedFile[] = [];
  await collect(place, { prefix: '', depth: 0, files });
  if (files.length === 0) {
    throw new UsageError(
      `There is nothing to read in ${place}. Allowed: Markdown, text, HTML, PDF, DOCX, VTT and SRT files.`,
    );
  }
  return files;
}

async function collect(
  folder: string,
  at: { prefix: string; depth: number; files: IndexedFile[] },
): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const inner = path.join(folder, entry.name);
    const name = `${at.prefix}${entry.name}`;
    if (entry.isDirectory() && at.depth < maxDepth) {
      await collect(inner, { ...at, prefix: `${name}/`, depth: at.depth + 1 });
    } else if (entry.isFile() && kindOfName(entry.name) !== null) {
      if (at.files.length >= maxFiles)
        throw new UsageError(`There are too many files. Allowed: ${maxFiles}.`);
      at.files.push({ name, path: inner, sizeBytes: (await stat(inner)).size });
    }
  }
}

export interface SendReport {
  sent: number;
  unchanged: number;
}

/** Sends what the knowledge base does not have in this form yet. */
export async function sendChanged(
  client: Client,
  { route, files, signal }: { route: string; files: IndexedFile[]; signal: AbortSignal },
): Promise<SendReport> {
  const known = await knownFiles(client, route);
  const changed: IndexedFile[] = [];
  for (const file of files) {
    signal.throwIfAborted();
    if (known.size === 0 || known.get(file.name) !== (await hashOf(file))) changed.push(file);
  }
  const progress = new ProgressLine({ unit: 'bytes' });
  const total = changed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let done = 0;
  const onBytes = (count: number): void => {
    done += count;
    progress.update({ done, total });
  };
  try {
    for (const group of groupsOf(changed)) {
      const form = encodeFiles(group.map((file) => formFile(file, onBytes)));
      await client.upload(`${route}/documents`, { ...form, signal });
    }
  } finally {
    progress.end();
  }
  return { sent: changed.length, unchanged: files.length - changed.length };
}

async function knownFiles(client: Client, route: string): Promise<Map<string, string>> {
  const { data } = await readPages<FileView>(client, `${route}/files`, { query: {}, limit: maxFiles });
  return new Map(data.map((file) => [file.name, file.sha256]));
}

async function hashOf(file: IndexedFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of contentOf(file)) hash.update(piece);
  return hash.digest('hex');
}

const filesPerForm = 100;
const bytesPerForm = 32 * 1024 * 1024;

/** Small files go together, so that a thousand of them are not a thousand requests. */
function* groupsOf(files: readonly IndexedFile[]): Generator<IndexedFile[]> {
  let group: IndexedFile[] = [];
  let sizeBytes = 0;
  for (const file of files) {
    if (group.length > 0 && (group.length >= filesPerForm || sizeBytes + file.sizeBytes > bytesPerForm)) {
      yield group;
      group = [];
      sizeBytes = 0;
    }
    group.push(file);
    sizeBytes += file.sizeBytes;
  }
  if (group.length > 0) yield group;
}

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
