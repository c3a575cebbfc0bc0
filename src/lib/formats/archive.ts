import { closeSync } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, fromBufferPromise, fromFdPromise, type ZipFile } from 'yauzl';
import { isSluiceError, messageOf, type SluiceError } from '../errors.ts';
import type { Spool } from './spool.ts';

/** A file of an archive that somebody else closes, once the archive is closed. */
export interface LentFile {
  readonly lentFd: number;
  readonly sizeBytes: number;
}

type ArchiveSource = Buffer | Spool | LentFile;

export interface ArchiveLimits {
  maxEntries: number;
  /** How large all entries that are read may become together. */
  maxInflatedBytes: number;
  /** How large one entry may become; by default as large as all together. */
  maxEntryBytes?: number;
  /** The largest allowed ratio of expanded to compressed size; the first 4 MiB are free. */
  maxRatio: number;
}

/** The errors of the caller: each house has its own messages for its files. */
export interface ArchiveErrors {
  broken(why: string, cause?: unknown): SluiceError;
  encrypted(why: string): SluiceError;
  expandsTooFar(why: string): SluiceError;
}

export interface ArchiveEntry {
  /** Relative, with `/`, without `..`: an archive with any other name is broken. Folders end in `/`. */
  readonly name: string;
  readonly compressedBytes: number;
  /** What the archive states; reading stops when it turns out to be wrong. */
  readonly statedBytes: number;
}

export interface Archive {
  /** Of the whole archive, as it is stored. */
  readonly sizeBytes: number;
  /** In the order of the archive's directory. Two may have the same name. */
  readonly entries: readonly ArchiveEntry[];
  /** The first entry of that name, ignoring case; null without one. */
  find(name: string): ArchiveEntry | null;
  /** An entry's bytes, piece by piece. Throws at the end if the length or the checksum is wrong. */
  read(entry: ArchiveEntry): AsyncIterable<Buffer>;
  /** Also closes the file, once running reads have ended. */
  close(): void;
}

export interface OpenArchiveOptions {
  limits: ArchiveLimits;
  errors: ArchiveErrors;
}

/** Opens a ZIP by its directory. Nothing is decompressed until it is read. Takes over a spool. */
export async function openArchive(source: ArchiveSource, options: OpenArchiveOptions): Promise<Archive> {
  const { errors } = options;
  let zip: ZipFile | null = null;
  try {
    zip = await openZip(source);
    const entries = await readEntries(zip, options);
    return new CappedArchive({ ...options, zip, entries, sizeBytes: sizeOf(source), isLent: isLent(source) });
  } catch (error) {
    if (!isLent(source)) zip?.close();
    if (isSluiceError(error)) throw error;
    throw errors.broken(`Its archive cannot be read: ${messageOf(error)}`, error);
  }
}

const zipOptions = { lazyEntries: true, autoClose: false } as const;

async function openZip(source: ArchiveSource): Promise<ZipFile> {
  if (Buffer.isBuffer(source)) return fromBufferPromise(source, zipOptions);
  if (isLent(source)) return fromFdPromise(source.lentFd, zipOptions);
  const fd = source.release();
  try {
    return await fromFdPromise(fd, zipOptions);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function isLent(source: ArchiveSource): source is LentFile {
  return 'lentFd' in source;
}

function sizeOf(source: ArchiveSource): number {
  return Buffer.isBuffer(source) ? source.length : source.sizeBytes;
}

async function readEntries(zip: ZipFile, { limits, errors }: OpenArchiveOptions): Promise<Entry[]> {
  if (zip.entryCount > limits.maxEntries) {
    throw errors.expandsTooFar(
      `The archive has ${zip.entryCount} entries; at most ${limits.maxEntries} are read`,
    );
  }
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted()) throw errors.encrypted(`Its part ${entry.fileName} is protected by a password`);
    entries.push(entry);
  }
  return entries;
}

/** Up to this size, a high ratio is not an attack. */
const freeBytes = 4 * 1024 * 1024;
const pieceBytes = 64 * 1024;

