import type { SluiceError } from '../errors.ts';
import { placeDetails, placeWords, type RowPlace, readerErrors, rowError } from './errors.ts';
import { quoted, type RowNotes } from './notes.ts';
import type { ReaderLimits, RowScanner } from './types.ts';

const quote = 34;
const lineFeed = 10;
const carriageReturn = 13;

type State = 'cell' | 'unquoted' | 'quoted' | 'quoteInQuoted' | 'spaceAfterQuote';

/** Called with each complete row. The array is reused for the next row. */
export type CellsTaker = (cells: string[], place: RowPlace) => void;

/**
 * Cuts delimited text into cells by RFC 4180, with any of LF, CRLF and CR as the end of a line; blank lines are
 * skipped. Limits apply while a value is still growing, so a quote that is never closed fails early.
 *
 * Without `notes` it is strict about quotes and the number of cells: reading a file wrongly is worse than refusing it.
 * With `notes` it takes quotes in odd places for text and rows of any length, notes each, and still refuses a row that
 * could be read in two ways.
 */
export class CsvScanner implements RowScanner {
  readonly #delimiter: number;
  /** No special character is above this: most of a text is, and one comparison skips it. */
  readonly #highestSpecial: number;
  readonly #limits: ReaderLimits;
  readonly #take: CellsTaker;
  readonly #notes: RowNotes | null;
  /** No text shorter than this can break a limit, because UTF-8 has at most three bytes per UTF-16 unit. */
  readonly #harmlessLength: number;
  #state: State = 'cell';
  #cells: string[] = [];
  /** The part of the current cell from earlier texts and doubled quotes. */
  #partial = '';
  #rowLength = 0;
  /** UTF-8 bytes of the first `#weighedCells` cells of the row; counted only in rows that are large. */
  #rowBytes = 0;
  #weighedCells = 0;
  #isAfterReturn = false;
  #line = 1;
  #rowLine = 1;
  #rowNo = 0;
  #columnCount: number | null = null;
  /** More cells than this are refused at once. */
  #mostCells: number;
  /** Quotes in the current cell that were taken for text. */
  #oddQuotes = 0;
  #spaces = '';
  /** A quote of the current row was taken for text where it might have ended the value. */
  #isDoubtful = false;

  constructor(options: {
    delimiter: string;
    limits: ReaderLimits;
    take: CellsTaker;
    notes?: RowNotes | null | undefined;
  }) {
    this.#delimiter = options.delimiter.charCodeAt(0);
    this.#highestSpecial = Math.max(this.#delimiter, quote);
    this.#limits = options.limits;
    this.#take = options.take;
    this.#notes = options.notes ?? null;
    this.#mostCells = options.limits.columns;
    this.#harmlessLength = Math.floor(Math.min(options.limits.cellBytes, options.limits.rowBytes) / 3);
  }

