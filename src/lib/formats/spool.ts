import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { newId } from '../ids.ts';
import { contentErrors } from './errors.ts';

const openFile = promisify(fs.open);
const unlinkFile = promisify(fs.unlink);
const writePiece = promisify(fs.write);
const closeFile = promisify(fs.close);

/** Content that is stored for a while, because it is read in another order than it arrived in. */
export interface Spool {
  readonly sizeBytes: number;
  /** The open file; whoever uses it must be done before `close`. */
  readonly fd: number;
  /** Returns the file; the caller closes it from now on, and `close` does nothing. */
  release(): number;
  close(): Promise<void>;
}

/** Small pieces are combined: each write goes to another thread. */
const writeBytes = 256 * 1024;

/** Writes all of the content to a temporary file, or nothing if it is too large, breaks off or does not fit. */
export async function spoolContent(
  content: AsyncIterable<Uint8Array>,
  { maxBytes, directory }: { maxBytes: number; directory?: string | undefined },
): Promise<Spool> {
  const file = await openTemporary(directory);
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const flush = async () => {
    const bytes = Buffer.concat(waiting, waitingBytes);
    waiting = [];
    waitingBytes = 0;
    await file.append(bytes);
  };
  try {
    for await (const piece of content) {
      waiting.push(piece);
      waitingBytes += piece.length;
      if (file.sizeBytes + waitingBytes > maxBytes) throw tooLarge(maxBytes);
      if (waitingBytes >= writeBytes) await flush();
    }
    await flush();
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

/**
 * A private file that is unlinked before the first byte is written: the system frees it when it is closed or when the
 * process dies, so no sweep is needed. It is used by its descriptor.
 */
export async function openTemporary(directory: string = tmpdir()): Promise<TemporaryFile> {
  const name = path.join(directory, `sluice-${newId()}`);
  try {
    const fd = await openFile(name, 'wx+', 0o600);
    await unlinkFile(name).catch((error: unknown) => {
      fs.closeSync(fd);
      throw error;
    });
    return new TemporaryFile(fd);
  } catch (error) {
    throw inWords(error);
  }
}

export class TemporaryFile implements Spool {
  #fd: number | null;
  #sizeBytes = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get fd(): number {
    return this.#openFd();
  }

  async append(bytes: Uint8Array): Promise<void> {
    let written = 0;
    try {
      // One write may take only a part (a full disk, a signal).
      while (written < bytes.length) {
        const left = bytes.length - written;
        written += (await writePiece(this.#openFd(), bytes, written, left, this.#sizeBytes + written))
          .bytesWritten;
      }
    } catch (error) {
      throw inWords(error);
    }
    this.#sizeBytes += bytes.length;
  }

  /** Synchronous, for readers that cannot wait: what was just written is in the page cache. */
  readNow(start: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    let read = 0;
    while (read < length) {
      const count = fs.readSync(this.#openFd(), bytes, read, length - read, start + read);
      if (count === 0) throw new Error(`A temporary file ends before byte ${start + length}`);
      read += count;
    }
    return bytes;
  }

  /** From the beginning. Closing it does not close the file. */
  content(): Readable {
    return fs.createReadStream('', { fd: this.#openFd(), start: 0, autoClose: false });
  }

  release(): number {
    const fd = this.#openFd();
    this.#fd = null;
    return fd;
  }

  async close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = null;
    if (fd !== null) await closeFile(fd);
  }

  #openFd(): number {
    if (this.#fd === null) throw new Error('A temporary file was used after it was closed');
    return this.#fd;
  }
}

function tooLarge(maxBytes: number) {
  return contentErrors.raise.file_too_large(`The file has more than ${maxBytes} bytes, which is the limit`, {
    details: { max_bytes: maxBytes },
  });
}

/** For a full disk or quota. The system's own message would reveal paths of the server. */
function inWords(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return contentErrors.raise.storage_full(
    'The file could not be read in: no space left for temporary files',
    {
      cause: error,
    },
  );
}
