import { isSluiceError } from '../../../../lib/errors.ts';
import { ByteSource } from '../../../../lib/formats/byte-source.ts';
import { reportErrors } from '../errors.ts';
import type { RawRow, ReportLayout, ResumePoint, RowBatch } from '../types.ts';
import { codePages } from './code-pages.ts';
import { breaksIn, DelimitedScanner } from './delimited-scanner.ts';
import { detectEncoding, type FoundEncoding } from './encoding.ts';
import { findHeaderRow } from './header.ts';
import { JsonScanner } from './json-scanner.ts';
import { detectShape, looksLikeJson } from './json-shape.ts';
import { findOddity, sniffBytes } from './sniff.ts';
import { TextWindow } from './text-window.ts';
import {
  defaultReadingLimits,
  type Encoding,
  type HeaderFinder,
  type OpenBytes,
  type ReadingLimits,
  type ReportReader,
  type RowScanner,
} from './types.ts';

export interface OpenReportOptions {
  /** Where an earlier reader of the same file stopped; nothing before it is read again. */
  resume?: ResumePoint | undefined;
  limits?: Partial<ReadingLimits> | undefined;
  findHeader: HeaderFinder;
}

/** Where rows are read from. */
interface Start extends Omit<ResumePoint, 'layout'> {
  layout: ReportLayout;
  /** For resumed JSON: whether the responses are in an array. Null at the beginning. */
  resumed: { isRootArray: boolean } | null;
}

/** Finds out the format of a report and where its rows begin. Throws an error that concerns the whole file. */
export async function openReport(open: OpenBytes, options: OpenReportOptions): Promise<ReportReader> {
  const limits = { ...defaultReadingLimits, ...options.limits };
  const { resume, findHeader } = options;
  const start = resume === undefined ? await begin(open, { limits, findHeader }) : await goOn(open, resume);
  const read = (maxRows: number) => {
    if (maxRows < 1) throw new RangeError(`A batch must have at least 1 row, not ${maxRows}`);
    return batches(open, { start, limits, maxRows });
  };
  return { layout: start.layout, batches: read };
}

async function* batches(
  open: OpenBytes,
  { start, limits, maxRows }: { start: Start; limits: ReadingLimits; maxRows: number },
): AsyncGenerator<RowBatch> {
  const { layout, byteOffset: fromByte } = start;
  const window = new TextWindow(open, { encoding: layout.encoding, fromByte, pieceBytes: limits.pieceBytes });
  try {
    const scanner = scannerFor(start, { limits, window });
    let rows: RawRow[] = [];
    let length = 0;
    let byteOffset = fromByte;
    for (let stop = scanner.fill(rows, maxRows); ; stop = scanner.fill(rows, maxRows)) {
      if (scanner.rowsEnd !== null) byteOffset = window.byteAt(scanner.rowsEnd);
      const isLarge = length + scanner.at >= limits.batchLength;
      if (rows.length > 0 && (stop !== 'starved' || isLarge)) {
        yield { rows: alignRows(rows, layout), resume: { byteOffset, ...placeOf(scanner) } };
        rows = [];
        length = -scanner.at;
      }
      if (stop === 'ended') return;
      if (stop === 'full') continue;
      length += scanner.at;
      await window.advance(scanner.at);
      scanner.look(window);
    }
  } finally {
    await window.close();
  }
}

function scannerFor(
  start: Start,
  { limits, window }: { limits: ReadingLimits; window: TextWindow },
): RowScanner {
  const { layout, resumed, nextRowIndex: rowIndex, nextLine: line } = start;
  if (layout.format === 'delimited')
    return new DelimitedScanner(layout, { limits, start: { rowIndex, line } });
  const byteAt = (unit: number) => window.byteAt(unit);
  return new JsonScanner(layout, { limits, start: { rowIndex, line, resumed }, byteAt });
}

/** A field that first appears later in a batch is empty in the rows before it. */
function alignRows(rows: RawRow[], { format, headers }: ReportLayout): RawRow[] {
  if (format === 'delimited') return rows;
  return rows.map((row) => {
    const missing = headers.length - row.cells.length;
    return missing === 0 ? row : { ...row, cells: [...row.cells, ...new Array<string>(missing).fill('')] };
  });
}

function placeOf(scanner: RowScanner): Omit<ResumePoint, 'byteOffset'> {
  return {
    nextRowIndex: scanner.nextRowIndex,
    nextLine: scanner.nextLine,
    layout: scanner.layout(),
  };
}

