import { ColumnNamer, checkHeader } from './column-names.ts';
import { CsvScanner } from './csv-scanner.ts';
import { type RowPlace, rowError } from './errors.ts';
import { quoted, type RowNotes } from './notes.ts';
import type { RowQueue } from './row-queue.ts';
import type { ReaderLimits, RowScanner } from './types.ts';

export interface CsvRowsOptions {
  delimiter: string;
  limits: ReaderLimits;
  queue: RowQueue;
  /** Lines before this one are not rows. Default: the first line with text is the header. */
  headerLine?: number | undefined;
  /** With them, rows that are not quite well-formed are repaired; without, they are refused. */
  notes?: RowNotes | null | undefined;
}

/** Reads delimited text: the header names the columns, every other row becomes JSON text in the queue. */
export class CsvRows implements RowScanner {
  readonly #scanner: CsvScanner;
  readonly #limits: ReaderLimits;
  readonly #queue: RowQueue;
  readonly #headerLine: number;
  readonly #notes: RowNotes | null;
  #columns: string[] | null = null;
  /** How many cells the header has, also those after the last name. */
  #headerCells = 0;
  /** `{"first":`, `,"second":` …: the text before each cell of a row. */
  #leads: string[] = [];
  #namer: ColumnNamer | null = null;
  /** The columns of cells beyond the header, by position. */
  readonly #extraLeads = new Map<number, string>();

  constructor({ delimiter, limits, queue, headerLine = 1, notes = null }: CsvRowsOptions) {
    this.#limits = limits;
    this.#queue = queue;
    this.#headerLine = headerLine;
    this.#notes = notes;
    const take = (cells: string[], place: RowPlace) => this.#take(cells, place);
    this.#scanner = new CsvScanner({ delimiter, limits, take, notes });
  }

  /** Null until the header was read. Repaired rows may add some. */
  get columns(): readonly string[] | null {
    return this.#columns;
  }

  get line(): number {
    return this.#scanner.line;
  }

  feed(text: string): void {
    this.#scanner.feed(text);
  }

  finish(): void {
    this.#scanner.finish();
  }

  #take(cells: string[], place: RowPlace): void {
    if (this.#columns === null) this.#takeHeader(cells, place);
    else if (cells.length === this.#leads.length) this.#put(cells, place);
    else this.#fit(cells, place);
  }

  #takeHeader(cells: string[], place: RowPlace): void {
    if (place.line < this.#headerLine) {
      this.#scanner.skipRow();
      return;
    }
    const limits = this.#limits;
    this.#headerCells = cells.length;
    if (this.#notes === null) this.#columns = checkHeader(cells, { limits, place });
    else {
      this.#namer = new ColumnNamer({ limits, notes: this.#notes });
      this.#columns = this.#namer.nameAll(cells, { place }).map(({ name }) => name);
      if (this.#columns.length < cells.length) this.#noteTrailing(cells.length - this.#columns.length, place);
    }
    this.#leads = this.#columns.map((name, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  }

  #put(cells: readonly string[], place: RowPlace): void {
    // Built by hand: an object would lose `__proto__` and move columns with names like "7".
    let json = '';
    for (let at = 0; at < cells.length; at += 1) {
      const cell = cells[at] ?? '';
      json += this.#leads[at];
      json += mustEscape.test(cell) ? this.#escape(cell, { place, at }) : `"${cell}"`;
    }
    this.#queue.put(`${json}}`);
  }

  /** A row with more or fewer cells than there are columns. Strict readers refused it earlier. */
  #fit(cells: readonly string[], place: RowPlace): void {
    const count = this.#leads.length;
    const noted = { line: place.line, row: this.#queue.total + 1 };
    if (cells.length < count) {
      if (cells.length === 1 && cells[0]?.trim() === '') {
        this.#notes?.add('blank_row', { line: place.line, row: null }, () => 'has only spaces');
        this.#scanner.uncountRow();
        return;
      }
      this.#notes?.add('short_row', noted, () => `has ${cells.length} cells; the header has ${count}`);
      this.#putShort(cells, place);
      return;
    }
    const end = cells.findLastIndex((cell) => cell !== '') + 1;
    if (end <= count) {
      if (cells.length !== this.#headerCells)
        this.#noteTrailing(cells.length - count, { ...place, rowNo: noted.row });
      this.#put(cells.slice(0, count), place);
      return;
    }
    // The header has these cells too, but no names in them.
    if (end <= this.#headerCells) this.#nameExtras(cells.slice(0, end), noted);
    else this.#notes?.add('long_row', noted, () => `has ${end} cells; the header has ${count}`);
    this.#putLong(cells.slice(0, end), place);
  }

  #putShort(cells: readonly string[], place: RowPlace): void {
    let json = '';
    for (const [at, lead] of this.#leads.entries()) {
      const cell = cells[at];
      json += lead + (cell === undefined ? 'null' : this.#escape(cell, { place, at }));
    }
    this.#queue.put(`${json}}`);
  }

  #putLong(cells: readonly string[], place: RowPlace): void {
    let json = '';
    for (const [at, cell] of cells.entries()) {
      if (at >= this.#leads.length && cell === '') continue;
      json += (this.#leads[at] ?? this.#extraLead(at)) + this.#escape(cell, { place, at });
    }
    this.#queue.put(`${json}}`);
  }

  #nameExtras(cells: readonly string[], noted: { line: number; row: number }): void {
    for (let at = this.#leads.length; at < cells.length; at += 1) {
      if (cells[at] !== '') this.#extraLead(at, noted);
    }
  }

  #extraLead(at: number, noted: { line: number; row: number } | null = null): string {
    const known = this.#extraLeads.get(at);
    if (known !== undefined) return known;
    const name = this.#namer?.nameOf(at, noted) ?? '';
    this.#columns = [...(this.#columns ?? []), name];
    const lead = `,${JSON.stringify(name)}:`;
    this.#extraLeads.set(at, lead);
    return lead;
  }

  #noteTrailing(count: number, { line, rowNo }: RowPlace): void {
    this.#notes?.add('trailing_delimiter', { line, row: rowNo }, () => `${count} empty cells at the end`);
  }

  #escape(cell: string, { place, at }: { place: RowPlace; at: number }): string {
    if (cell.includes('\0')) {
      const name = this.#columns?.[at];
      throw rowError(
        'nul_character',
        place,
        `, column ${at + 1} (${name === undefined ? 'without a name' : quoted(name)}) has a NUL character, ` +
          'which cannot be stored.',
        { column: at + 1, column_name: name },
      );
    }
    return JSON.stringify(cell);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that JSON must escape.
const mustEscape = /["\\\u0000-\u001f]/;
