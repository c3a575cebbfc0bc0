import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isSluiceError } from '../../../lib/errors.ts';
import { databaseErrors } from '../../../lib/postgres/db-errors.ts';
import { documentErrors } from '../formats/errors.ts';
import { readDocument } from '../formats/read-document.ts';
import { storableText, titleOfName } from '../formats/safe-text.ts';
import { type DocumentLimits, defaultDocumentLimits } from '../formats/types.ts';
import type { FileStamp } from './file-stamp.ts';
import { joinBytes } from './join-bytes.ts';
import {
  type DocumentBatch,
  type KnownDocument,
  type LoadContext,
  type LoadedDocument,
  loadedDocument,
  type SourceCursor,
} from './source.ts';

/** A file that a source has. */
export interface ListedFile {
  uri: string;
  name: string;
  /** If the name is not for people. */
  shownName?: string;
  /** What the source says of it, beside what it says of itself. */
  metadata?: Readonly<Record<string, unknown>>;
  mediaType: string | null;
  /** Where the source continues after this file. */
  cursor: SourceCursor;
  /** Hash of its bytes, if known without reading them. */
  sha256: string | null;
  /** Size and times, if available; a file with the same stamp is not read again. */
  findStamp: (() => Promise<FileStamp | null>) | null;
  open(): Promise<Readable>;
}

export interface FileBatchOptions {
  context: LoadContext;
  limits: Partial<DocumentLimits>;
  /** Called after the last file was listed. */
  end(): NonNullable<DocumentBatch['end']>;
}

/** How many files are looked up at once; unchanged files cost so little that a batch may hold all of them. */
const batchDocuments = 1_000;
/** How many changed documents a batch holds; reading a document that turns out unchanged is an eighth of the work. */
const batchReads = 16;
const unchangedShare = 1 / 8;
const batchTextUnits = 1024 * 1024;
/** How many files are checked at a time; more would hold up other work. */
const looksAtOnce = 64;

/** Increase it when readers make other text of the same bytes: then all files are read again. */
const readersVersion = 4;

/** Decides whether a file changed: by its bytes and the version of the readers. */
function contentHashOfFile(sha256: string): string {
  return createHash('sha256').update(`${readersVersion}:${sha256}`).digest('hex');
}

/** Stored in place of an ETag: the stamp of the file when these readers read it. */
function etagOfStamp({ text }: FileStamp): string {
  return `stamp:${readersVersion}:${text}`;
}

/** Reads files in order. A file that cannot be read is an error document; it does not count as gone. */
export async function* fileBatches(
  files: AsyncIterable<readonly ListedFile[]>,
  options: FileBatchOptions,
): AsyncGenerator<DocumentBatch> {
  const { context } = options;
  let cursor: SourceCursor = context.cursor ?? {};
  for await (const group of groupsOf(files)) {
    context.signal.throwIfAborted();
    const [known, stamps] = await Promise.all([
      context.findKnown(group.map(({ uri }) => uri)),
      findStamps(group, context.signal),
    ]);
    let documents: LoadedDocument[] = [];
    let reads = 0;
    let units = 0;
    for (const [at, file] of group.entries()) {
      const seen = { known: known.get(file.uri), stamp: stamps[at] ?? null };
      const unchanged = findUnchanged(file, seen);
      const document = unchanged ?? (await loadFile(file, { ...options, ...seen }));
      documents.push(document);
      cursor = file.cursor;
      if (unchanged) continue;
      reads += document.kind === 'unchanged' ? unchangedShare : 1;
      units += document.kind === 'text' ? document.text.length : 0;
      if (reads < batchReads && units < batchTextUnits) continue;
      yield { documents, cursor };
      documents = [];
      reads = 0;
      units = 0;
    }
    if (documents.length > 0) yield { documents, cursor };
  }
  yield { documents: [], cursor, end: options.end() };
}

async function* groupsOf(files: AsyncIterable<readonly ListedFile[]>): AsyncGenerator<ListedFile[]> {
  let group: ListedFile[] = [];
  let lastUri: string | null = null;
  for await (const some of files) {
    for (const file of some) {
      // Names that are not valid UTF-8 may become equal; only the first of them is read.
      if (file.uri === lastUri) continue;
      lastUri = file.uri;
      group.push(file);
      if (group.length < batchDocuments) continue;
      yield group;
      group = [];
    }
  }
  if (group.length > 0) yield group;
}

