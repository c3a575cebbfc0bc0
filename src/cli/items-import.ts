import { createReadStream, open } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { messageOf } from '../lib/errors.ts';
import { shortText } from './cells.ts';
import type { Client } from './client.ts';
import { CommandFailure, exitCodes, UsageError } from './exit.ts';
import { encodeForm } from './items-form.ts';
import { ProgressLine } from './progress.ts';

/** A file of rows on this machine, or what comes in on stdin. */
export interface RowFile {
  /** As a person calls it. */
  label: string;
  name: string;
  /** Null: nobody knows before it has been read. */
  sizeBytes: number | null;
  open(): Promise<Readable>;
}

/** Every file is looked at before any is sent: a misspelt last one must not leave the first ones imported. */
export async function openRowFiles(names: string[]): Promise<RowFile[]> {
  if (names.filter((name) => name === '-').length > 1) {
    throw new UsageError('stdin (-) is named more than once. Allowed: once.');
  }
  return Promise.all(names.map(openRowFile));
}

async function openRowFile(name: string): Promise<RowFile> {
  if (name === '-') {
    return { label: 'stdin', name: 'stdin', sizeBytes: null, open: async () => process.stdin };
  }
  const found = await stat(name).catch((error: unknown) => {
    throw new UsageError(
      `${name} cannot be read: ${messageOf(error)}. Allowed: files of rows, or - for stdin.`,
    );
  });
  if (found.isDirectory()) {
    throw new UsageError(`${name} is a directory. Allowed: files of rows, or - for stdin.`);
  }
  return {
    label: name,
    name: path.basename(name),
    sizeBytes: found.isFile() ? found.size : null,
    open: async () =>
      found.isFIFO() ? openPipe(name) : createReadStream(name, { highWaterMark: 256 * 1024 }),
  };
}

/** Such as `<(zcat rows.csv.gz)`. Read as a socket, since a read of a file that waits cannot be ended. */
async function openPipe(name: string): Promise<Readable> {
  return new Socket({ fd: await promisify(open)(name, 'r'), readable: true, writable: false });
}

const maxOptionsBytes = 256 * 1024;

/** `{"rules": []}`, or `@rules.json` for a file that holds it. Answers the JSON as it was written. */
export async function readOptions(text: string): Promise<string> {
  const where = text.startsWith('@') ? text.slice(1) : '--options';
  const json = text.startsWith('@') ? await readOptionsFile(where) : text;
  if (Buffer.byteLength(json) > maxOptionsBytes) {
    throw new UsageError(`The options in ${where} are too long. Allowed: at most ${maxOptionsBytes} bytes.`);
  }
  try {
    JSON.parse(json);
    return json;
  } catch (error) {
    throw new UsageError(
      `${where} is no JSON: ${messageOf(error)}. Allowed: JSON such as '{"rules": []}', or @file.`,
    );
  }
}

async function readOptionsFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`The options in ${file} cannot be read: ${messageOf(error)}.`);
  }
}

export interface ImportOptions {
  fields: Record<string, string>;
  isSilent: boolean;
  signal: AbortSignal;
}

/** Sends one file and answers what the server says: the job that was made of it. */
export async function importFile(
  client: Client,
  file: RowFile,
  { fields, isSilent, signal }: ImportOptions,
): Promise<{ jobId: string }> {
  const progress = new ProgressLine({ isSilent, unit: 'bytes' });
  const reading: { failure?: CommandFailure } = {};
  async function* counted(): AsyncGenerator<Uint8Array> {
    let done = 0;
    try {
      // A read from a terminal or a pipe that never ends would keep an interrupted command alive.
      const rows: AsyncIterable<Uint8Array> = addAbortSignal(signal, await file.open());
      for await (const chunk of rows) {
        yield chunk;
        done += chunk.length;
        progress.update({ done, total: file.sizeBytes });
      }
    } catch (error) {
      reading.failure = unreadable(file, error);
      throw error;
    }
  }
  try {
    const form = encodeForm({ fields, fileName: file.name, content: counted() });
    return await client.upload<{ jobId: string }>('/api/jobs', { ...form, signal });
  } catch (error) {
    // What the connection says of a body that broke off is only the echo of it.
    throw reading.failure ?? error;
  } finally {
    progress.end();
  }
}

function unreadable({ label }: RowFile, cause: unknown): CommandFailure {
  return new CommandFailure(`${shortText(label, 200)} cannot be read to its end: ${messageOf(cause)}.`, {
    exitCode: exitCodes.failed,
    next: 'Nothing of it was kept. Mend the file and import it again.',
    cause,
  });
}
