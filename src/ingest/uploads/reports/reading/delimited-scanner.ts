import type { SluiceError } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';
import type { RawRow } from '../types.ts';
import type { DelimitedLayout, ReadingLimits, RowScanner, ScannedText, Stop } from './types.ts';

const quote = 34;
const lineFeed = 10;
const carriageReturn = 13;
const never = Number.POSITIVE_INFINITY;

export interface ScannerStart {
  rowIndex: number;
  line: number;
}

/**
 * Cuts delimited text into rows by RFC 4180, with LF, CRLF or CR at the end of a line, and makes the best of what is
 * not by the book: quotes inside a cell are literal, text after a closing quote belongs to the cell, short rows are
 * filled up, long ones kept. Rows without any text are skipped, like the `,,,` that spreadsheets write for them.
 *
 * The places of the next quote, delimiter and line break are kept from row to row, because searching for them anew in
 * each row of a file that has none would take time in the square of its length.
 */
export class DelimitedScanner implements RowScanner {
  readonly #layout: DelimitedLayout;
  readonly #delimiter: string;
  readonly #delimiterCode: number;
  readonly #limits: ReadingLimits;
  #text = '';
  #isLast = false;
  #at = 0;
  #nextQuote = -1;
  #nextDelimiter = -1;
  #nextFeed = -1;
  #nextReturn = -1;
  #rowIndex: number;
  #line: number;

  constructor(layout: DelimitedLayout, { limits, start }: { limits: ReadingLimits; start: ScannerStart }) {
    this.#layout = layout;
    this.#delimiter = layout.delimiter;
    this.#delimiterCode = layout.delimiter.charCodeAt(0);
    this.#limits = limits;
    this.#rowIndex = start.rowIndex;
    this.#line = start.line;
  }

  get at(): number {
    return this.#at;
  }

  /** Blank lines behind a row belong to it. */
  get rowsEnd(): number {
    return this.#at;
  }

  get nextRowIndex(): number {
    return this.#rowIndex;
  }

  get nextLine(): number {
    return this.#line;
  }

  layout(): DelimitedLayout {
    return this.#layout;
  }

  look({ text, isLast }: ScannedText): void {
    this.#text = text;
    this.#isLast = isLast;
    this.#at = 0;
    this.#nextQuote = -1;
    this.#nextDelimiter = -1;
    this.#nextFeed = -1;
    this.#nextReturn = -1;
  }

