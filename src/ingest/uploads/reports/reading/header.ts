import { isSluiceError, type SluiceError } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';
import { copyOf } from '../shown-text.ts';
import type { RawRow } from '../types.ts';
import { DelimitedScanner } from './delimited-scanner.ts';
import type { DelimitedLayout, Encoding, HeaderFinder, ReadingLimits, ScannedText } from './types.ts';

/** In the order of preference when nothing else decides. */
const delimiters = [',', ';', '\t', '|'];

export interface FoundHeader {
  layout: DelimitedLayout;
  /** The position in the text where the first row after the header begins. */
  end: number;
  nextLine: number;
  /** How many of its columns the platform knows. */
  known: number;
}

interface Candidates {
  delimiter: string;
  rows: readonly (readonly string[])[];
  /** For each row: its end in the text and the number of the next line. */
  ends: { at: number; line: number }[];
  /** The error of the row after these. */
  problem: SluiceError | null;
}

/**
 * Finds delimiter and header together: the first lines are split by each delimiter, the most plausible first, until the
 * platform recognizes a header among them. Counting alone fails, because title lines are full of other delimiters.
 */
export function findHeaderRow(
  head: ScannedText,
  options: { line: number; encoding: Encoding; limits: ReadingLimits; findHeader: HeaderFinder },
): FoundHeader {
  const { line, encoding, limits, findHeader } = options;
  const ways = delimiters
    .map((delimiter) => candidatesBy(delimiter, { head, line, limits }))
    .toSorted((a, b) => plausibility(b.rows) - plausibility(a.rows));
  let failure: SluiceError | null = null;
  for (const { rows, ends, delimiter, problem } of ways) {
    if (rows.length === 0) {
      failure ??= problem;
      continue;
    }
    const found = findHeader(rows);
    if ('fails' in found) {
      failure ??= found.fails;
      continue;
    }
    const [headers, end] = [rows[found.at], ends[found.at]];
    if (headers === undefined || end === undefined) {
      throw new Error(`The header finder chose line ${found.at} of ${rows.length} lines, counted from 0`);
    }
    const titleLines = rows.slice(0, found.at).map((cells) => titleOf(cells, delimiter));
    const layout: DelimitedLayout = {
      format: 'delimited',
      encoding,
      delimiter,
      headers: headers.map(copyOf),
      titleLines,
    };
    return { layout, end: end.at, nextLine: end.line, known: found.known ?? 0 };
  }
  throw failure ?? headTooLarge(line, limits);
}

function candidatesBy(
  delimiter: string,
  { head, line, limits }: { head: ScannedText; line: number; limits: ReadingLimits },
): Candidates {
  const layout: DelimitedLayout = {
    format: 'delimited',
    encoding: 'utf-8',
    delimiter,
    headers: [],
    titleLines: [],
  };
  const scanner = new DelimitedScanner(layout, { limits, start: { rowIndex: 0, line }, isStrict: true });
  scanner.look(head);
  const rows: RawRow[] = [];
  const ends: Candidates['ends'] = [];
  let problem: SluiceError | null = null;
  try {
    while (rows.length < limits.headerLines && scanner.fill(rows, rows.length + 1) === 'full') {
      ends.push({ at: scanner.at, line: scanner.nextLine });
    }
  } catch (error) {
    // Another delimiter may split the row correctly. If none finds a header, this is the error.
    if (!isSluiceError(error)) throw error;
    problem = error;
  }
  return { delimiter, rows: rows.map(({ cells }) => cells), ends, problem };
}

/** The number of cells in rows of the most frequent width: rows of a table have the same width, prose does not. */
function plausibility(rows: readonly (readonly string[])[]): number {
  const cellsByWidth = new Map<number, number>();
  for (const { length } of rows) {
    if (length > 1) cellsByWidth.set(length, (cellsByWidth.get(length) ?? 0) + length);
  }
  return Math.max(0, ...cellsByWidth.values());
}

function titleOf(cells: readonly string[], delimiter: string): string {
  const end = cells.findLastIndex((cell) => cell !== '') + 1;
  return copyOf(cells.slice(0, end).join(delimiter));
}

function headTooLarge(line: number, { headBytes }: ReadingLimits): SluiceError {
  return reportErrors.raise.report_row_too_large(
    `Line ${line}, the first line with text, has more than ${headBytes} bytes, the most allowed for a header.`,
    { details: { line, max_bytes: headBytes } },
  );
}
