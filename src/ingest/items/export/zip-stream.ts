import { once } from 'node:events';
import { crc32, createDeflateRaw, type DeflateRaw, deflateRawSync } from 'node:zlib';
import { centralDirectory, dataDescriptor, type EntryRecord, fileHeader, needs64 } from './zip-records.ts';

export interface ZipOptions {
  /** 200,000 rows of 6 columns are 8.0 MB at level 1 and 6.8 MB at level 3, for a quarter more CPU time in all. */
  level?: number;
  /** Sizes and offsets from here on are written as ZIP64; lower only in tests. */
  zip64From?: number;
}

/**
 * A ZIP archive written front to back: nothing is kept but one small record per entry, because sizes and checksums
 * follow the bytes they describe (data descriptors). The caller takes the bytes from `take()` as they come.
 */
export class ZipStream {
  readonly #level: number;
  readonly #zip64From: number;
  readonly #entries: EntryRecord[] = [];
  #ready: Uint8Array[] = [];
  #offset = 0;

  constructor({ level = 1, zip64From = 0xffffffff }: ZipOptions = {}) {
    this.#level = level;
    this.#zip64From = zip64From;
  }

  /** A small entry, at once. */
  add(name: string, text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    const deflated = deflateRawSync(bytes, { level: this.#level });
    const entry = this.#begin(name, {
      isStreamed: false,
      crc: crc32(bytes),
      sizeBytes: bytes.length,
      storedBytes: deflated.length,
    });
    this.#push(fileHeader(entry));
    this.#push(deflated);
  }

  /** An entry of unknown length; one at a time, and it has to be ended before the next begins. */
  open(name: string): ZipEntryStream {
    const entry = this.#begin(name, { isStreamed: true, crc: 0, sizeBytes: 0, storedBytes: 0 });
    this.#push(fileHeader(entry));
    return new ZipEntryStream({
      level: this.#level,
      entry,
      push: (bytes) => this.#push(bytes),
      ended: () => this.#push(dataDescriptor(entry, needs64(entry, this.#zip64From))),
    });
  }

  /** The table of contents, which ends the archive. */
  end(): void {
    this.#push(centralDirectory(this.#entries, { offset: this.#offset, zip64From: this.#zip64From }));
  }

  /** The bytes made since the last call. */
  take(): Uint8Array[] {
    const bytes = this.#ready;
    this.#ready = [];
    return bytes;
  }

  #begin(
    name: string,
    sizes: Pick<EntryRecord, 'isStreamed' | 'crc' | 'sizeBytes' | 'storedBytes'>,
  ): EntryRecord {
    const entry = { name: Buffer.from(name, 'utf8'), offset: this.#offset, ...sizes };
    this.#entries.push(entry);
    return entry;
  }

  #push(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    this.#ready.push(bytes);
  }
}

interface EntryTarget {
  level: number;
  entry: EntryRecord;
  push(bytes: Uint8Array): void;
  ended(): void;
}

/**
 * Deflates on libuv's threads, so that the caller can build the next chunk meanwhile: `write` waits for the chunk
 * before, not for its own.
 */
export class ZipEntryStream {
  readonly #target: EntryTarget;
  readonly #deflate: DeflateRaw;
  #previous: Promise<void> = Promise.resolve();

  constructor(target: EntryTarget) {
    this.#target = target;
    this.#deflate = createDeflateRaw({ level: target.level, chunkSize: 256 * 1024 });
    this.#deflate.on('data', (bytes: Buffer) => {
      target.entry.storedBytes += bytes.length;
      target.push(bytes);
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#previous;
    const { entry } = this.#target;
    entry.crc = crc32(bytes, entry.crc);
    entry.sizeBytes += bytes.length;
    this.#previous = new Promise((resolve, reject) => {
      this.#deflate.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    // The next write or end throws the error; until then it must not count as unhandled.
    this.#previous.catch(() => undefined);
  }

  async end(): Promise<void> {
    await this.#previous;
    const ended = once(this.#deflate, 'end');
    this.#deflate.end();
    await ended;
    this.#target.ended();
  }

  /** Frees the compressor's memory when the export is canceled. */
  destroy(): void {
    this.#deflate.destroy();
  }
}
