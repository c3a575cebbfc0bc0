import type { SluiceError } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';
import type { RawRow } from '../types.ts';
import { RecordFlattener } from './json-flatten.ts';
import { findPlatformError } from './json-shape.ts';
import { kindOfValue, parseValue, skipSpace, stringEnd, stringValue, valueEnd } from './json-text.ts';
import type { JsonLayout, JsonShape, ReadingLimits, RowScanner, ScannedText, Stop } from './types.ts';

/**
 * What is open around the records: `root` is an array of answers, `envelope` an answer, `inner` the object in TikTok's
 * answer, `list` the array of records.
 */
type Frame = 'root' | 'envelope' | 'inner' | 'list';

/** What may come next; the words complete "… where … should be". */
const expectations = {
  start: 'an object or "["',
  firstElement: 'an object or "]"',
  element: 'an object',
  firstKey: 'a key in quotes or "}"',
  key: 'a key in quotes',
  elementEnd: '"," or "]"',
  memberEnd: '"," or "}"',
  nextDocument: 'another object or the end of the file',
} as const;
type Expected = keyof typeof expectations;

export interface JsonScannerStart {
  rowIndex: number;
  line: number;
  /** Where a record was just read; null at the beginning of the file. */
  resumed: { isRootArray: boolean } | null;
}

/**
 * Finds the records in an array, in lines of objects and in the answers of the platforms, one whole record at a time.
 * Everything around the records is read and checked, but kept only where it tells of an error.
 */
export class JsonScanner implements RowScanner {
  readonly #layout: JsonLayout;
  readonly #limits: ReadingLimits;
  readonly #flattener: RecordFlattener;
  readonly #byteAt: (unit: number) => number;
  readonly #frames: Frame[];
  /** The members of the answer at work, without its records. */
  #members = new Map<string, unknown>();
  #expected: Expected;
  #text = '';
  #isLast = false;
  #at = 0;
  #rowsEnd: number | null = null;
  #rowIndex: number;
  #line: number;
  #snapshot: JsonLayout;

  constructor(
    layout: JsonLayout,
    options: { limits: ReadingLimits; start: JsonScannerStart; byteAt: (unit: number) => number },
  ) {
    const { limits, start } = options;
    this.#layout = layout;
    this.#limits = limits;
    this.#flattener = new RecordFlattener(layout.headers, limits);
    this.#byteAt = options.byteAt;
    this.#rowIndex = start.rowIndex;
    this.#line = start.line;
    this.#frames = start.resumed === null ? [] : framesAround(layout.shape, start.resumed);
    this.#expected = start.resumed === null ? 'start' : this.#afterValue();
    this.#snapshot = copyOf(layout);
  }

  get at(): number {
    return this.#at;
  }

  get rowsEnd(): number | null {
    return this.#rowsEnd;
  }

  get nextRowIndex(): number {
    return this.#rowIndex;
  }

  get nextLine(): number {
    return this.#line;
  }