  fill(rows: RawRow[], maxRows: number): Stop {
    const width = this.#layout.headers.length;
    while (rows.length < maxRows) {
      const line = this.#line;
      const cells = this.#nextRow();
      if (cells === null) return this.#isLast ? 'ended' : 'starved';
      if (isBlank(cells)) continue;
      while (cells.length < width) cells.push('');
      rows.push({ rowIndex: this.#rowIndex, line, cells });
      this.#rowIndex += 1;
    }
    return 'full';
  }

  /** Null when the text does not hold another whole row. */
  #nextRow(): string[] | null {
    const text = this.#text;
    const start = this.#at;
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
    this.#weigh(end - start);
    const cells = this.#split(start, end);
    this.#at = after;
    this.#endLine();
    return cells;
  }

  /** Cells of a line without quotes. */
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

  /** A row with a quote in its first line, which may go on in the next. */
  #nextQuotedRow(lineEnd: number): string[] | null {
    const text = this.#text;
    const start = this.#at;
    const cells: string[] = [];
    let from = start;
    for (;;) {
      const isQuoted = text.charCodeAt(from) === quote;
      const close = isQuoted ? this.#closingQuote(from, cells.length) : from;
      if (close === -1) return this.#unfinished(start, cells.length);
      const plainFrom = isQuoted ? close + 1 : from;
      const end = this.#plainEnd(plainFrom);
      if (end === text.length && !this.#isLast) return this.#unfinished(start, cells.length);
      const plain = plainFrom === end ? '' : text.slice(plainFrom, end);
      this.#push(cells, isQuoted ? unquote(text.slice(from + 1, close)) + plain : plain);
      if (text.charCodeAt(end) === this.#delimiterCode) {
        from = end + 1;
        continue;
      }
      const after = this.#afterBreak(end);
      if (after === null) return null;
      this.#weigh(end - start);
      if (lineEnd < end) this.#line += breaksIn(text.slice(start, end));
      this.#at = after;
      this.#endLine();
      return cells;
    }
  }

  /** The quote that closes the one at `start`; -1 when it is not in this text. */
  #closingQuote(start: number, column: number): number {
    const text = this.#text;
    let close = text.indexOf('"', start + 1);
    while (close !== -1 && text.charCodeAt(close + 1) === quote) close = text.indexOf('"', close + 2);
    if (close === -1 && this.#isLast) throw this.#unclosed(column);
    return close;
  }

  /** Where the delimiter or line break is that ends a cell without quotes. */
  #plainEnd(from: number): number {
    if (this.#nextDelimiter < from) this.#nextDelimiter = this.#find(this.#delimiter, from);
    if (this.#nextFeed < from) this.#nextFeed = this.#find('\n', from);
    if (this.#nextReturn < from) this.#nextReturn = this.#find('\r', from);
    return Math.min(this.#nextDelimiter, this.#nextFeed, this.#nextReturn, this.#text.length);
  }

  /** Where the next line begins; null when it could still be the LF of a CRLF, which is not in the text yet. */
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
    if (cell.length > this.#limits.cellLength) throw this.#cellTooLarge(cells.length);
    if (cells.length === this.#limits.columns) throw this.#tooManyColumns();
    cells.push(cell);
  }

  #endLine(): void {
    this.#line += 1;
    if (this.#line - 1 <= this.#limits.lines) return;
    throw reportErrors.raise.report_too_many_lines(
      `The report has more than ${this.#limits.lines} lines, the most allowed.`,
      { details: { max_lines: this.#limits.lines } },
    );
  }

  /** A row that goes on beyond the text is refused as soon as it is certain to be too large. */
  #unfinished(start: number, column?: number): null {
    const { cellLength, rowLength } = this.#limits;
    const length = this.#text.length - start;
    if (length <= rowLength) return null;
    throw column !== undefined && cellLength < rowLength ? this.#cellTooLarge(column) : this.#rowTooLarge();
  }

  #weigh(rowLength: number): void {
    if (rowLength > this.#limits.rowLength) throw this.#rowTooLarge();
  }

  #unclosed(column: number): SluiceError {
    return reportErrors.raise.report_quote_unclosed(
      `The report ends inside quotes: the row that begins on line ${this.#line} opens a quote in column ` +
        `${column + 1} that nothing closes.`,
      { details: { line: this.#line, column: column + 1 } },
    );
  }

  #cellTooLarge(column: number): SluiceError {
    const most = this.#limits.cellLength;
    return reportErrors.raise.report_cell_too_large(
      `The row that begins on line ${this.#line} has a value of more than ${most} characters, the most allowed, ` +
        `in column ${column + 1}; a quote that is not closed looks like this too.`,
      { details: { line: this.#line, column: column + 1, max_characters: most } },
    );
  }

  #rowTooLarge(): SluiceError {
    const most = this.#limits.rowLength;
    return reportErrors.raise.report_row_too_large(
      `The row that begins on line ${this.#line} has more than ${most} characters, the most allowed.`,
      { details: { line: this.#line, max_characters: most } },
    );
  }

  #tooManyColumns(): SluiceError {
    const most = this.#limits.columns;
    return reportErrors.raise.report_too_many_columns(
      `Line ${this.#line} of the report has more than ${most} columns, the most allowed.`,
      { details: { line: this.#line, max_columns: most } },
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

/** How many line breaks, of whatever kind, a text has. */
export function breaksIn(text: string): number {
  return text.split(/\r\n|\n|\r/).length - 1;
}
