import { CsvScanner } from './csv-scanner.ts';
import { delimiters, detectDelimiter, headerEnd } from './delimiter.ts';
import { readerErrors } from './errors.ts';
import { quoted, RowNotes } from './notes.ts';
import { findTableStart, mostSampleRows, type SampleRow } from './table-start.ts';
import type { ReaderLimits } from './types.ts';

/** Enough text to see the header and some rows. */
export const startLength = 16 * 1024;

export interface CsvStart {
  delimiter: string;
  headerLine: number;
}

export interface CsvStartOptions {
  /** The beginning of the file. */
  text: string;
  /** Whether that is all of it. */
  isWhole: boolean;
  delimiter: string | undefined;
  headerLine: number | undefined;
  limits: ReaderLimits;
  notes: RowNotes;
}

/** Finds the delimiter and the header of a file that may begin with other lines, and notes what it skips. */
export function findCsvStart(options: CsvStartOptions): CsvStart {
  const { text, notes } = options;
  const separator = separatorLine.exec(text)?.[1];
  if (separator !== undefined && !options.delimiter) {
    notes.add('separator_line', { line: 1, row: null }, () => `"sep=${separator}"`);
  }
  const wanted = options.delimiter ?? separator;
  const firstLine = separator === undefined ? 1 : 2;
  if (options.headerLine !== undefined) {
    const line = lineAt(text, options.headerLine);
    return { delimiter: wanted ?? detectDelimiter(line), headerLine: options.headerLine };
  }
  if (wanted === undefined && isPlain(text)) return { delimiter: detectHeader(text), headerLine: firstLine };
  const delimiter = wanted ?? chooseDelimiter(options);
  const sample = sampleOf(options, delimiter).filter(({ line }) => line >= firstLine);
  const { at, narrow } = findTableStart(sample);
  const header = sample[at]?.line ?? firstLine;
  if (narrow !== null) throw narrowHeader(header, narrow);
  for (const { line, head } of sample.slice(0, at))
    notes.add('preamble', { line, row: null }, () => quoted(head));
  return { delimiter, headerLine: header };
}

/** What Excel writes, and reads, to name the delimiter. */
const separatorLine = /^"?sep=([^\r\n"])"?[\r\n]/i;

function detectHeader(text: string): string {
  const end = headerEnd(text);
  return detectDelimiter(end === -1 ? text : text.slice(0, end));
}

/**
 * Nearly every file: a header and a first row without quotes, each with as many delimiters as the other, and a name in
 * each cell of the header. Nothing has to be looked for, and it costs next to nothing to see.
 */
function isPlain(text: string): boolean {
  const [, header, row] = firstTwoLines.exec(text) ?? [];
  if (header === undefined || row === undefined || header.includes('"') || row.includes('"')) return false;
  const delimiter = detectDelimiter(header);
  const cells = header.split(delimiter);
  return (
    cells.length > 1 &&
    cells.every((name) => name.trim() !== '') &&
    row.split(delimiter).length === cells.length
  );
}

const firstTwoLines = /^[\r\n]*([^\r\n]+)[\r\n]+([^\r\n]+)/;

/** The delimiter by which most of the first rows have the same number of cells, two or more. */
function chooseDelimiter(options: CsvStartOptions): string {
  const first = detectHeader(options.text);
  const scores = [first, ...delimiters.filter((one) => one !== first)].map((delimiter) => {
    const rows = sampleOf(options, delimiter);
    const counts = new Map<number, number>();
    for (const { width } of rows) if (width > 1) counts.set(width, (counts.get(width) ?? 0) + 1);
    return { delimiter, score: Math.max(0, ...counts.values()) };
  });
  const [best] = scores.toSorted((a, b) => b.score - a.score);
  return best?.delimiter ?? first;
}

interface HeadedRow extends SampleRow {
  head: string;
}

/** The first rows, as the scanner will cut them. What is wrong with them, it will say itself. */
function sampleOf({ text, isWhole, limits }: CsvStartOptions, delimiter: string): HeadedRow[] {
  const rows: HeadedRow[] = [];
  let lastLine = 0;
  const take = (cells: string[], { line }: { line: number }) => {
    const width = cells.findLastIndex((cell) => cell.trim() !== '') + 1;
    const filled = cells.filter((cell) => cell.trim() !== '').length;
    const isAfterBlank = rows.length > 0 && line > lastLine + 1;
    // A line of nothing but delimiters is blank for a spreadsheet.
    if (filled > 0)
      rows.push({ line, cells: cells.length, width, filled, isAfterBlank, head: cells.join(delimiter) });
    lastLine =
      filled > 0 ? line + cells.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0) : lastLine;
    if (rows.length === mostSampleRows) throw new SampleEnded();
  };
  const scanner = new CsvScanner({ delimiter, limits, take, notes: new RowNotes() });
  try {
    scanner.feed(text.slice(0, startLength));
    if (isWhole && text.length <= startLength) scanner.finish();
  } catch {
    // A problem, or enough rows: what was taken so far is the sample.
  }
  return rows;
}

class SampleEnded extends Error {}

/** A line of the text, from 1; empty when it has fewer. */
export function lineAt(text: string, line: number): string {
  return text.split(/\r\n|\n|\r/, line)[line - 1] ?? '';
}

function narrowHeader(line: number, { header, rows }: { header: number; rows: number }) {
  return readerErrors.raise.ragged_row(
    `The header (line ${line}) has ${header} cells, but most of the rows after it have ${rows}. ` +
      'Name the line of the header (headerLine) if it is another one.',
    { details: { row: 0, line, cells: rows, columns: header } },
  );
}