async function begin(
  open: OpenBytes,
  { limits, findHeader }: { limits: ReadingLimits; findHeader: HeaderFinder },
): Promise<Start> {
  await refuseOddity(open);
  const found = await detectEncoding(open, limits);
  const { encoding } = found;
  const { fromByte, line } = await skipBlank(open, { found, limits });
  const head = new TextWindow(open, { encoding, fromByte, pieceBytes: limits.headBytes });
  try {
    await head.advance(0);
    if (looksLikeJson(head.text)) {
      const shape = detectShape(head.text, limits.jsonDepth);
      const layout: ReportLayout = { format: 'json', encoding, shape, headers: [] };
      return { byteOffset: fromByte, nextRowIndex: 0, nextLine: 1, layout, resumed: null };
    }
  } finally {
    await head.close();
  }
  const header = await findHeaderIn(open, { found, fromByte, line, limits, findHeader });
  return { ...header, nextRowIndex: 0, resumed: null };
}

interface HeaderTask {
  found: FoundEncoding;
  fromByte: number;
  line: number;
  limits: ReadingLimits;
  findHeader: HeaderFinder;
}

/** Of the encodings that the bytes allow, the one in which the platform knows the most columns; the first of equals. */
async function findHeaderIn(
  open: OpenBytes,
  { found, fromByte, line, limits, findHeader }: HeaderTask,
): Promise<Pick<Start, 'byteOffset' | 'nextLine' | 'layout'>> {
  let best: (Pick<Start, 'byteOffset' | 'nextLine' | 'layout'> & { known: number }) | null = null;
  let failure: unknown = null;
  const first = await firstBytes(open, { fromByte, count: limits.headBytes });
  for (const encoding of found.isGuess ? [found.encoding, ...codePages] : [found.encoding]) {
    const head = new TextWindow(first, { encoding, fromByte, pieceBytes: limits.headBytes });
    try {
      await head.advance(0);
      const { end, ...header } = findHeaderRow(head, { line, encoding, limits, findHeader });
      if (best === null || header.known > best.known) best = { ...header, byteOffset: head.byteAt(end) };
    } catch (error) {
      if (!isSluiceError(error)) throw error;
      failure ??= error;
    } finally {
      await head.close();
    }
  }
  if (best === null) throw failure;
  const { byteOffset, nextLine, layout } = best;
  return { byteOffset, nextLine, layout };
}

/** Read once for all encodings that are tried. One byte more than is looked at: where it ends is not the file's end. */
async function firstBytes(
  open: OpenBytes,
  { fromByte, count }: { fromByte: number; count: number },
): Promise<OpenBytes> {
  const source = new ByteSource(open(fromByte), count);
  try {
    const bytes = await source.peek(count + 1);
    return async function* first() {
      yield bytes;
    };
  } finally {
    await source.close();
  }
}

async function goOn(open: OpenBytes, resume: ResumePoint): Promise<Start> {
  // A copy, because the headers of JSON grow and the checkpoint belongs to the caller.
  const layout = structuredClone(resume.layout);
  const isRootArray = layout.format === 'json' && (await findFirstMark(open, layout.encoding)) === '[';
  return { ...resume, layout, resumed: { isRootArray } };
}

async function refuseOddity(open: OpenBytes): Promise<void> {
  const source = new ByteSource(open(0), sniffBytes);
  try {
    const start = await source.peek(sniffBytes);
    if (start.length === 0) throw reportErrors.raise.report_empty('The report is empty: it has no bytes.');
    const oddity = findOddity(start);
    if (oddity === null) return;
    const raise = oddity.isText ? reportErrors.raise.report_not_tabular : reportErrors.raise.report_not_text;
    throw raise(`The file is ${oddity.what}; reports are read from CSV and JSON.`, {
      details: { detected: oddity.what },
    });
  } finally {
    await source.close();
  }
}

/** The position of the first text. A file may begin with more blank lines than fit into a window. */
async function skipBlank(
  open: OpenBytes,
  { found, limits }: { found: FoundEncoding; limits: ReadingLimits },
): Promise<{ fromByte: number; line: number }> {
  const { encoding, bomBytes } = found;
  const window = new TextWindow(open, { encoding, fromByte: bomBytes, pieceBytes: limits.pieceBytes });
  let line = 1;
  try {
    for (let kept = 0; ; ) {
      await window.advance(kept);
      const { text, isLast } = window;
      if (text.trim() !== '') return { fromByte: window.byteAt(0), line };
      if (isLast) break;
      // A CR stays, because the LF that belongs to it may begin the next text.
      kept = text.endsWith('\r') ? text.length - 1 : text.length;
      line += breaksIn(text.slice(0, kept));
    }
  } finally {
    await window.close();
  }
  throw reportErrors.raise.report_empty('The report is empty: it has only blank lines and spaces.');
}

async function findFirstMark(open: OpenBytes, encoding: Encoding): Promise<string> {
  const window = new TextWindow(open, { encoding, fromByte: 0, pieceBytes: sniffBytes });
  try {
    do await window.advance(window.text.length);
    while (window.text.trim() === '' && !window.isLast);
    return window.text.trim().charAt(0);
  } finally {
    await window.close();
  }
}
