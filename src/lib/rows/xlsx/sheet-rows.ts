import type { SluiceError } from '../../errors.ts';
import type { XmlAttributes, XmlEvents } from '../../formats/xml.ts';
import { readerErrors } from '../errors.ts';
import type { RowNotes } from '../notes.ts';
import type { RowQueue } from '../row-queue.ts';
import type { ReaderLimits } from '../types.ts';
import {
  type CellRules,
  type CellValue,
  cellValueOf,
  columnLetters,
  columnOf,
  mostSheetColumns,
  mostSheetRows,
} from './cells.ts';
import { SheetGrid } from './sheet-grid.ts';
import { SheetTable } from './sheet-table.ts';
import { malformed, type Workbook } from './workbook.ts';

export interface SheetRowsOptions {
  part: string;
  workbook: Pick<Workbook, 'strings' | 'styles' | 'is1904'>;
  limits: ReaderLimits;
  queue: RowQueue;
  /** With them, a sheet that is not quite a table is repaired; without, it is refused. */
  notes: RowNotes | null;
  headerLine: number | undefined;
  errorCells: CellRules['errorCells'];
  /** `csv`: rows are lines of CSV, and none is the header. */
  form: 'objects' | 'csv';
  /** The maximum size of all rows together: a text that a million cells share makes a long file. */
  maxRowBytesTotal: number;
}

/** Reads the cells of a sheet, row by row. */
export class SheetRows implements XmlEvents {
  readonly #options: SheetRowsOptions;
  readonly #table: SheetTable | SheetGrid;
  #isInData = false;
  #isInRow = false;
  #isInCell = false;
  #isInInline = false;
  #phonetic = 0;
  #isInText = false;
  #sheetRow = 0;
  #column = -1;
  #cells: (string | undefined)[] = [];
  #rowBytes = 0;
  #type = 'n';
  #style = 0;
  #hasFormula = false;
  #text: string | null = null;

  constructor(options: SheetRowsOptions) {
    this.#options = options;
    this.#table = options.form === 'csv' ? new SheetGrid(options) : new SheetTable(options);
  }

  /** Null until the header was read. */
  get columns(): readonly string[] | null {
    return this.#table.columns;
  }

  get headerLine(): number | null {
    return this.#table.headerLine;
  }

  /** The length of even the shortest row: the names of all columns. */
  get shortestRowUnits(): number {
    return this.#table.shortestRowUnits;
  }

  /** The current row, for messages. */
  get sheetRow(): number {
    return this.#sheetRow;
  }

  /** After the last cell. */
  finish(): void {
    this.#table.finish();
  }

