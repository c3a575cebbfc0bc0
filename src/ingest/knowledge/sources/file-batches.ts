import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { databaseErrors } from '../../../lib/db-errors.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { documentErrors } from '../formats/errors.ts';
import { readDocument } from '../formats/read-document.ts';
import { storableText, titleOfName } from '../formats/safe-text.ts';
import { type DocumentLimits, defaultDocumentLimits } from '../formats/types.ts';
import type { DocumentBatch, KnownDocument, LoadContext, LoadedDocument, SourceCursor } from './source.ts';

/** A file that a source has. */
export interface ListedFile {
  uri: string;
  name: string;
  mediaType: string | null;
  /** Where the source goes on behind this file. */
  cursor: SourceCursor;
  /** Of its bytes, where that is known without reading them. */
  sha256: string | null;
  open(): Promise<Readable>;
}

export interface FileBatchOptions {
  context: LoadContext;
  limits: Partial<DocumentLimits>;
  /** Asked when the last file was listed. */
  end(): NonNullable<DocumentBatch['end']>;
}

const batchDocuments = 16;
const batchTextUnits = 1024 * 1024;

/** Another number reads all files anew: it goes up when readers make other text of the same bytes. */
const readersVersion = 1;

/** What decides whether a file changed: its bytes, and what makes text of them. */
function contentHashOfFile(sha256: string): string {
  return createHash('sha256').update(`${readersVersion}:${sha256}`).digest('hex');
}

/** Reads files in their order. One that cannot be read is an error of its own; it is still there. */
export async function* fileBatches(
  files: AsyncIterable<ListedFile>,
  options: FileBatchOptions,
): AsyncGenerator<DocumentBatch> {
  let cursor: SourceCursor = options.context.cursor ?? {};
  for await (const group of groupsOf(files)) {
    const known = await options.context.findKnown(group.map(({ uri }) => uri));
    let documents: LoadedDocument[] = [];
    let units = 0;
    for (const file of group) {
      options.context.signal.throwIfAborted();
      const document = await loadFile(file, { ...options, known: known.get(file.uri) });
      documents.push(document);
      cursor = file.cursor;
      units += document.kind === 'text' ? document.text.length : 0;
      if (units < batchTextUnits) continue;
      yield { documents, cursor };
      documents = [];
      units = 0;
    }
    if (documents.length > 0) yield { documents, cursor };
  }
  yield { documents: [], cursor, end: options.end() };
}

async function* groupsOf(files: AsyncIterable<ListedFile>): AsyncGenerator<ListedFile[]> {
  let group: ListedFile[] = [];
  let lastUri: string | null = null;
  for await (const file of files) {
    // Names that are not valid UTF-8 can come out alike; the first of them stands for all.
    if (file.uri === lastUri) continue;
    lastUri = file.uri;
    group.push(file);
    if (group.length < batchDocuments) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

interface LoadOptions extends FileBatchOptions {
  known: KnownDocument | undefined;
}

async function loadFile(file: ListedFile, options: LoadOptions): Promise<LoadedDocument> {
  const { uri, name } = file;
  const { signal } = options.context;
  const wanted = options.known?.contentHash ?? null;
  if (file.sha256 !== null && contentHashOfFile(file.sha256) === wanted) return { kind: 'unchanged', uri };
  let bytes: { content: Buffer; sha256: string };
  try {
    bytes = await readBytes(file, options);
  } catch (error) {
    signal.throwIfAborted();
    // The database is away: that says nothing about the file, and the slice is tried again.
    if (isSluiceError(error) && error.code in databaseErrors.definitions) throw error;
    return { kind: 'error', uri, title: titleOfName(name), ...whyUnreadable(error) };
  }
  const contentHash = contentHashOfFile(bytes.sha256);
  if (contentHash === wanted) return { kind: 'unchanged', uri };
  const input = { bytes: bytes.content, name, mediaType: file.mediaType };
  const result = await readDocument(input, { signal, limits: options.limits });
  if (result.kind === 'empty') return { kind: 'empty', uri, title: result.title, reason: result.reason };
  if (result.kind === 'error') return { ...result, uri };
  const { title, text, mediaType } = result;
  return { kind: 'text', uri, title, text, contentHash, mediaType };
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
  return { content: Buffer.concat(pieces, sizeBytes), sha256: hash.digest('hex') };
}

/** In words of its own: the system's name paths of the server. */
function whyUnreadable(error: unknown): { code: string; message: string } {
  if (isSluiceError(error)) return { code: error.code, message: storableText(error.message) };
  const { code } = error as NodeJS.ErrnoException;
  const { definitions } = documentErrors;
  const reason = typeof code === 'string' ? ` (${code})` : '';
  return { code: 'file_unreadable', message: `${definitions.file_unreadable.title}${reason}` };
}