  feed(text: string): void {
    let at = 0;
    while (at < text.length) {
      if (this.#state === 'cell' || this.#state === 'unquoted') at = this.#scanOpen(text, at);
      else if (this.#state === 'quoted') at = this.#scanQuoted(text, at);
      else if (this.#state === 'quoteInQuoted') at = this.#scanAfterQuote(text, at);
      else at = this.#scanSpaces(text, at);
    }
    this.#weigh(this.#partial);
  }

  /** The current line, for problems that are found between two texts. */
  get line(): number {
    const isInQuotes = this.#state === 'quoted' || this.#state === 'quoteInQuoted';
    return this.#line + (isInQuotes ? lineBreaksIn(this.#partial) : 0);
  }

  /** The row that is being taken is no row: the next one is the header. */
  skipRow(): void {
    this.#columnCount = null;
    this.#mostCells = this.#limits.columns;
    this.#rowNo = -1;
  }

  finish(): void {
    if (this.#state === 'quoted') throw this.#unclosed();
    if (this.#state === 'spaceAfterQuote') this.#dropSpaces();
    if (this.#state === 'cell' && this.#cells.length === 0) return;
    this.#endCell('');
    this.#endRow();
  }

  /** The row that is being taken is no row. */
  uncountRow(): void {
    this.#rowNo -= 1;
  }

  /** At or in a cell without quotes. Complete cells and rows are handled without leaving the loop. */
  #scanOpen(text: string, from: number): number {
    const delimiter = this.#delimiter;
    const highestSpecial = this.#highestSpecial;
    let start = from;
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > highestSpecial) continue;
      if (code === delimiter) {
        this.#endCell(text.slice(start, at));
        start = at + 1;
      } else if (code === lineFeed || code === carriageReturn) {
        this.#endLine(code, text.slice(start, at));
        start = at + 1;
      } else if (code === quote && this.#opensQuotes(text, start, at)) {
        this.#state = 'quoted';
        return at + 1;
      }
    }
    if (start < text.length) {
      this.#partial += text.slice(start);
      this.#state = 'unquoted';
    }
    return text.length;
  }

  /** Whether a quote in an open cell opens a quoted value, or is part of one that is not in quotes. */
  #opensQuotes(text: string, start: number, at: number): boolean {
    // The first one decides: a value of many quotes must not be looked at for each.
    if (this.#oddQuotes > 0) return false;
    const before = this.#partial + text.slice(start, at);
    if (before === '') return true;
    if (this.#notes === null) throw this.#strayQuote(before, 'inside a value that is not in quotes');
    if (before.trim() !== '') {
      this.#oddQuotes += 1;
      this.#note('bare_quote', () => `begins with ${quoted(before)}, then a quote`);
      return false;
    }
    this.#isDoubtful = true;
    this.#note('space_around_quotes', () => 'has spaces before its quotes');
    this.#partial = '';
    return true;
  }

  #scanQuoted(text: string, from: number): number {
    const end = text.indexOf('"', from);
    const part = text.slice(from, end === -1 ? text.length : end);
    this.#partial += part;
    // After a quote that was taken for text, the value has to end on its line: otherwise the quote did end it.
    if (this.#oddQuotes > 0 && lineBreak.test(part)) {
      throw this.#strayQuote('', 'in front of more text, and nothing closes the value on the same line');
    }
    if (end === -1) return text.length;
    this.#state = 'quoteInQuoted';
    return end + 1;
  }

  /** After a quote in a quoted cell, which ends it unless another quote follows. */
  #scanAfterQuote(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === quote) {
      this.#partial += '"';
      this.#state = 'quoted';
      return at + 1;
    }
    const isLineEnd = code === lineFeed || code === carriageReturn;
    if (code !== this.#delimiter && !isLineEnd) {
      if (this.#notes === null) {
        throw this.#strayQuote(this.#partial, 'in front of more text, where only doubled quotes may be');
      }
      if (code === 32 || code === 9) this.#state = 'spaceAfterQuote';
      else this.#keepQuote('"');
      return at;
    }
    this.#endQuoted();
    if (isLineEnd) {
      this.#endRow();
      this.#beginLine(code);
    }
    return at + 1;
  }

  /** After a quote and spaces: they end the value if a delimiter or the end of the line follows. */
  #scanSpaces(text: string, from: number): number {
    let at = from;
    while (
      at < text.length &&
      (text[at] === ' ' || text[at] === '\t') &&
      text.charCodeAt(at) !== this.#delimiter
    ) {
      at += 1;
    }
    this.#spaces += text.slice(from, at);
    this.#weigh(this.#spaces);
    if (at === text.length) return at;
    const code = text.charCodeAt(at);
    if (code === this.#delimiter || code === lineFeed || code === carriageReturn) {
      this.#dropSpaces();
      this.#state = 'quoteInQuoted';
    } else this.#keepQuote(`"${this.#takeSpaces()}`);
    return at;
  }