class CappedArchive implements Archive {
  readonly sizeBytes: number;
  readonly entries: readonly ArchiveEntry[];
  readonly #zip: ZipFile;
  readonly #options: OpenArchiveOptions;
  readonly #zipEntries: Map<ArchiveEntry, Entry>;
  readonly #byName = new Map<string, ArchiveEntry>();
  /** Entries may share their stored bytes: each may be small, and all together too large. */
  readonly #mostBytes: number;
  readonly #isLent: boolean;
  #inflatedBytes = 0;

  constructor(
    parts: OpenArchiveOptions & { zip: ZipFile; entries: Entry[]; sizeBytes: number; isLent: boolean },
  ) {
    this.#isLent = parts.isLent;
    this.sizeBytes = parts.sizeBytes;
    this.#zip = parts.zip;
    this.#options = parts;
    this.#mostBytes = Math.min(
      parts.limits.maxInflatedBytes,
      Math.max(freeBytes, parts.sizeBytes * parts.limits.maxRatio),
    );
    this.#zipEntries = new Map(parts.entries.map((entry) => [describe(entry), entry]));
    this.entries = [...this.#zipEntries.keys()];
    for (const entry of this.entries) {
      const name = entry.name.toLowerCase();
      if (!this.#byName.has(name)) this.#byName.set(name, entry);
    }
  }

  find(name: string): ArchiveEntry | null {
    return this.#byName.get(name.toLowerCase()) ?? null;
  }

  close(): void {
    // Closing the library's object closes the file too.
    if (!this.#isLent) this.#zip.close();
  }

  async *read(entry: ArchiveEntry): AsyncGenerator<Buffer> {
    const zipEntry = this.#zipEntries.get(entry);
    if (zipEntry === undefined) throw new Error(`The entry ${entry.name} is of another archive`);
    let readBytes = 0;
    let checksum = 0;
    try {
      for await (const piece of await this.#open(zipEntry)) {
        readBytes += piece.length;
        checksum = crc32(piece, checksum);
        this.#count(entry, { piece, readBytes });
        yield piece;
      }
    } catch (error) {
      if (isSluiceError(error)) throw error;
      throw this.#broken(entry, messageOf(error), error);
    }
    if (readBytes !== entry.statedBytes) throw this.#lies(entry, `only ${readBytes}`);
    if (checksum !== zipEntry.crc32) throw this.#broken(entry, 'its checksum is another one');
  }

  /** Decompresses without the library, which leaks a decompressor when reading stops early. */
  async #open(entry: Entry): Promise<AsyncIterable<Buffer>> {
    const stored: Readable = await this.#zip.openReadStreamPromise(entry, { decodeFileData: false });
    if (entry.compressionMethod === 0) return stored;
    if (entry.compressionMethod !== 8) {
      stored.destroy();
      throw new Error(`it is compressed by method ${entry.compressionMethod}, which is not known here`);
    }
    // Errors reach the reader of the last stream.
    return pipeline(stored, createInflateRaw({ chunkSize: pieceBytes }), () => {});
  }

  #count(entry: ArchiveEntry, { piece, readBytes }: { piece: Buffer; readBytes: number }): void {
    const { limits, errors } = this.#options;
    this.#inflatedBytes += piece.length;
    const mostOfEntry = Math.min(
      limits.maxEntryBytes ?? Number.POSITIVE_INFINITY,
      Math.max(freeBytes, entry.compressedBytes * limits.maxRatio),
    );
    if (readBytes > mostOfEntry || this.#inflatedBytes > this.#mostBytes) {
      throw errors.expandsTooFar(
        `Its part ${entry.name} of ${entry.compressedBytes} bytes expands to more than ${readBytes - piece.length}`,
      );
    }
    if (readBytes > entry.statedBytes) throw this.#lies(entry, 'more');
  }

  #lies(entry: ArchiveEntry, found: string): SluiceError {
    return this.#broken(entry, `it has ${found} bytes, where ${entry.statedBytes} are stated`);
  }

  #broken({ name }: ArchiveEntry, why: string, cause?: unknown): SluiceError {
    return this.#options.errors.broken(`Its part ${name} cannot be read: ${why}`, cause);
  }
}

function describe({ fileName, compressedSize, uncompressedSize }: Entry): ArchiveEntry {
  return { name: fileName, compressedBytes: compressedSize, statedBytes: uncompressedSize };
}
