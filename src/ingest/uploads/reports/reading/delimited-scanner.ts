import type { SluiceError } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';
import { rowProblem, shortened, shownLength } from '../shown-text.ts';
import type { FieldProblem, RawRow } from '../types.ts';
import type { DelimitedLayout, ReadingLimits, RowScanner, ScannedText, Stop } from './types.ts';

const quote = 34;
const lineFeed = 10;
const carriageReturn = 13;
const never = Number.POSITIVE_INFINITY;

export interface ScannerStart {
  rowIndex: number;
  line: number;
}

/** A row that is too long to be kept, while the scanner looks for its end. */
interface SkippedRow {
  problem: FieldProblem;
  /** Its position in the current text; null when it began in an earlier text. */
  start: number | null;
  column: number;
  breaks: number;
  isInCell: boolean;
}

type Found = string[] | 'too long' | null;

/**
 * Splits delimited text into rows by RFC 4180, with LF, CRLF or CR at the end of a line. It tolerates deviations: a
 * quote inside a cell is literal, text after a closing quote belongs to the cell, short rows are padded, long ones are
 * kept. Rows without any text are skipped, like the `,,,` that spreadsheets write. A row that exceeds a limit becomes a
 * row with a problem, and only the beginning of what is too long is kept. Only a quote that is never closed is an error
 * of the whole file, because no row can be found after it.
 *
 * The positions of the next quote, delimiter and line break are kept from row to row: searching for them in each row of
 * a file that has none would take quadratic time.
 */
export class DelimitedScanner implements RowScanner {
  readonly #layout: DelimitedLayout;
  readonly #delimiter: string;
  readonly #delimiterCode: number;
  readonly #limits: ReadingLimits;
  #text = '';
  #isLast = false;
  at = 0;
  #nextQuote = -1;
  #nextDelimiter = -1;
  #nextFeed = -1;
  #nextReturn = -1;
  nextRowIndex: number;
  nextLine: number;
  readonly #isStrict: boolean;
  #problem: FieldProblem | null = null;
  #skipped: SkippedRow | null = null;

  /** With `isStrict`, a problem of a row is thrown. */
  constructor(
    layout: DelimitedLayout,
    { limits, start, isStrict = false }: { limits: ReadingLimits; start: ScannerStart; isStrict?: boolean },
  ) {
    this.#isStrict = isStrict;
    this.#layout = layout;
    this.#delimiter = layout.delimiter;
    this.#delimiterCode = layout.delimiter.charCodeAt(0);
    this.#limits = limits;
    this.nextRowIndex = start.rowIndex;
    this.nextLine = start.line;
  }

  /** Blank lines after a row belong to it. */
  get rowsEnd(): number | null {
    return this.#skipped === null ? this.at : this.#skipped.start;
  }

  layout(): DelimitedLayout {
    return this.#layout;
  }

  look({ text, isLast }: ScannedText): void {
    this.#text = text;
    this.#isLast = isLast;
    this.at = 0;
    if (this.#skipped !== null) this.#skipped.start = null;
    this.#forgetPlaces();
  }

  #forgetPlaces(): void {
    this.#nextQuote = -1;
    this.#nextDelimiter = -1;
    this.#nextFeed = -1;
    this.#nextReturn = -1;
  }

  fill(rows: RawRow[], maxRows: number): Stop {
    const width = this.#layout.headers.length;
    while (rows.length < maxRows) {
      const line = this.nextLine;
      this.#problem = null;
      const found = this.#skipped === null ? this.#nextRow() : 'too long';
      const cells = found === 'too long' ? this.#passSkipped() : found;
      if (cells === null) return this.#isLast ? 'ended' : 'starved';
      const problem: FieldProblem | null = this.#problem;
      if (problem === null && isBlank(cells)) continue;
      const given = cells.length;
      while (cells.length < width) cells.push('');
      const row: RawRow = { rowIndex: this.nextRowIndex, line, cells };
      if (problem !== null) row.problem = problem;
      if (given < width) row.cellsGiven = given;
      rows.push(row);
      this.nextRowIndex += 1;
    }
    return 'full';
  }

