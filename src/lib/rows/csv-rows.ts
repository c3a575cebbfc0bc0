import { CsvScanner } from './csv-scanner.ts';
import { placeDetails, type RowPlace, readerErrors, rowError } from './errors.ts';
import type { RowQueue } from './row-queue.ts';
import type { ReaderLimits, RowScanner } from './types.ts';

/** Reads delimited text: the first row names the columns, every other becomes JSON text in the queue. */
export class CsvRows implements RowScanner {
  readonly #scanner: CsvScanner;
  readonly #limits: ReaderLimits;
  readonly #queue: RowQueue;
  #columns: readonly string[] | null = null;
  /** `{"first":`, `,"second":` …: the text before each cell of a row. */
  #leads: string[] = [];

  constructor({ delimiter, limits, queue }: { delimiter: string; limits: ReaderLimits; queue: RowQueue }) {
    this.#limits = limits;
    this.#queue = queue;
    const take = (cells: string[], place: RowPlace) => this.#take(cells, place);
    this.#scanner = new CsvScanner({ delimiter, limits, take });
  }

  /** Null until the header was read. */
  get columns(): readonly string[] | null {
    return this.#columns;
  }

  feed(text: string): void {
    this.#scanner.feed(text);
  }

  finish(): void {
    this.#scanner.finish();
  }

  #take(cells: string[], place: RowPlace): void {
    if (this.#columns === null) {
      this.#columns = checkHeader(cells, { limits: this.#limits, place });
      this.#leads = cells.map((name, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
      return;
    }
    // Built by hand: an object would lose `__proto__` and move columns with names like "7".
    let json = '';
    for (let at = 0; at < cells.length; at += 1) {
      const cell = cells[at] ?? '';
      json += this.#leads[at];
      json += mustEscape.test(cell) ? this.#escape(cell, { place, at }) : `"${cell}"`;
    }
    this.#queue.put(`${json}}`);
  }

  #escape(cell: string, { place, at }: { place: RowPlace; at: number }): string {
    if (cell.includes('\0')) {
      const name = this.#columns?.[at];
      throw rowError(
        'nul_character',
        place,
        `, column ${at + 1} (${JSON.stringify(name)}) has a NUL character, which cannot be stored.`,
        { column: at + 1, column_name: name },
      );
    }
    return JSON.stringify(cell);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that JSON must escape.
const mustEscape = /["\\\u0000-\u001f]/;

function checkHeader(
  names: string[],
  { limits, place }: { limits: ReaderLimits; place: RowPlace },
): string[] {
  const positions = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    const position = at + 1;
    checkColumnName(name, {
      limits,
      where: `Column ${position} of the header`,
      details: { column: position },
    });
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
