import { messageOf } from '../errors.ts';
import { checkColumnName } from './column-names.ts';
import { placeDetails, placeWords, type RowPlace, rowError } from './errors.ts';
import { jsonMembers, outsideStrings } from './json-members.ts';
import { JsonScanner } from './json-scanner.ts';
import type { RowQueue } from './row-queue.ts';
import type { ReaderLimits, RowScanner } from './types.ts';

/** PostgreSQL writes numbers out in full: 1e100000 in a file of some bytes would be a row of 100,000. */
const longestNumber = 400;

/** Reads rows of JSON. Each is checked and put into the queue as it was written. */
export class JsonRows implements RowScanner {
  readonly #scanner: JsonScanner;
  readonly #limits: ReaderLimits;
  readonly #queue: RowQueue;
  /** Names that passed the check. Most rows of a file have the same ones. */
  readonly #knownNames = new Set<string>();

  constructor({ isArray, limits, queue }: { isArray: boolean; limits: ReaderLimits; queue: RowQueue }) {
    this.#limits = limits;
    this.#queue = queue;
    this.#scanner = new JsonScanner({
      isArray,
      limits,
      take: (text, { place, keyCount }) => this.#take(text, { place, keyCount }),
    });
  }

  get columns(): null {
    return null;
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

  #take(text: string, { place, keyCount }: { place: RowPlace; keyCount: number }): void {
    const row = parseRow(text, place);
    this.#checkColumns(Object.keys(row), place);
    checkKeyCount(row, { keyCount, place });
    // Both can only come from \u escapes: broken bytes and raw control characters were refused earlier.
    if (text.includes('\\u')) checkCharacters(text, place);
    if (suspiciousNumber.test(text)) checkNumbers(text, place);
    if (text.length * 3 > this.#limits.cellBytes) this.#checkSizes(text, place);
    this.#queue.put(onOneLine(text));
  }

  #checkColumns(names: string[], place: RowPlace): void {
    const most = this.#limits.columns;
    if (names.length > most) {
      const what = ` has ${names.length} columns; at most ${most} are allowed.`;
      throw rowError('too_many_columns', place, what, { max_columns: most });
    }
    for (const name of names) {
      if (this.#knownNames.has(name)) continue;
      const details = placeDetails(place);
      checkColumnName(name, { limits: this.#limits, where: `A column of ${placeWords(place)}`, details });
      if (this.#knownNames.size < most) this.#knownNames.add(name);
    }
  }

  #checkSizes(text: string, place: RowPlace): void {
    const most = this.#limits.cellBytes;
    for (const { key, valueText } of jsonMembers(text)) {
      if (valueText.length * 3 <= most || Buffer.byteLength(valueText) <= most) continue;
      const what = `, column ${JSON.stringify(key)} has a value of more than ${most} bytes, the most allowed.`;
      throw rowError('cell_too_large', place, what, { column_name: key, max_bytes: most });
    }
  }
}

/** Rows are sent as lines. A line break between two tokens can be a space; strings contain no line breaks. */
function onOneLine(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]/g, ' ') : text;
}

function parseRow(text: string, place: RowPlace): object {
  try {
    return JSON.parse(text) as object;
  } catch (cause) {
    throw rowError('malformed_json', place, ` is not valid JSON: ${messageOf(cause)}.`, { cause });
  }
}

/** Each key has one colon. If the parsed row has fewer keys than colons, one key has replaced another. */
function checkKeyCount(row: object, { keyCount, place }: { keyCount: number; place: RowPlace }): void {
  if (countKeys(row) === keyCount) return;
  const what = ' has an object in which two values have the same key; one of them would be lost.';
  throw rowError('duplicate_key', place, what);
}

function countKeys(value: object): number {
  const members = Object.values(value) as unknown[];
  let count = Array.isArray(value) ? 0 : members.length;
  for (const member of members) {
    if (typeof member === 'object' && member !== null) count += countKeys(member);
  }
  return count;
}

const loneSurrogate = /\p{Surrogate}/u;

function checkCharacters(text: string, place: RowPlace): void {
  for (const { key, valueText } of jsonMembers(text)) {
    for (const part of stringsIn(JSON.parse(valueText))) refuseCharacters(part, { key, place });
    refuseCharacters(key, { key, place });
  }
}

function refuseCharacters(text: string, { key, place }: { key: string; place: RowPlace }): void {
  const where = `, column ${JSON.stringify(key)} contains`;
  const details = { column_name: key };
  if (text.includes('\0')) {
    throw rowError('nul_character', place, `${where} a NUL character, which cannot be stored.`, details);
  }
  if (loneSurrogate.test(text)) {
    throw rowError('lone_surrogate', place, `${where} a broken surrogate pair.`, details);
  }
}

/** All strings of a value, keys too. */
function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    yield key;
    yield* stringsIn(member);
  }
}

/** May also match inside a string, so a match is checked again. */
const suspiciousNumber = new RegExp(`\\d[eE][+-]?\\d{3}|[\\d.]{${longestNumber - 10}}`);

function checkNumbers(text: string, place: RowPlace): void {
  for (const [number, exponent] of outsideStrings(text).matchAll(/-?\d[\d.]*(?:[eE]([+-]?\d+))?/g)) {
    if (number.length <= longestNumber && Math.abs(Number(exponent ?? 0)) <= longestNumber) continue;
    throw rowError(
      'number_out_of_range',
      place,
      ` has the number ${number.slice(0, 20)}…; ` +
        `numbers may have up to ${longestNumber} characters and exponents up to ${longestNumber}.`,
    );
  }
}