  #dropSpaces(): void {
    this.#takeSpaces();
    this.#note('space_around_quotes', () => 'has spaces after its quotes');
  }

  #takeSpaces(): string {
    const spaces = this.#spaces;
    this.#spaces = '';
    return spaces;
  }

  /** A quote inside a quoted value that nobody doubled. */
  #keepQuote(text: string): void {
    if (this.#oddQuotes === 0) {
      if (lineBreak.test(this.#partial)) {
        throw this.#strayQuote(
          '',
          'in front of more text in a value of several lines, where it has to be doubled',
        );
      }
      this.#note('inner_quote', () => `has a quote after ${quoted(this.#partial)}`);
    }
    this.#oddQuotes += 1;
    this.#isDoubtful = true;
    this.#partial += text;
    this.#state = 'quoted';
  }

  #endQuoted(): void {
    this.#line += lineBreaksIn(this.#partial);
    this.#endCell('');
  }

  #endLine(code: number, lastCell: string): void {
    if (this.#cells.length > 0 || this.#state !== 'cell' || lastCell !== '') {
      this.#endCell(lastCell);
      this.#endRow();
    } else if (code === lineFeed && this.#isAfterReturn) {
      this.#isAfterReturn = false;
      return;
    }
    this.#beginLine(code);
  }

  #beginLine(lastCode: number): void {
    this.#isAfterReturn = lastCode === carriageReturn;
    this.#line += 1;
    this.#rowLine = this.#line;
  }

  #endCell(rest: string): void {
    const value = this.#partial === '' ? rest : this.#partial + rest;
    this.#weigh(value);
    if (this.#cells.length === this.#mostCells) throw this.#tooManyCells();
    this.#cells.push(value);
    this.#rowLength += value.length;
    this.#partial = '';
    this.#oddQuotes = 0;
    this.#state = 'cell';
  }

  #endRow(): void {
    const cells = this.#cells;
    if (this.#columnCount === null) {
      this.#columnCount = cells.length;
      if (this.#notes === null) this.#mostCells = cells.length;
    }
    if (cells.length !== this.#columnCount) this.#checkLength(cells.length);
    this.#isDoubtful = false;
    this.#take(cells, this.#place());
    cells.length = 0;
    this.#rowNo += 1;
    this.#rowLength = 0;
    this.#rowBytes = 0;
    this.#weighedCells = 0;
  }

  /** Checks the current cell and row against the limits; counts bytes only when it could matter. */
  #weigh(cell: string): void {
    if (this.#rowLength + cell.length <= this.#harmlessLength) return;
    for (; this.#weighedCells < this.#cells.length; this.#weighedCells += 1) {
      this.#rowBytes += Buffer.byteLength(this.#cells[this.#weighedCells] ?? '');
    }
    const { cellBytes, rowBytes } = this.#limits;
    const left = rowBytes - this.#rowBytes;
    if (Buffer.byteLength(cell) <= Math.min(cellBytes, left)) return;
    throw cellBytes <= left ? this.#cellTooLarge() : this.#rowTooLarge();
  }

  /** A row whose quotes are in doubt has to fit the header: otherwise nobody knows where its values end. */
  #checkLength(cells: number): void {
    if (this.#notes === null) throw this.#tooFewCells(cells);
    if (!this.#isDoubtful) return;
    const what =
      ` has quotes in odd places, and with them ${cells} cells, but the header has ${this.#columnCount}; ` +
      'where its values end cannot be told.';
    throw rowError('malformed_csv', this.#place(), what, { cells, columns: this.#columnCount });
  }

  #note(code: 'bare_quote' | 'inner_quote' | 'space_around_quotes', what: () => string): void {
    const column = this.#cells.length + 1;
    const place = { line: this.line, row: Math.max(this.#rowNo, 0) };
    this.#notes?.add(code, place, () => `column ${column} ${what()}`);
  }

  #place(): RowPlace {
    return { rowNo: this.#rowNo, line: this.#rowLine };
  }

  #strayQuote(before: string, where: string): SluiceError {
    this.#weigh(before);
    return this.#cellError('malformed_csv', `has a quote ${where}.`);
  }

  #unclosed(): SluiceError {
    const column = this.#cells.length + 1;
    return readerErrors.raise.truncated_file(
      `The file ends inside quotes: ${placeWords(this.#place())}, column ${column} opens a quote that nothing closes.`,
      { details: { ...placeDetails(this.#place()), column } },
    );
  }

  #tooManyCells(): SluiceError {
    if (this.#columnCount === null || this.#notes !== null) {
      const most = this.#limits.columns;
      return readerErrors.raise.too_many_columns(
        `${placeWords(this.#place())} has more than ${most} columns, the most allowed.`,
        { details: { ...placeDetails(this.#place()), max_columns: most } },
      );
    }
    const what = ` has more cells than the header, which has ${this.#columnCount}.`;
    return rowError('ragged_row', this.#place(), what, { columns: this.#columnCount });
  }

  #tooFewCells(cells: number): SluiceError {
    const columns = this.#columnCount;
    const what = ` has ${cells} cells, but the header has ${columns}.`;
    return rowError('ragged_row', this.#place(), what, { cells, columns });
  }

  #cellTooLarge(): SluiceError {
    const most = this.#limits.cellBytes;
    return this.#cellError(
      'cell_too_large',
      `has a value of more than ${most} bytes, the most allowed. A quote that is not closed looks like this too.`,
      { max_bytes: most },
    );
  }

  #rowTooLarge(): SluiceError {
    const most = this.#limits.rowBytes;
    const what = ` has more than ${most} bytes, the most allowed for a row.`;
    return rowError('row_too_large', this.#place(), what, { max_bytes: most });
  }

  /** For the current cell. */
  #cellError(code: 'malformed_csv' | 'cell_too_large', what: string, details: object = {}): SluiceError {
    const column = this.#cells.length + 1;
    return rowError(code, this.#place(), `, column ${column} ${what}`, { column, ...details });
  }
}

const lineBreak = /[\r\n]/;

function lineBreaksIn(value: string): number {
  if (!value.includes('\n') && !value.includes('\r')) return 0;
  return value.split(/\r\n|\n|\r/).length - 1;
}