async function findStamps(
  files: readonly ListedFile[],
  signal: AbortSignal,
): Promise<(FileStamp | null | undefined)[]> {
  const stamps: (FileStamp | null | undefined)[] = [];
  for (let from = 0; from < files.length; from += looksAtOnce) {
    signal.throwIfAborted();
    const some = files.slice(from, from + looksAtOnce);
    stamps.push(...(await Promise.all(some.map((file) => file.findStamp?.()))));
  }
  return stamps;
}

interface Seen {
  known: KnownDocument | undefined;
  stamp: FileStamp | null;
}

/** Null if the file has to be read to know whether it changed. */
function findUnchanged({ uri, sha256 }: ListedFile, { known, stamp }: Seen): LoadedDocument | null {
  const { contentHash = null, etag = null } = known ?? {};
  if (contentHash === null) return null;
  const isSame =
    (sha256 !== null && contentHashOfFile(sha256) === contentHash) ||
    (stamp !== null && etagOfStamp(stamp) === etag);
  return isSame ? { kind: 'unchanged', uri } : null;
}

type LoadOptions = FileBatchOptions & Seen;

async function loadFile(file: ListedFile, options: LoadOptions): Promise<LoadedDocument> {
  const { uri, name } = file;
  const { signal } = options.context;
  let bytes: { content: Buffer; sha256: string };
  try {
    signal.throwIfAborted();
    bytes = await readBytes(file, options);
  } catch (error) {
    signal.throwIfAborted();
    // The database or the storage is down: that is no error of the file, and the slice is retried.
    if (
      isSluiceError(error) &&
      (error.code in databaseErrors.definitions || error.code === 'files_unavailable')
    ) {
      throw error;
    }
    return { kind: 'error', uri, title: titleOfName(name), ...whyUnreadable(error) };
  }
  const etag = await etagToRemember(file, options);
  const contentHash = contentHashOfFile(bytes.sha256);
  if (contentHash === options.known?.contentHash) return { kind: 'unchanged', uri, ...etag };
  const input = {
    bytes: bytes.content,
    isHandedOver: true,
    name: file.shownName ?? name,
    mediaType: file.mediaType,
  };
  const result = await readDocument(input, { signal, limits: options.limits });
  const document = loadedDocument(result, { uri, contentHash, ...etag });
  if (document.kind !== 'text' || file.metadata === undefined) return document;
  return { ...document, metadata: { ...file.metadata, ...document.metadata } };
}

/** Only for a file that did not change while it was read, and whose next change will change its stamp. */
async function etagToRemember(file: ListedFile, { stamp }: Seen): Promise<{ etag?: string }> {
  if (!stamp?.isSettled) return {};
  const after = await file.findStamp?.();
  return after?.text === stamp.text ? { etag: etagOfStamp(stamp) } : {};
}

async function readBytes(
  file: ListedFile,
  { limits, context }: LoadOptions,
): Promise<{ content: Buffer; sha256: string }> {
  const maxBytes = limits.maxBytes ?? defaultDocumentLimits.maxBytes;
  const hash = createHash('sha256');
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  const stream = await file.open();
  for await (const piece of stream as AsyncIterable<Buffer>) {
    context.signal.throwIfAborted();
    sizeBytes += piece.length;
    if (sizeBytes > maxBytes) {
      throw documentErrors.raise.document_too_large(
        `The document has more than ${maxBytes} bytes, which is the limit`,
      );
    }
    hash.update(piece);
    pieces.push(piece);
  }
  return { content: await joinBytes(pieces, sizeBytes), sha256: hash.digest('hex') };
}

/** Not the system's message, which contains paths of the server. */
function whyUnreadable(error: unknown): { code: string; message: string } {
  if (isSluiceError(error)) return { code: error.code, message: storableText(error.message) };
  const { code } = error as NodeJS.ErrnoException;
  const { definitions } = documentErrors;
  const reason = typeof code === 'string' ? ` (${code})` : '';
  return { code: 'file_unreadable', message: `${definitions.file_unreadable.title}${reason}` };
}
