import { ColumnNamer } from '../column-names.ts';
import { readerErrors } from '../errors.ts';
import type { RowNotes } from '../notes.ts';
import type { RowQueue } from '../row-queue.ts';
import { findTableStart, mostSampleRows } from '../table-start.ts';
import type { ReaderLimits } from '../types.ts';
import { columnLetters } from './cells.ts';
import { namesIn, readHeader, type SheetHeader } from './sheet-header.ts';

export interface SheetTableOptions {
  limits: ReaderLimits;
  queue: RowQueue;
  notes: RowNotes | null;
  headerLine: number | undefined;
  maxRowBytesTotal: number;
}

/** JSON of each cell by position; undefined for empty cells. */
type Cells = readonly (string | undefined)[];

/** Makes rows of the cells of a sheet: the header names the columns, every row after it goes into the queue. */
export class SheetTable {
  readonly #options: SheetTableOptions;
  /** The first rows, until it is clear which of them is the header. */
  #sample: { cells: Cells; sheetRow: number }[] | null;
  #header: SheetHeader | null = null;
  #headerLine: number | null = null;
  #columns: readonly string[] | null = null;
  /** `{"first":`, `,"second":` …: the text before each cell of a row. */
  #leads: string[] = [];
  #shortestRowUnits = 0;
  #named = new Set<number>();
  #namer: ColumnNamer | null = null;
  readonly #extraLeads = new Map<number, string>();
  #rowUnitsTotal = 0;

  constructor(options: SheetTableOptions) {
    this.#options = options;
    this.#sample = options.notes !== null && options.headerLine === undefined ? [] : null;
  }

  /** Null until the header was read. Values in columns without a name add some. */
  get columns(): readonly string[] | null {
    return this.#columns;
  }

  get headerLine(): number | null {
    return this.#headerLine;
  }

  /** The length of even the shortest row: the names of all columns. */
  get shortestRowUnits(): number {
    return this.#shortestRowUnits;
  }

  take(cells: Cells, sheetRow: number): void {
    if (!cells.some(hasValue)) return;
    if (this.#sample === null) this.#takeRow(cells, sheetRow);
    else {
      this.#sample.push({ cells, sheetRow });
      if (this.#sample.length === mostSampleRows) this.#endSample(this.#sample);
    }
  }

  /** After the last row. */
  finish(): void {
    if (this.#sample !== null) this.#endSample(this.#sample);
  }

  #endSample(rows: readonly { cells: Cells; sheetRow: number }[]): void {
    this.#sample = null;
    const { at } = findTableStart(
      rows.map(({ cells, sheetRow }, index) => ({
        line: sheetRow,
        cells: cells.length,
        width: cells.length,
        filled: cells.filter(hasValue).length,
        isAfterBlank: index > 0 && sheetRow > (rows[index - 1]?.sheetRow ?? 0) + 1,
      })),
    );
    for (const { cells, sheetRow } of rows.slice(0, at)) {
      const what = () => cells.filter(hasValue).join(', ');
      this.#options.notes?.add('preamble', { line: sheetRow, row: null }, what);
    }
    for (const { cells, sheetRow } of rows.slice(at)) this.#takeRow(cells, sheetRow);
  }

  #takeRow(cells: Cells, sheetRow: number): void {
    if (this.#header === null) {
      if (sheetRow >= (this.#options.headerLine ?? 1)) this.#takeHeader(cells, sheetRow);
      return;
    }
    let json = '';
    for (const [at, position] of this.#header.positions.entries()) {
      json += this.#leads[at];
      json += cells[position] ?? 'null';
    }
    json += this.#unnamedCells(cells, { header: this.#header, sheetRow });
    this.#count(json.length);
    this.#options.queue.put(`${json}}`);
  }

  #takeHeader(cells: Cells, sheetRow: number): void {
    const { limits, notes } = this.#options;
    this.#header =
      notes === null ? readHeader(Array.from(cells), { limits, sheetRow }) : this.#name(cells, sheetRow);
    const { names, positions } = this.#header;
    // A row of nothing but errors names no column.
    if (names.length === 0) {
      throw readerErrors.raise.empty_header(
        `Row ${sheetRow} of the sheet is the header, but names no column.`,
        {
          details: { row: 0, sheet_row: sheetRow },
        },
      );
    }
    this.#headerLine = sheetRow;
    this.#columns = names;
    this.#leads = names.map((name, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    this.#shortestRowUnits = this.#leads.reduce((sum, lead) => sum + lead.length + 'null'.length, 0);
    this.#named = new Set(positions);
  }

  #name(cells: Cells, sheetRow: number): SheetHeader {
    const { limits, notes } = this.#options;
    if (notes === null) return { names: [], positions: [] };
    this.#namer = new ColumnNamer({ limits, notes });
    const place = { rowNo: 0, line: sheetRow };
    const named = this.#namer.nameAll(namesIn(cells, { limits, sheetRow }), { place, onlyNamed: true });
    return { names: named.map(({ name }) => name), positions: named.map(({ at }) => at) };
  }

  /** A column without a name may exist, but values in it must not be lost. */
  #unnamedCells(cells: Cells, { header, sheetRow }: { header: SheetHeader; sheetRow: number }): string {
    const { positions } = header;
    if (cells.length === positions.length && positions.at(-1) === positions.length - 1) return '';
    let json = '';
    for (const [at, value] of cells.entries()) {
      if (value === undefined || value === '""' || this.#named.has(at)) continue;
      if (this.#namer === null) throw this.#unnamed(at, sheetRow);
      const place = { line: sheetRow, row: this.#options.queue.total + 1 };
      this.#options.notes?.add('unnamed_cells', place, () => `column ${columnLetters(at)} has ${value}`);
      json += this.#extraLead(at, this.#namer) + value;
    }
    return json;
  }

  #extraLead(at: number, namer: ColumnNamer): string {
    const known = this.#extraLeads.get(at);
    if (known !== undefined) return known;
    const { limits } = this.#options;
    if ((this.#columns?.length ?? 0) >= limits.columns) {
      throw readerErrors.raise.too_many_columns(
        `The sheet has more than ${limits.columns} columns with values.`,
        {
          details: { max_columns: limits.columns },
        },
      );
    }
    const name = namer.nameOf(at, null);
    this.#columns = [...(this.#columns ?? []), name];
    const lead = `,${JSON.stringify(name)}:`;
    this.#extraLeads.set(at, lead);
    return lead;
  }

  #unnamed(at: number, sheetRow: number): Error {
    return readerErrors.raise.empty_header(
      `Row ${sheetRow} of the sheet has a value in column ${columnLetters(at)}, which has no name in the header.`,
      { details: { row: this.#options.queue.total + 1, sheet_row: sheetRow, column: columnLetters(at) } },
    );
  }

  #count(units: number): void {
    const { maxRowBytesTotal, queue } = this.#options;
    this.#rowUnitsTotal += units;
    if (this.#rowUnitsTotal <= maxRowBytesTotal) return;
    throw readerErrors.raise.archive_unfolds_too_far(
      `The file expands too far: at row ${queue.total + 1} its rows come to more than ${maxRowBytesTotal} bytes.`,
      { details: { max_bytes: maxRowBytesTotal } },
    );
  }
}

function hasValue(json: string | undefined): json is string {
  return json !== undefined && json !== '""';
}
