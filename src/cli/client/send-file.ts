import { createReadStream, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { messageOf } from '../../lib/errors.ts';
import { shortText } from '../terminal/cells.ts';
import { CommandFailure, exitCodes, UsageError } from '../terminal/exit.ts';
import { ProgressLine } from '../terminal/progress.ts';
import type { Client } from './client.ts';
import { encodeForm } from './multipart-form.ts';

/** A file on this machine, or stdin. */
export interface LocalFile {
  /** As the user named it. */
  label: string;
  name: string;
  /** Null when it is unknown before it has been read. */
  sizeBytes: number | null;
  open(): Promise<Readable>;
}

/** Checks every file before any is sent: a misspelt last one must not leave the first ones sent. */
export async function openLocalFiles(names: string[]): Promise<LocalFile[]> {
  if (names.filter((name) => name === '-').length > 1) {
    throw new UsageError('stdin (-) is named more than once. Allowed: once.');
  }
  return Promise.all(names.map(openLocalFile));
}

async function openLocalFile(name: string): Promise<LocalFile> {
  if (name === '-') {
    return { label: 'stdin', name: 'stdin', sizeBytes: null, open: async () => process.stdin };
  }
  const found = await stat(name).catch((error: unknown) => {
    throw new UsageError(`${name} cannot be read: ${messageOf(error)}. Allowed: files, or - for stdin.`);
  });
  if (found.isDirectory()) {
    throw new UsageError(`${name} is a directory. Allowed: files, or - for stdin.`);
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

export interface SendOptions {
  method?: 'POST' | 'PUT';
  route: string;
  fields: Record<string, string>;
  isSilent?: boolean;
  signal: AbortSignal;
}

/** Sends one file as a form, shows progress, and returns the server's reply. */
export async function sendFile<Reply>(
  client: Client,
  file: LocalFile,
  { method = 'POST', route, fields, isSilent = false, signal }: SendOptions,
): Promise<Reply> {
  const progress = new ProgressLine({ isSilent, unit: 'bytes' });
  const reading: { failure?: CommandFailure } = {};
  async function* counted(): AsyncGenerator<Uint8Array> {
    let done = 0;
    try {
      // A read from a terminal or a pipe that never ends would keep an interrupted command alive.
      const bytes: AsyncIterable<Uint8Array> = addAbortSignal(signal, await file.open());
      for await (const chunk of bytes) {
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
    return await client.upload<Reply>(route, { method, ...form, signal });
  } catch (error) {
    // The connection's error only repeats that the body broke off.
    throw reading.failure ?? error;
  } finally {
    progress.end();
  }
}

function unreadable({ label }: LocalFile, cause: unknown): CommandFailure {
  return new CommandFailure(`${shortText(label, 200)} cannot be read to its end: ${messageOf(cause)}.`, {
    exitCode: exitCodes.failed,
    next: 'Nothing of it was stored. Repair the file and send it again.',
    cause,
  });
}
