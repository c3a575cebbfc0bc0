import type { Readable } from 'node:stream';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { documentErrors } from './errors.ts';
import type { DocumentLimits } from './types.ts';

export interface DocxArchive {
  /** The part's bytes piece by piece; null when there is no such part. Names are without a leading slash. */
  open(name: string): AsyncIterable<Buffer> | null;
  close(): void;
}

/** Only what is asked for is unfolded, and all of it together at most to the limit. */
export async function openDocxArchive(bytes: Buffer, limits: DocumentLimits): Promise<DocxArchive> {
  let zip: ZipFile;
  const entries = new Map<string, Entry>();
  try {
    zip = await fromBufferPromise(bytes, { lazyEntries: true, autoClose: false, validateEntrySizes: true });
    await readEntries(zip, { entries, limits });
  } catch (error) {
    if (isSluiceError(error)) throw error;
    throw broken(error);
  }
  const budget = { leftBytes: limits.maxInflatedBytes };
  return {
    open: (name) => {
      const entry = entries.get(name.toLowerCase());
      return entry === undefined ? null : inflate(zip, { entry, budget, limits });
    },
    close: () => zip.close(),
  };
}

async function readEntries(
  zip: ZipFile,
  { entries, limits }: { entries: Map<string, Entry>; limits: DocumentLimits },
): Promise<void> {
  if (zip.entryCount > limits.maxArchiveEntries) {
    throw documentErrors.raise.document_unfolds_too_far(
      `The archive has ${zip.entryCount} entries; at most ${limits.maxArchiveEntries} are read`,
    );
  }
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted()) {
      throw documentErrors.raise.docx_is_encrypted(`Its part ${entry.fileName} is protected by a password`);
    }
    // The first of two parts with one name is the one that Word takes.
    const name = entry.fileName.toLowerCase();
    if (!entries.has(name)) entries.set(name, entry);
  }
}

interface Inflating {
  entry: Entry;
  budget: { leftBytes: number };
  limits: DocumentLimits;
}

/** Below this, runs of spaces are no attack. */
const freeBytes = 4 * 1024 * 1024;

async function* inflate(zip: ZipFile, { entry, budget, limits }: Inflating): AsyncGenerator<Buffer> {
  let inflatedBytes = 0;
  const mostByRatio = Math.max(freeBytes, entry.compressedSize * limits.maxInflateRatio);
  try {
    const stream: Readable = await zip.openReadStreamPromise(entry);
    for await (const piece of stream as AsyncIterable<Buffer>) {
      inflatedBytes += piece.length;
      budget.leftBytes -= piece.length;
      if (budget.leftBytes < 0 || inflatedBytes > mostByRatio) {
        throw documentErrors.raise.document_unfolds_too_far(
          `Its part ${entry.fileName} of ${entry.compressedSize} bytes unfolds to more than ${inflatedBytes}`,
        );
      }
      yield piece;
    }
  } catch (error) {
    if (isSluiceError(error)) throw error;
    throw broken(error);
  }
}

function broken(error: unknown) {
  return documentErrors.raise.docx_is_broken(`Its archive cannot be read: ${messageOf(error)}`, {
    cause: error,
  });
}
