import { checkColumnName } from '../column-names.ts';
import { readerErrors } from '../errors.ts';
import type { ReaderLimits } from '../types.ts';
import { columnLetters } from './cells.ts';

/** The columns of a sheet that have names. There may be unused columns between them. */
export interface SheetHeader {
  names: readonly string[];
  /** Where in the sheet each of them is, from 0. */
  positions: readonly number[];
}

/** `cells`: JSON, undefined for empty cells. Names are texts, whatever type the cells have. */
export function readHeader(
  cells: readonly (string | undefined)[],
  { limits, sheetRow }: { limits: ReaderLimits; sheetRow: number },
): SheetHeader {
  const names: string[] = [];
  const positions: number[] = [];
  const known = new Map<string, number>();
  for (const [at, json] of cells.entries()) {
    const name = json === undefined || json === 'null' ? '' : nameOf(json);
    if (name === '') continue;
    if (names.length === limits.columns) throw tooManyColumns(limits, sheetRow);
    const details = { sheet_row: sheetRow, column: columnLetters(at) };
    checkColumnName(name, { limits, where: `Cell ${columnLetters(at)}${sheetRow} of the header`, details });
    refuseTwin(name, { earlier: known.get(name), at, sheetRow });
    known.set(name, at);
    names.push(name);
    positions.push(at);
  }
  return { names, positions };
}

/** The name in each cell, empty where there is none. */
export function namesIn(
  cells: readonly (string | undefined)[],
  { limits, sheetRow }: { limits: ReaderLimits; sheetRow: number },
): string[] {
  const names = Array.from(cells, (json) => (json === undefined || json === 'null' ? '' : nameOf(json)));
  const count = names.filter((name) => name.trim() !== '').length;
  if (count <= limits.columns) return names;
  throw tooManyColumns(limits, sheetRow);
}

function tooManyColumns(limits: ReaderLimits, sheetRow: number): Error {
  return readerErrors.raise.too_many_columns(
    `The header (row ${sheetRow} of the sheet) has more than ${limits.columns} columns, the most allowed.`,
    { details: { sheet_row: sheetRow, max_columns: limits.columns } },
  );
}

function nameOf(json: string): string {
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}

function refuseTwin(
  name: string,
  { earlier, at, sheetRow }: { earlier: number | undefined; at: number; sheetRow: number },
): void {
  if (earlier === undefined) return;
  const [first, second] = [columnLetters(earlier), columnLetters(at)];
  throw readerErrors.raise.duplicate_header(
    `Columns ${first} and ${second} of the header are both named ${JSON.stringify(name)}.`,
    { details: { sheet_row: sheetRow, columns: [first, second], column_name: name } },
  );
}
