import { placeDetails, type RowPlace, readerErrors } from './errors.ts';
import { quoted, type RowNotes } from './notes.ts';
import type { ReaderLimits } from './types.ts';

/** The rules for column names, the same for a header and for the keys of JSON rows. */
export function checkColumnName(
  name: string,
  { limits, where, details }: { limits: ReaderLimits; where: string; details: Record<string, unknown> },
): void {
  if (name.trim() === '') throw readerErrors.raise.empty_header(`${where} has no name.`, { details });
  if (name.length > limits.columnNameLength) {
    const most = limits.columnNameLength;
    const begin = JSON.stringify(`${[...name.slice(0, 40)].slice(0, 20).join('')}…`);
    throw readerErrors.raise.header_too_long(
      `${where} has a name of ${name.length} characters (${begin}); at most ${most} are allowed.`,
      { details: { ...details, max_characters: most } },
    );
  }
  if (name.includes('\0')) {
    throw readerErrors.raise.nul_character(`${where} has a NUL character in its name.`, { details });
  }
}

/** Refuses a header with a missing or repeated name. */
export function checkHeader(
  names: readonly string[],
  { limits, place }: { limits: ReaderLimits; place: RowPlace },
): string[] {
  const positions = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    const position = at + 1;
    const details = { ...placeDetails(place), column: position };
    checkColumnName(name, { limits, where: `Column ${position} of the header`, details });
    const earlier = positions.get(name);
    if (earlier !== undefined) {
      throw readerErrors.raise.duplicate_header(
        `Columns ${earlier} and ${position} of the header are both named ${JSON.stringify(name)}.`,
        { details: { ...placeDetails(place), columns: [earlier, position], column_name: name } },
      );
    }
    positions.set(name, position);
  }
  return [...names];
}

/** A column of the file: its name, and where it is, from 0. */
export interface NamedColumn {
  name: string;
  at: number;
}

/** Gives every column a name of its own and notes each one that the file did not name so. */
export class ColumnNamer {
  readonly #taken = new Set<string>();
  readonly #limits: ReaderLimits;
  readonly #notes: RowNotes;

  constructor({ limits, notes }: { limits: ReaderLimits; notes: RowNotes }) {
    this.#limits = limits;
    this.#notes = notes;
  }

  /**
   * The names of a header. Cells without a name are left out after the last one that has one, and, with `onlyNamed`,
   * before it too.
   */
  nameAll(
    cells: readonly string[],
    { place, onlyNamed = false }: { place: RowPlace; onlyNamed?: boolean },
  ): NamedColumn[] {
    const details = placeDetails(place);
    const end = cells.findLastIndex((name) => name.trim() !== '') + 1;
    if (end === 0) throw readerErrors.raise.empty_header('The header names no column.', { details });
    // Names that are written come first: a made name must not take one of them.
    for (const name of cells.slice(0, end)) if (name.trim() !== '') this.#taken.add(name);
    const seen = new Set<string>();
    const noted = { line: place.line, row: 0 };
    const named: NamedColumn[] = [];
    for (const [at, cell] of cells.slice(0, end).entries()) {
      if (cell.trim() === '') {
        if (!onlyNamed) named.push({ name: this.nameOf(at, noted), at });
        continue;
      }
      checkColumnName(cell, { limits: this.#limits, where: `Column ${at + 1} of the header`, details });
      named.push({ name: seen.has(cell) ? this.#renamed(cell, { at, noted }) : cell, at });
      seen.add(cell);
    }
    return named;
  }

  #renamed(cell: string, { at, noted }: { at: number; noted: { line: number; row: number } }): string {
    const name = this.#free(cell, 2);
    this.#notes.add(
      'duplicate_column',
      noted,
      () => `column ${at + 1}: ${quoted(cell)} is now ${quoted(name)}`,
    );
    return name;
  }

  /** A name for a column that has none: `column_3` for the third. */
  nameOf(at: number, noted: { line: number; row: number } | null): string {
    const wanted = `column_${at + 1}`;
    const name = this.#taken.has(wanted) ? this.#free(wanted, 2) : wanted;
    this.#taken.add(name);
    if (noted !== null)
      this.#notes.add('unnamed_column', noted, () => `column ${at + 1} is now ${quoted(name)}`);
    return name;
  }

  #free(name: string, from: number): string {
    // Never half of a surrogate pair.
    const begin = name.slice(0, this.#limits.columnNameLength - 6).replace(/[\ud800-\udbff]$/, '');
    for (let number = from; ; number += 1) {
      const free = `${begin}_${number}`;
      if (this.#taken.has(free)) continue;
      this.#taken.add(free);
      return free;
    }
  }
}