  /** Null when the text contains no further whole row. A row that is too long is left to `#passSkipped`. */
  #nextRow(): Found {
    const text = this.#text;
    const start = this.at;
    if (start >= text.length) return null;
    if (this.#nextFeed < start) this.#nextFeed = this.#find('\n', start);
    if (this.#nextReturn < start) this.#nextReturn = this.#find('\r', start);
    if (this.#nextQuote < start) this.#nextQuote = this.#find('"', start);
    const lineEnd = Math.min(this.#nextFeed, this.#nextReturn);
    if (this.#nextQuote < lineEnd) return this.#nextQuotedRow(lineEnd);
    if (lineEnd === never && !this.#isLast) return this.#unfinished(start);
    const end = Math.min(lineEnd, text.length);
    const after = this.#afterBreak(end);
    if (after === null) return null;
    if (end - start > this.#limits.rowLength) return this.#skip(start);
    const cells = this.#split(start, end);
    this.at = after;
    this.#endLine();
    return cells;
  }

  /** The cells of a line without quotes. */
  #split(start: number, end: number): string[] {
    const text = this.#text;
    const cells: string[] = [];
    let from = start;
    for (;;) {
      if (this.#nextDelimiter < from) this.#nextDelimiter = this.#find(this.#delimiter, from);
      const cellEnd = Math.min(this.#nextDelimiter, end);
      this.#push(cells, text.slice(from, cellEnd));
      if (cellEnd === end) return cells;
      from = cellEnd + 1;
    }
  }

  /** A row with a quote in its first line; it may continue in the next line. */
  #nextQuotedRow(lineEnd: number): Found {
    const text = this.#text;
    const start = this.at;
    const cells: string[] = [];
    let from = start;
    for (;;) {
      const isQuoted = text.charCodeAt(from) === quote;
      const close = isQuoted ? this.#closingQuote(from, cells.length) : from;
      if (close === -1) return this.#unfinished(start);
      const plainFrom = isQuoted ? close + 1 : from;
      const end = this.#plainEnd(plainFrom);
      if (end === text.length && !this.#isLast) return this.#unfinished(start);
      const plain = plainFrom === end ? '' : text.slice(plainFrom, end);
      this.#push(cells, isQuoted ? unquote(text.slice(from + 1, close)) + plain : plain);
      if (text.charCodeAt(end) === this.#delimiterCode) {
        from = end + 1;
        continue;
      }
      const after = this.#afterBreak(end);
      if (after === null) return null;
      if (end - start > this.#limits.rowLength) return this.#skip(start);
      if (lineEnd < end) this.nextLine += breaksIn(text.slice(start, end));
      this.at = after;
      this.#endLine();
      return cells;
    }
  }

  /** A row that continues beyond the text is skipped as soon as it is certainly too long. */
  #unfinished(start: number): Found {
    return this.#text.length - start > this.#limits.rowLength ? this.#skip(start) : null;
  }

  #skip(start: number): 'too long' {
    const error = this.#rowTooLarge();
    if (this.#isStrict) throw error;
    const value = this.#text.slice(start, start + Math.min(shownLength, this.#limits.rowLength));
    this.#skipped = { problem: rowProblem(error, { value }), start, column: 0, breaks: 0, isInCell: false };
    this.at = start;
    this.#forgetPlaces();
    return 'too long';
  }

  /** Moves to the end of the skipped row, cell by cell. Returns null when the end is not in this text. */
  #passSkipped(): string[] | null {
    const skipped = this.#skipped;
    if (skipped === null) throw new Error('There is no skipped row to pass');
    for (;;) {
      if (this.at === this.#text.length && !this.#isLast) return null;
      if (!skipped.isInCell && !this.#passQuotes(skipped)) return null;
      skipped.isInCell = true;
      this.at = this.#plainEnd(this.at);
      const after = this.at === this.#text.length && !this.#isLast ? null : this.#afterBreak(this.at);
      if (after === null) return null;
      const isCellEnd = this.#text.charCodeAt(this.at) === this.#delimiterCode;
      this.at = after;
      if (!isCellEnd) break;
      skipped.isInCell = false;
      skipped.column += 1;
    }
    this.#problem = skipped.problem;
    this.#skipped = null;
    this.nextLine += skipped.breaks;
    this.#endLine();
    return [];
  }

  /** Passes the quoted beginning of a cell, if it has one. Returns false when the quotes do not end in this text. */
  #passQuotes(skipped: SkippedRow): boolean {
    const from = this.at;
    if (this.#text.charCodeAt(from) !== quote) return true;
    const close = this.#closingQuote(from, skipped.column);
    // At the end of the text it may be the first of two quotes.
    if (close === -1 || (close + 1 === this.#text.length && !this.#isLast)) return false;
    skipped.breaks += breaksIn(this.#text.slice(from, close));
    this.at = close + 1;
    return true;
  }

  /** The position of the quote that closes the one at `start`; -1 when it is not in this text. */
  #closingQuote(start: number, column: number): number {
    const text = this.#text;
    let close = text.indexOf('"', start + 1);
    while (close !== -1 && text.charCodeAt(close + 1) === quote) close = text.indexOf('"', close + 2);
    // No row is this long, so the quote was not meant to open a cell.
    const isTooFar = (close === -1 ? text.length : close) - start > this.#limits.rowLength;
    if (isTooFar || (close === -1 && this.#isLast)) throw this.#unclosed(column, isTooFar);
    return close;
  }

  /** The position of the delimiter or line break that ends a cell without quotes. */
  #plainEnd(from: number): number {
    if (this.#nextDelimiter < from) this.#nextDelimiter = this.#find(this.#delimiter, from);
    if (this.#nextFeed < from) this.#nextFeed = this.#find('\n', from);
    if (this.#nextReturn < from) this.#nextReturn = this.#find('\r', from);
    return Math.min(this.#nextDelimiter, this.#nextFeed, this.#nextReturn, this.#text.length);
  }

  /** Where the next line begins; null when the LF of a CRLF may still follow in the next text. */
  #afterBreak(end: number): number | null {
    const text = this.#text;
    if (end === text.length) return end;
    if (text.charCodeAt(end) !== carriageReturn) return end + 1;
    if (end + 1 === text.length) return this.#isLast ? end + 1 : null;
    return text.charCodeAt(end + 1) === lineFeed ? end + 2 : end + 1;
  }

  #find(what: string, from: number): number {
    const at = this.#text.indexOf(what, from);
    return at === -1 ? never : at;
  }

  #push(cells: string[], cell: string): void {
    const { cellLength, columns } = this.#limits;
    if (cells.length === columns) {
      this.#note(this.#tooManyColumns(), { value: cell });
      return;
    }
    const isTooLong = cell.length > cellLength;
    if (isTooLong) {
      const field = this.#layout.headers[cells.length]?.trim() || 'row';
      this.#note(this.#cellTooLarge(cells.length), { field: shortened(field), value: cell });
    }
    cells.push(isTooLong ? shortened(cell) : cell);
  }

  #note(error: SluiceError, place: { field?: string; value: string }): void {
    if (this.#isStrict) throw error;
    this.#problem ??= rowProblem(error, place);
  }

  #endLine(): void {
    this.nextLine += 1;
    if (this.nextLine - 1 <= this.#limits.lines) return;
    throw reportErrors.raise.report_too_many_lines(
      `The report has more than ${this.#limits.lines} lines, the most allowed.`,
      { details: { max_lines: this.#limits.lines } },
    );
  }

  #unclosed(column: number, isTooFar: boolean): SluiceError {
    const [what, how] = isTooFar
      ? ['A quote is not closed', `nothing closes within ${this.#limits.rowLength} characters`]
      : ['The report ends inside quotes', 'nothing closes'];
    return reportErrors.raise.report_quote_unclosed(
      `${what}: the row that begins on line ${this.nextLine} opens a quote in column ${column + 1} that ${how}.`,
      { details: { line: this.nextLine, column: column + 1 } },
    );
  }

  #cellTooLarge(column: number): SluiceError {
    const most = this.#limits.cellLength;
    return reportErrors.raise.report_cell_too_large(
      `The row that begins on line ${this.nextLine} has a value of more than ${most} characters, the most allowed, ` +
        `in column ${column + 1}; an unclosed quote has the same effect.`,
      { details: { line: this.nextLine, column: column + 1, max_characters: most } },
    );
  }

  #rowTooLarge(): SluiceError {
    const most = this.#limits.rowLength;
    return reportErrors.raise.report_row_too_large(
      `The row that begins on line ${this.nextLine} has more than ${most} characters, the most allowed.`,
      { details: { line: this.nextLine, max_characters: most } },
    );
  }

  #tooManyColumns(): SluiceError {
    const most = this.#limits.columns;
    return reportErrors.raise.report_too_many_columns(
      `Line ${this.nextLine} of the report has more than ${most} columns, the most allowed.`,
      { details: { line: this.nextLine, max_columns: most } },
    );
  }
}

function isBlank(cells: readonly string[]): boolean {
  const [first = ''] = cells;
  return (first === '' || first.trim() === '') && cells.every((cell) => cell.trim() === '');
}

function unquote(inside: string): string {
  return inside.includes('"') ? inside.replaceAll('""', '"') : inside;
}

/** How many line breaks of any kind a text has. */
export function breaksIn(text: string): number {
  return text.split(/\r\n|\n|\r/).length - 1;
}