  layout(): JsonLayout {
    // Headers only ever grow, so their number tells whether the last copy is still true.
    if (this.#snapshot.headers.length !== this.#layout.headers.length) this.#snapshot = copyOf(this.#layout);
    return this.#snapshot;
  }

  look({ text, isLast }: ScannedText): void {
    this.#text = text;
    this.#isLast = isLast;
    this.#at = 0;
    this.#rowsEnd = null;
  }

  fill(rows: RawRow[], maxRows: number): Stop {
    while (rows.length < maxRows) {
      this.#at = skipSpace(this.#text, this.#at);
      if (this.#at === this.#text.length) {
        if (!this.#isLast) return 'starved';
        this.#checkEnd();
        return 'ended';
      }
      const isWhole = this.#step(rows);
      if (!isWhole) return this.#starve();
    }
    return 'full';
  }

  /** Takes one mark, member or record. False when it is not whole in this text; nothing is taken then. */
  #step(rows: RawRow[]): boolean {
    const mark = this.#text.charAt(this.#at);
    const top = this.#frames.at(-1);
    const { shape } = this.#layout;
    if (this.#expected === 'elementEnd' || this.#expected === 'memberEnd') return this.#passEnd(mark);
    if (this.#expected === 'firstKey' || this.#expected === 'key') return this.#passMember(mark);
    if (this.#expected === 'firstElement' && mark === ']') return this.#close();
    const isRecordPlace = top === 'list' || shape === 'ndjson';
    if (mark === '{' && isRecordPlace) return this.#passRecord(rows);
    if (mark === '{' && shape !== 'array') return this.#openEnvelope();
    const mayOpenArray = this.#expected === 'start' && mark === '[' && shape !== 'ndjson';
    if (mayOpenArray) return this.#open(shape === 'array' ? 'list' : 'root');
    if (isRecordPlace && /["[\-0-9tfn]/.test(mark)) throw this.#notAnObject(mark);
    throw this.#unexpected(mark);
  }

  #passRecord(rows: RawRow[]): boolean {
    const end = valueEnd(this.#text, this.#at, this.#limits.jsonDepth, `Record ${this.#line}`);
    if (end === -1) return false;
    const text = this.#text.slice(this.#at, end);
    if (text.length > this.#limits.rowLength) throw this.#tooLarge();
    parseValue(text, () => this.#place());
    const cells = this.#flattener.flatten(text, this.#line);
    rows.push({ rowIndex: this.#rowIndex, line: this.#line, cells });
    this.#at = end;
    this.#rowsEnd = end;
    this.#rowIndex += 1;
    this.#line += 1;
    if (this.#line - 1 > this.#limits.lines) throw this.#tooMany();
    this.#expected = this.#afterValue();
    return true;
  }

  /** A member of an answer. The one with the records is opened, any other passed as a whole. */
  #passMember(mark: string): boolean {
    if (mark === '}' && this.#expected === 'firstKey') return this.#close();
    if (mark !== '"') throw this.#unexpected(mark);
    const keyEnd = stringEnd(this.#text, this.#at);
    const colon = keyEnd === -1 ? this.#text.length : skipSpace(this.#text, keyEnd);
    if (colon === this.#text.length) return false;
    if (this.#text[colon] !== ':') throw this.#unexpected(this.#text.charAt(colon), 'a colon');
    const from = skipSpace(this.#text, colon + 1);
    if (from === this.#text.length) return false;
    const keyText = this.#text.slice(this.#at, keyEnd);
    parseValue(keyText, () => ({ words: 'A key', byteOffset: this.#byteAt(this.#at) }));
    const key = stringValue(keyText, 0, keyText.length);
    const inside = this.#frameOf(key, this.#text.charAt(from));
    if (inside !== null) {
      if (this.#members.has('code') && this.#members.has('message')) this.#refusePlatformError();
      this.#at = from;
      return this.#open(inside);
    }
    return this.#passOther(key, from);
  }

  /** Which frame a member opens; null when no records are in it. */
  #frameOf(key: string, first: string): Frame | null {
    const isInner = this.#frames.at(-1) === 'inner';
    const { shape } = this.#layout;
    if (shape === 'tiktok' && !isInner) return key === 'data' && first === '{' ? 'inner' : null;
    const wanted = { tiktok: 'list', meta: 'data', google: 'results', array: null, ndjson: null }[shape];
    return key === wanted && first === '[' ? 'list' : null;
  }

  #passOther(key: string, from: number): boolean {
    const end = valueEnd(this.#text, from, this.#limits.jsonDepth);
    if (end === -1) return false;
    if (end - from > this.#limits.rowLength) throw this.#tooLarge();
    const words = `The value of ${JSON.stringify(key.slice(0, 100))}`;
    const value = parseValue(this.#text.slice(from, end), () => ({ words, byteOffset: this.#byteAt(from) }));
    const isTelling = this.#frames.at(-1) === 'envelope' && ['code', 'message', 'error'].includes(key);
    if (isTelling) this.#members.set(key, value);
    this.#at = end;
    this.#expected = 'memberEnd';
    return true;
  }

  #passEnd(mark: string): boolean {
    const isList = this.#expected === 'elementEnd';
    if (mark === (isList ? ']' : '}')) return this.#close();
    if (mark !== ',') throw this.#unexpected(mark);
    this.#at += 1;
    this.#expected = isList ? 'element' : 'key';
    return true;
  }

  #openEnvelope(): true {
    this.#members = new Map();
    return this.#open('envelope');
  }

  #open(frame: Frame): true {
    this.#frames.push(frame);
    this.#at += 1;
    this.#expected = frame === 'list' || frame === 'root' ? 'firstElement' : 'firstKey';
    return true;
  }

  #close(): true {
    const closed = this.#frames.pop();
    if (closed === 'envelope') this.#refusePlatformError();
    this.#at += 1;
    this.#expected = this.#afterValue();
    return true;
  }

  #afterValue(): Expected {
    const top = this.#frames.at(-1);
    if (top === undefined) return 'nextDocument';
    return top === 'list' || top === 'root' ? 'elementEnd' : 'memberEnd';
  }

  #refusePlatformError(): void {
    const error = findPlatformError(this.#members, this.#layout.shape);
    if (error !== null) throw error;
  }

  /** What is not whole in the last text never will be; what is too large need not become whole. */
  #starve(): 'starved' {
    if (this.#isLast) throw this.#truncated();
    if (this.#text.length - this.#at > this.#limits.rowLength) throw this.#tooLarge();
    return 'starved';
  }

  #checkEnd(): void {
    if (this.#frames.length > 0) throw this.#truncated();
  }

  #place() {
    return { words: `Record ${this.#line}`, byteOffset: this.#byteAt(this.#at) };
  }

  #truncated(): SluiceError {
    const { words, byteOffset } = this.#place();
    const isMember = this.#expected === 'key' || this.#expected === 'firstKey';
    const what =
      this.#at < this.#text.length
        ? `${isMember ? 'the member' : words}, which begins at byte ${byteOffset}, is not closed`
        : `${expectations[this.#expected]} should follow at byte ${byteOffset}, after ${this.#line - 1} records`;
    return reportErrors.raise.report_json_truncated(`The report ends before its JSON is complete: ${what}.`, {
      details: { record: this.#line, byte_offset: byteOffset },
    });
  }

  #unexpected(mark: string, expected: string = expectations[this.#expected]): SluiceError {
    const { byteOffset } = this.#place();
    return reportErrors.raise.report_json_malformed(
      `The report is not valid JSON: it has ${JSON.stringify(mark)} at byte ${byteOffset}, before record ` +
        `${this.#line}, where ${expected} should be.`,
      { details: { record: this.#line, byte_offset: byteOffset } },
    );
  }

  #notAnObject(mark: string): SluiceError {
    const { words, byteOffset } = this.#place();
    return reportErrors.raise.report_record_not_an_object(
      `${words}, at byte ${byteOffset} of the report, is ${kindOfValue(mark)}; each must be an object that names ` +
        'its fields.',
      { details: { record: this.#line, byte_offset: byteOffset } },
    );
  }

  #tooLarge(): SluiceError {
    const { words, byteOffset } = this.#place();
    const most = this.#limits.rowLength;
    return reportErrors.raise.report_row_too_large(
      `${words}, which begins at byte ${byteOffset} of the report, has more than ${most} characters, the most ` +
        'allowed; a quote or bracket that is not closed looks like this too.',
      { details: { record: this.#line, byte_offset: byteOffset, max_characters: most } },
    );
  }

  #tooMany(): SluiceError {
    return reportErrors.raise.report_too_many_lines(
      `The report has more than ${this.#limits.lines} records, the most allowed.`,
      { details: { max_lines: this.#limits.lines } },
    );
  }
}

/** What is open around a record of this shape. */
function framesAround(shape: JsonShape, { isRootArray }: { isRootArray: boolean }): Frame[] {
  if (shape === 'ndjson') return [];
  if (shape === 'array') return ['list'];
  const answer: Frame[] = shape === 'tiktok' ? ['envelope', 'inner', 'list'] : ['envelope', 'list'];
  return isRootArray ? ['root', ...answer] : answer;
}

function copyOf(layout: JsonLayout): JsonLayout {
  return { ...layout, headers: [...layout.headers] };
}