  open(name: string, attribute: XmlAttributes): void {
    if (this.#isInCell) this.#openInCell(name);
    else if (this.#isInRow && name === 'c') this.#openCell(attribute);
    else if (this.#isInData && name === 'row') this.#openRow(attribute);
    else if (name === 'sheetData') this.#isInData = true;
    else if (name === 'mergeCell') this.#noteMerged(attribute);
  }

  close(name: string): void {
    this.#isInText = false;
    if (this.#isInCell) {
      if (name === 'c') this.#closeCell();
      else if (name === 'is') this.#isInInline = false;
      else if (name === 'rPh') this.#phonetic -= 1;
    } else if (this.#isInRow && name === 'row') this.#closeRow();
    else if (name === 'sheetData') this.#isInData = false;
  }

  text(text: string): void {
    if (!this.#isInText) return;
    this.#text += text;
    if ((this.#text?.length ?? 0) > this.#options.limits.cellBytes) throw this.#cellTooLarge();
  }

  #openRow(attribute: XmlAttributes): void {
    const given = attribute('r');
    const row = given === null ? this.#sheetRow + 1 : Number(given);
    if (!Number.isInteger(row) || row <= this.#sheetRow || row > mostSheetRows) {
      throw malformed(this.#options.part, `has the row ${shortly(given)} after row ${this.#sheetRow}`);
    }
    this.#sheetRow = row;
    this.#isInRow = true;
    this.#column = -1;
    this.#rowBytes = 0;
    this.#cells = [];
  }

  #openCell(attribute: XmlAttributes): void {
    const given = attribute('r');
    const column = given === null ? this.#column + 1 : columnOf(given);
    if (column === null || column <= this.#column || column >= mostSheetColumns) {
      const row = this.#sheetRow;
      throw malformed(this.#options.part, `has the cell ${shortly(given)} out of its place in row ${row}`);
    }
    this.#column = column;
    this.#isInCell = true;
    this.#type = attribute('t') ?? 'n';
    this.#style = Number(attribute('s') ?? 0);
    this.#hasFormula = false;
    this.#text = null;
  }

  #openInCell(name: string): void {
    if (name === 'f') this.#hasFormula = true;
    else if (name === 'is') this.#isInInline = true;
    else if (name === 'rPh') this.#phonetic += 1;
    this.#isInText =
      this.#type === 'inlineStr'
        ? name === 't' && this.#isInInline && this.#phonetic === 0
        : name === 'v' && !this.#isInInline;
    if (this.#isInText) this.#text ??= '';
  }

  #closeCell(): void {
    this.#isInCell = false;
    this.#isInInline = false;
    this.#phonetic = 0;
    if (this.#hasFormula && this.#isWithoutResult()) throw this.#notCalculated();
    const { workbook, errorCells } = this.#options;
    const kind = workbook.styles.kindOf(this.#style);
    const text = this.#type === 's' ? this.#sharedText() : this.#text;
    const value = cellValueOf({ type: this.#type, text, kind }, { is1904: workbook.is1904, errorCells });
    if (value === null) return;
    if ('problem' in value) throw this.#problem(value.problem);
    this.#weigh(value.json);
    this.#cells[this.#column] = value.json;
  }

  /** A result may be an empty text, but not an empty number. */
  #isWithoutResult(): boolean {
    return this.#type === 'n' ? (this.#text?.trim() ?? '') === '' : this.#text === null && this.#type !== 'e';
  }

  #sharedText(): string | null {
    if (this.#text === null || this.#text.trim() === '') return null;
    const text = this.#options.workbook.strings.find(Number(this.#text));
    if (text !== null) return text;
    const count = this.#options.workbook.strings.count;
    throw malformed(
      this.#options.part,
      `names the shared text ${shortly(this.#text)} in cell ${this.#cellName()}, and there are ${count}`,
    );
  }

  #weigh(json: string): void {
    const { cellBytes, rowBytes } = this.#options.limits;
    const bytes = Buffer.byteLength(json);
    // Quotes and escapes of JSON do not count.
    if (bytes > cellBytes && Buffer.byteLength(textOf(json)) > cellBytes) throw this.#cellTooLarge();
    this.#rowBytes += json.startsWith('"') ? bytes - 2 : bytes;
    if (this.#rowBytes <= rowBytes) return;
    throw readerErrors.raise.row_too_large(
      `${this.#rowWords()} has more than ${rowBytes} bytes, the most allowed for a row.`,
      { details: { ...this.#place(), max_bytes: rowBytes } },
    );
  }

  #closeRow(): void {
    this.#isInRow = false;
    this.#table.take(this.#cells, this.#sheetRow);
  }

  #noteMerged(attribute: XmlAttributes): void {
    const range = attribute('ref') ?? '';
    this.#options.notes?.add('merged_cells', { line: lineOfRange(range), row: null }, () => range);
  }

  #problem(problem: Extract<CellValue, { problem: string }>['problem']): SluiceError {
    const where = this.#cellWords();
    const extras = { details: { ...this.#place(), cell: this.#cellName() } };
    switch (problem) {
      case 'nul':
        return readerErrors.raise.nul_character(
          `${where} has a NUL character, which cannot be stored.`,
          extras,
        );
      case 'surrogate':
        return readerErrors.raise.lone_surrogate(`${where} contains a broken surrogate pair.`, extras);
      case 'range':
        return readerErrors.raise.number_out_of_range(
          `${where} has a number that is too large, or has more than 400 digits.`,
          extras,
        );
      case 'number':
        return malformed(
          this.#options.part,
          `has no number in cell ${this.#cellName()}, although the cell is numeric`,
        );
      case 'type':
        return malformed(
          this.#options.part,
          `has a value in cell ${this.#cellName()} that is not of its type`,
        );
    }
  }

  #notCalculated(): SluiceError {
    return readerErrors.raise.formula_not_calculated(
      `${this.#cellWords()} has a formula without a saved result.`,
      { details: { ...this.#place(), cell: this.#cellName() } },
    );
  }

  #cellTooLarge(): SluiceError {
    const most = this.#options.limits.cellBytes;
    return readerErrors.raise.cell_too_large(
      `${this.#cellWords()} has a value of more than ${most} bytes, the most allowed.`,
      { details: { ...this.#place(), cell: this.#cellName(), max_bytes: most } },
    );
  }

  #cellName(): string {
    return `${columnLetters(this.#column)}${this.#sheetRow}`;
  }

  #cellWords(): string {
    return `Cell ${this.#cellName()} of the sheet`;
  }

  #rowWords(): string {
    return `Row ${this.#sheetRow} of the sheet`;
  }

  #place(): { row: number; sheet_row: number } {
    return { row: this.columns === null ? 0 : this.#options.queue.total + 1, sheet_row: this.#sheetRow };
  }
}

function textOf(json: string): string {
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}

function shortly(given: string | null): string {
  return JSON.stringify([...(given ?? '').slice(0, 40)].slice(0, 20).join(''));
}

/** The row of `B12` in `B12:C14`. */
function lineOfRange(range: string): number | null {
  const row = /^[A-Z]{1,3}(\d{1,7})/.exec(range)?.[1];
  return row === undefined ? null : Number(row);
}
