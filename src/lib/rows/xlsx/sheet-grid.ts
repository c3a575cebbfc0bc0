import { readerErrors } from '../errors.ts';
import type { RowQueue } from '../row-queue.ts';
import type { ReaderLimits } from '../types.ts';

export interface SheetGridOptions {
  limits: ReaderLimits;
  queue: RowQueue;
  maxRowBytesTotal: number;
}

/**
 * Writes the rows of a sheet as lines of CSV, header and titles included, for readers that find the header themselves.
 * Row n of the sheet begins on line n, unless cells above it have several lines. Numbers are written so that no reader
 * can take their decimal point for a thousands separator.
 */
export class SheetGrid {
  readonly headerLine = null;
  /** A row may be as short as its line break. */
  readonly shortestRowUnits = 1;
  readonly #options: SheetGridOptions;
  #columns: readonly string[] | null = null;
  #lastRow = 0;
  #unitsTotal = 0;

  constructor(options: SheetGridOptions) {
    this.#options = options;
  }

  /** Empty once there is a row: no row is known to be the header. */
  get columns(): readonly string[] | null {
    return this.#columns;
  }

  take(cells: readonly (string | undefined)[], sheetRow: number): void {
    const { limits, queue } = this.#options;
    const width = cells.findLastIndex((json) => json !== undefined && json !== '""') + 1;
    if (width === 0) return;
    if (width > limits.columns) {
      throw readerErrors.raise.too_many_columns(
        `Row ${sheetRow} of the sheet has more than ${limits.columns} columns, the most allowed.`,
        { details: { sheet_row: sheetRow, max_columns: limits.columns } },
      );
    }
    this.#columns ??= [];
    let line = '\n'.repeat(sheetRow - this.#lastRow - 1);
    for (let at = 0; at < width; at += 1) line += (at === 0 ? '' : ',') + fieldOf(cells[at]);
    this.#lastRow = sheetRow;
    this.#count(line.length);
    queue.put(line);
  }

  /** A sheet without rows is an empty text. */
  finish(): void {
    if (this.#columns !== null) return;
    this.#columns = [];
    this.#options.queue.put('');
  }

  #count(units: number): void {
    const { maxRowBytesTotal } = this.#options;
    this.#unitsTotal += units;
    if (this.#unitsTotal <= maxRowBytesTotal) return;
    throw readerErrors.raise.archive_unfolds_too_far(
      `The file expands too far: at row ${this.#lastRow} its rows come to more than ${maxRowBytesTotal} bytes.`,
      { details: { max_bytes: maxRowBytesTotal } },
    );
  }
}

const mustQuote = /[",;\t|\r\n]/;

function fieldOf(json: string | undefined): string {
  if (json === undefined || json === 'null') return '';
  if (json.charCodeAt(0) !== 34) return numberText(json);
  const text = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
  return mustQuote.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** `1.234`: one and a bit in a workbook, and more than a thousand in a German text. */
const looksGrouped = /^-?[1-9]\d{0,2}\.\d{3}$/;
const mostDigits = 15;

function numberText(json: string): string {
  if (looksGrouped.test(json)) return `${json}0`;
  const digits = json.replace('-', '');
  // A spreadsheet keeps 15 digits: the rest are made up, and must not pass for an id.
  if (/^\d+$/.test(digits)) return digits.length > mostDigits ? Number(json).toExponential() : json;
  return json.includes('e') ? plainNumber(json) : json;
}

/** `1e-7` as 0.0000001. Large numbers stay as they are. */
function plainNumber(json: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = ''] =
    /^(-?)(\d)(?:\.(\d+))?e-(\d{1,3})$/.exec(json) ?? [];
  if (exponent === '') return json;
  return `${sign}0.${'0'.repeat(Number(exponent) - 1)}${whole}${fraction}`;
}
