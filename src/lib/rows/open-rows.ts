import type { Archive } from '../formats/archive.ts';
import { ByteSource } from '../formats/byte-source.ts';
import { isCompoundFile } from '../formats/magic-bytes.ts';
import { type Spool, spoolContent } from '../formats/spool.ts';
import { CsvRows } from './csv-rows.ts';
import { type Delimiter, delimiters, detectDelimiter, headerEnd } from './delimiter.ts';
import {
  assertArchiveClaim,
  compoundFile,
  compoundSniffBytes,
  type Declaration,
  type Detected,
  detect,
  sniffBytes,
  unsupportedFormat,
} from './detect.ts';
import { readerErrors } from './errors.ts';
import { JsonRows } from './json-rows.ts';
import { RowQueue } from './row-queue.ts';
import { OpenRowReader } from './row-reader.ts';
import { TextRows } from './text-rows.ts';
import { TextSource } from './text-source.ts';
import { defaultReaderLimits, type ReaderLimits, type RowReader } from './types.ts';
import { type ArchiveKind, kindOfArchive, openRowArchive } from './xlsx/archive-kind.ts';
import { openWorkbookRows } from './xlsx/open-workbook-rows.ts';
import type { OpenWorkbook } from './xlsx/workbook-readers.ts';

export interface OpenRowsOptions extends Declaration {
  /** Instead of the detected one. Ignored where nothing is delimited. */
  delimiter?: Delimiter | undefined;
  /**
   * Of a workbook: the name of the sheet, or its number from 1. Without it the first visible one is read. A function
   * is called when the whole file was read: what names the sheet may arrive after the file.
   */
  sheet?: string | (() => string | null) | undefined;
  limits?: Partial<ReaderLimits> | undefined;
  /** Reads workbooks elsewhere: in a server, parsing one here would keep all requests waiting. */
  openWorkbook?: OpenWorkbook | undefined;
}

/** A file of rows, or an archive that is not a workbook, which the caller uses and closes. */
export type OpenInput = { kind: 'rows'; reader: RowReader } | { kind: 'zip'; archive: Archive };

type Source = AsyncIterable<Uint8Array | string>;

/**
 * Opens a file of rows: detects its format by the first bytes, reads the header, and leaves the rest to `read`. Text is
 * read only as far as rows are requested. A workbook has its directory at the end, so all of it goes to a temporary
 * file first. After an error the caller closes the reader, or the source itself if opening failed. An HTTP request may
 * have to be drained before the response can be sent.
 */
export async function openRows(source: Source, options: OpenRowsOptions = {}): Promise<RowReader> {
  const input = await openInput(source, options);
  if (input.kind === 'rows') return input.reader;
  input.archive.close();
  throw unsupportedFormat('a ZIP archive');
}

/** The same for callers that accept an archive of other files. */
export async function openInput(source: Source, options: OpenRowsOptions = {}): Promise<OpenInput> {
  const limits = { ...defaultReaderLimits, ...options.limits };
  const bytes = new ByteSource(source, limits.pieceBytes);
  const start = await bytes.peek(sniffBytes);
  if (isCompoundFile(start)) throw compoundFile(await bytes.peek(compoundSniffBytes));
  const detected = detect(start, options);
  if (detected.content === 'archive') return openArchived(bytes, { options, limits });
  return { kind: 'rows', reader: await openText(bytes, { detected, options, limits }) };
}

interface Opening {
  options: OpenRowsOptions;
  limits: ReaderLimits;
}

async function openArchived(bytes: ByteSource, { options, limits }: Opening): Promise<OpenInput> {
  const spool = await spoolContent(bytes, { maxBytes: limits.archiveBytes });
  let found: ArchiveKind;
  try {
    found = kindOfArchive(await openRowArchive({ lentFd: spool.fd, sizeBytes: spool.sizeBytes }, limits));
    if (found.kind === 'other') throw unsupportedFormat(found.what);
    assertArchiveClaim(options, found.kind);
  } catch (error) {
    await spool.close();
    throw error;
  }
  if (found.kind === 'zip') return { kind: 'zip', archive: await openRowArchive(spool, limits) };
  const sheet = typeof options.sheet === 'function' ? options.sheet() : options.sheet;
  const open = options.openWorkbook ?? openHere;
  return { kind: 'rows', reader: await open(spool, { sheet: sheet ?? undefined, limits }) };
}

async function openHere(spool: Spool, options: Parameters<OpenWorkbook>[1]): Promise<RowReader> {
  return openWorkbookRows(await openRowArchive(spool, options.limits), options);
}

async function openText(
  bytes: ByteSource,
  { detected, options, limits }: Opening & { detected: Detected },
): Promise<RowReader> {
  const texts = new TextSource(bytes, detected);
  const queue = new RowQueue(limits);
  if (detected.content !== 'delimited') {
    const rows = new JsonRows({ isArray: detected.content === 'json', limits, queue });
    const source = new TextRows({ rows, texts, start: '' });
    return new OpenRowReader({ format: detected.content, delimiter: null, source, queue });
  }
  const start = await readHeaderText(texts);
  const delimiter = chooseDelimiter(start.header, { delimiter: options.delimiter, detected });
  const source = new TextRows({
    rows: new CsvRows({ delimiter, limits, queue }),
    texts,
    start: start.text,
  });
  const format = delimiter === '\t' ? 'tsv' : 'csv';
  const reader = new OpenRowReader({ format, delimiter, source, queue });
  await reader.readHeader();
  return reader;
}

/** Text from the start that holds the header, and the header itself. */
async function readHeaderText(texts: TextSource): Promise<{ text: string; header: string }> {
  let text = '';
  for (;;) {
    const next = await texts.next();
    if (next === null) return { text, header: text };
    text += next;
    const end = headerEnd(text);
    if (end !== -1) return { text, header: text.slice(0, end) };
  }
}

function chooseDelimiter(
  header: string,
  { delimiter, detected }: { delimiter: Delimiter | undefined; detected: Detected },
): Delimiter {
  if (delimiter !== undefined) return delimiter;
  const found = detectDelimiter(header);
  if (!detected.isDeclaredTsv || found === '\t') return found;
  if (!delimiters.some((one) => header.includes(one))) return '\t';
  throw readerErrors.raise.content_mismatch(
    `The file is declared as TSV, but its header is divided by ${JSON.stringify(found)} and not by tabs.`,
    { details: { declared: 'tsv', detected: 'csv', delimiter: found } },
  );
}
