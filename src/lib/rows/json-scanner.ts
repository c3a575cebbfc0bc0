import type { SluiceError } from '../errors.ts';
import { jsonErrors } from '../json-depth.ts';
import { placeDetails, placeWords, type RowPlace, readerErrors, rowError } from './errors.ts';
import type { ReaderLimits, RowScanner } from './types.ts';

/** The text of one row as it was written, and how many keys it names, at any depth. */
export type RowTextTaker = (text: string, row: { place: RowPlace; keyCount: number }) => void;

const lineFeed = 10;
const carriageReturn = 13;
const quote = 34;
const comma = 44;
const colon = 58;
const openArray = 91;
const backslash = 92;
const closeArray = 93;
const openObject = 123;
const closeObject = 125;

/** What may come between two rows; the words complete "… where … should be". */
const expectations = {
  start: 'the "[" of an array',
  firstRow: 'an object or "]"',
  row: 'an object',
  separator: '"," or "]"',
  end: 'the end of the file',
} as const;

/**
 * Finds where each row of a JSON array, or of objects line by line, begins and ends. It looks only at brackets and
 * strings, so that the text of a row stays as it was written; whether a row is valid JSON, JSON.parse decides.
 */
export class JsonScanner implements RowScanner {
  readonly #isArray: boolean;
  readonly #limits: ReaderLimits;
  readonly #take: RowTextTaker;
  #expected: keyof typeof expectations;
  /** The closing brackets that the current row still needs; empty between rows. */
  readonly #closers: number[] = [];
  #isInString = false;
  #isEscaped = false;
  /** The part of the current row from earlier texts. */
  #partial = '';
  #keyCount = 0;
  #line = 1;
  #place: RowPlace = { rowNo: 1, line: 1 };
  #needsLineBreak = false;

  constructor(options: { isArray: boolean; limits: ReaderLimits; take: RowTextTaker }) {
    this.#isArray = options.isArray;
    this.#limits = options.limits;
    this.#take = options.take;
    this.#expected = options.isArray ? 'start' : 'row';
  }

  /** The current line, for problems that are found between two texts. */
  get line(): number {
    return this.#line;
  }

  feed(text: string): void {
    let at = 0;
    while (at < text.length) {
      at = this.#closers.length === 0 ? this.#scanBetween(text, at) : this.#scanRow(text, at);
    }
    this.#weigh(this.#partial);
  }

  finish(): void {
    if (this.#closers.length > 0) {
      throw this.#truncated(`The file ends inside a row: ${placeWords(this.#place)} is not closed.`);
    }
    if (this.#isArray && this.#expected !== 'end') {
      const expected = expectations[this.#expected];
      throw this.#truncated(
        `The file ends on line ${this.#line} inside the array, where ${expected} should be.`,
      );
    }
  }

  #scanBetween(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === lineFeed || code === carriageReturn) {
      if (code === lineFeed) this.#line += 1;
      this.#needsLineBreak = false;
      return at + 1;
    }
    if (code === 32 || code === 9) return at + 1;
    this.#place.line = this.#line;
    if (this.#needsLineBreak) throw this.#unexpected(text, at, 'a line break');
    if (this.#expected === 'row' || this.#expected === 'firstRow') {
      if (code === openObject) return this.#scanRow(text, at);
      if (beginsValue.test(text.charAt(at))) throw this.#notAnObject(text.charAt(at));
    }
    this.#expected = this.#passArrayMark(code) ?? this.#refuse(text, at);
    return at + 1;
  }

  /** What is expected after a bracket or comma of the array itself; null when it is not allowed here. */
  #passArrayMark(code: number): keyof typeof expectations | null {
    if (this.#expected === 'start' && code === openArray) return 'firstRow';
    if (this.#expected === 'separator' && code === comma) return 'row';
    const mayClose = this.#expected === 'firstRow' || this.#expected === 'separator';
    return mayClose && code === closeArray ? 'end' : null;
  }

  /** In a row, from its first bracket to its last. */
  #scanRow(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      if (this.#isInString) {
        at = this.#scanString(text, at);
        continue;
      }
      const code = text.charCodeAt(at);
      if (code === quote) this.#isInString = true;
      else if (code === colon) this.#keyCount += 1;
      else if (code === lineFeed) this.#line += 1;
      else if (code === openObject) this.#open(closeObject);
      else if (code === openArray) this.#open(closeArray);
      else if (code === closeObject || code === closeArray) {
        this.#close(code);
        if (this.#closers.length > 0) continue;
        this.#endRow(text.slice(from, at + 1));
        return at + 1;
      }
    }
    this.#partial += text.slice(from);
    return text.length;
  }

  /** Returns where the string ends, or the end of the text. */
  #scanString(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code < 32) throw this.#malformed('has a line break or another control character in a string');
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === backslash) this.#isEscaped = true;
      else if (code === quote) {
        this.#isInString = false;
        return at;
      }
    }
    return text.length;
  }

  #open(closer: number): void {
    const most = this.#limits.jsonDepth;
    if (this.#closers.length === most) {
      throw jsonErrors.raise.json_too_deep(
        `${placeWords(this.#place)} has more than ${most} levels of objects and arrays, the most allowed.`,
        { details: { ...placeDetails(this.#place), max_depth: most } },
      );
    }
    this.#closers.push(closer);
  }

  #close(code: number): void {
    const closer = this.#closers.pop() ?? 0;
    if (code === closer) return;
    const [found, wanted] = [code, closer].map((one) => JSON.stringify(String.fromCharCode(one)));
    throw this.#malformed(`has ${found} on line ${this.#line}, where ${wanted} should be`);
  }

  #endRow(rest: string): void {
    const text = this.#partial === '' ? rest : this.#partial + rest;
    this.#weigh(text);
    this.#take(text, { place: this.#place, keyCount: this.#keyCount });
    this.#partial = '';
    this.#keyCount = 0;
    this.#place = { rowNo: this.#place.rowNo + 1, line: this.#line };
    if (this.#isArray) this.#expected = 'separator';
    else this.#needsLineBreak = true;
  }

  /** UTF-8 has at most three bytes per UTF-16 unit, so bytes are counted only when it could matter. */
  #weigh(text: string): void {
    const most = this.#limits.rowBytes;
    if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return;
    const what = ` has more than ${most} bytes, the most allowed for a row.`;
    throw rowError('row_too_large', this.#place, what, { max_bytes: most });
  }

  #refuse(text: string, at: number): never {
    throw this.#unexpected(text, at, expectations[this.#expected]);
  }

  #unexpected(text: string, at: number, expected: string): SluiceError {
    const found = JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0));
    return readerErrors.raise.malformed_json(
      `The file has ${found} on line ${this.#line}, where ${expected} should be (before row ${this.#place.rowNo}).`,
      { details: placeDetails(this.#place) },
    );
  }

  #malformed(problem: string): SluiceError {
    return rowError('malformed_json', this.#place, ` ${problem}.`);
  }

  #notAnObject(first: string): SluiceError {
    const kind = first === '[' ? 'an array' : first === '"' ? 'a string' : 'a number, true, false or null';
    const what = ` is ${kind}. Each row must be an object that names its columns.`;
    return rowError('row_not_an_object', this.#place, what);
  }

  #truncated(message: string): SluiceError {
    return readerErrors.raise.truncated_file(message, { details: placeDetails(this.#place) });
  }
}

const beginsValue = /[["\-0-9tfn]/;
