import type { Archive } from '../formats/archive.ts';
import { ByteSource } from '../formats/byte-source.ts';
import { isCompoundFile } from '../formats/magic-bytes.ts';
import { type Spool, spoolContent } from '../formats/spool.ts';
import { CsvRows } from './csv-rows.ts';
import { type CsvStart, findCsvStart, lineAt, startLength } from './csv-start.ts';
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
import { RowNotes } from './notes.ts';
import { RowQueue } from './row-queue.ts';
import { OpenRowReader } from './row-reader.ts';
import { lineBreaksIn, nextText, noteEncoding, TextRows } from './text-rows.ts';
import { type Encoding, TextSource } from './text-source.ts';
import { defaultReaderLimits, plainLayout, type ReaderLimits, type RowReader } from './types.ts';
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
  /** Whether files that are not quite well-formed are read by the rules of `notes.ts`. Default: they are refused. */
  repair?: boolean | undefined;
  /** Instead of the detected one. Ignored where the format has its own. */
  encoding?: Encoding | undefined;
  /** The line of the header, or its row in the sheet, from 1. Lines above it are skipped. */
  headerLine?: number | undefined;
  /** What becomes of a cell with an error such as #N/A: null, or its text. Default: null. */
  errorCells?: 'null' | 'text' | undefined;
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
  const { repair = false, headerLine, errorCells = 'null' } = options;
  const wanted = { sheet: sheet ?? undefined, limits, repair, headerLine, errorCells };
  return { kind: 'rows', reader: await open(spool, wanted) };
}

async function openHere(spool: Spool, options: Parameters<OpenWorkbook>[1]): Promise<RowReader> {
  return openWorkbookRows(await openRowArchive(spool, options.limits), options);
}

async function openText(
  bytes: ByteSource,
  { detected, options, limits }: Opening & { detected: Detected },
): Promise<RowReader> {
  const notes = options.repair ? new RowNotes() : null;
  const mayBeWindows1252 = options.repair === true && options.encoding === undefined;
  const texts = new TextSource(bytes, { ...detected, mayBeWindows1252 });
  if (detected.isGuessed) noteGuess(detected, notes);
  const queue = new RowQueue(limits);
  if (detected.content !== 'delimited') {
    const rows = new JsonRows({ isArray: detected.content === 'json', limits, queue });
    const source = new TextRows({ rows, texts, start: '', notes });
    const layout = () => ({ ...plainLayout, encoding: texts.encoding });
    return new OpenRowReader({ format: detected.content, delimiter: null, source, queue, layout, notes });
  }
  const { text, isWhole } = await readStart(texts, notes);
  const isTsv = detected.isDeclaredTsv && text.includes('\t');
  const wanted = {
    delimiter: options.delimiter ?? (isTsv ? '\t' : undefined),
    headerLine: options.headerLine,
  };
  const { delimiter, headerLine } =
    notes === null || (detected.isDeclaredTsv && !isTsv)
      ? strictStart(text, { options, detected })
      : findCsvStart({ text, isWhole, ...wanted, limits, notes });
  const source = new TextRows({
    rows: new CsvRows({ delimiter, limits, queue, headerLine, notes }),
    texts,
    start: text,
    notes,
  });
  const format = delimiter === '\t' ? 'tsv' : 'csv';
  const layout = () => ({ ...plainLayout, encoding: texts.encoding, headerLine });
  const reader = new OpenRowReader({ format, delimiter, source, queue, layout, notes });
  await reader.readHeader();
  return reader;
}

function noteGuess({ encoding }: Detected, notes: RowNotes | null): void {
  const what = () =>
    `every other byte is zero and there is no byte order mark; the text was read as ${encoding}`;
  notes?.add('encoding', { line: 1, row: null }, what);
}

/** Text from the start that holds the header; for a reader that repairs, also some rows. */
async function readStart(
  texts: TextSource,
  notes: RowNotes | null,
): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  for (;;) {
    const line = () => 1 + lineBreaksIn(text);
    const next = await nextText(texts, line);
    noteEncoding(texts, { notes, line: line() });
    if (next === null) return { text, isWhole: true };
    text += next;
    if (notes === null ? headerEnd(text) !== -1 : text.length >= startLength) return { text, isWhole: false };
  }
}

function strictStart(
  text: string,
  { options, detected }: { options: OpenRowsOptions; detected: Detected },
): CsvStart {
  const end = headerEnd(text);
  const first = end === -1 ? text : text.slice(0, end);
  const header = options.headerLine === undefined ? first : lineAt(text, options.headerLine);
  const delimiter = chooseDelimiter(header, { delimiter: options.delimiter, detected });
  return { delimiter, headerLine: options.headerLine ?? 1 };
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
