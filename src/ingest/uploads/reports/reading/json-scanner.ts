import { isSluiceError, type SluiceError } from '../../../../lib/errors.ts';
import { rowProblem, shownLength } from '../shown-text.ts';
import type { FieldProblem, RawRow } from '../types.ts';
import { cutOff, notAnObject, tooLarge, tooMany, truncated, unexpected } from './json-errors.ts';
import { RecordFlattener } from './json-flatten.ts';
import { findPlatformError } from './json-shape.ts';
import {
  kindOfValue,
  parseValue,
  recordEnd,
  skipSpace,
  stringEnd,
  stringValue,
  tooDeep,
  valueEnd,
} from './json-text.ts';
import type { JsonLayout, JsonShape, ReadingLimits, RowScanner, ScannedText, Stop } from './types.ts';

/**
 * What is open around the records: `root` is an array of responses, `envelope` a response, `inner` the object inside
 * TikTok's response, `list` the array of records.
 */
type Frame = 'root' | 'envelope' | 'inner' | 'list';

/** What may come next. The words complete "… where … should be". */
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
  /** Set when reading resumes after a record; null at the beginning of the file. */
  resumed: { isRootArray: boolean } | null;
}

/** A file that begins with this many broken records does not consist of records. */
const maxHeld = 20;

/**
 * Finds the records in an array, in lines of objects and in responses of the platforms, one whole record at a time.
 * Everything around the records is read and checked, but kept only if it reports an error.
 *
 * A broken record among lines of objects becomes a row with a problem, and reading continues at the next line. The same
 * holds for an array element that is not an object. Any other damage is an error of the whole file.
 */
export class JsonScanner implements RowScanner {
  readonly #layout: JsonLayout;
  readonly #limits: ReadingLimits;
  readonly #flattener: RecordFlattener;
  readonly #byteAt: (unit: number) => number;
  readonly #frames: Frame[];
  /** The members of the current response, without its records. */
  #members = new Map<string, unknown>();
  #expected: Expected;
  #text = '';
  #isLast = false;
  at = 0;
  rowsEnd: number | null = null;
  nextRowIndex: number;
  nextLine: number;
  #snapshot: JsonLayout;
  /** The broken record that is being passed, up to the next line that can begin a record. */
  #damage: { problem: FieldProblem; isLineDone: boolean } | null = null;
  /** Broken records before the first whole one, and the error of the file if none follows. */
  #held: { rows: RawRow[]; error: SluiceError | null } = { rows: [], error: null };
  #isProven: boolean;

  constructor(
    layout: JsonLayout,
    options: { limits: ReadingLimits; start: JsonScannerStart; byteAt: (unit: number) => number },
  ) {
    const { limits, start } = options;
    this.#layout = layout;
    this.#limits = limits;
    this.#flattener = new RecordFlattener(layout.headers, limits);
    this.#byteAt = options.byteAt;
    this.nextRowIndex = start.rowIndex;
    this.nextLine = start.line;
    this.#frames = start.resumed === null ? [] : framesAround(layout.shape, start.resumed);
    this.#expected = start.resumed === null ? 'start' : this.#afterValue();
    this.#snapshot = copyOf(layout);
    this.#isProven = start.resumed !== null;
  }

  layout(): JsonLayout {
    // Headers only grow, so their number tells whether the last copy is up to date.
    if (this.#snapshot.headers.length !== this.#layout.headers.length) this.#snapshot = copyOf(this.#layout);
    return this.#snapshot;
  }

  look({ text, isLast }: ScannedText): void {
    this.#text = text;
    this.#isLast = isLast;
    this.at = 0;
    this.rowsEnd = null;
  }

  fill(rows: RawRow[], maxRows: number): Stop {
    while (rows.length < maxRows) {
      if (this.#damage !== null) {
        if (!this.#passDamage(this.#damage, rows)) return 'starved';
        continue;
      }
      this.at = skipSpace(this.#text, this.at);
      if (this.at === this.#text.length) {
        if (!this.#isLast) return 'starved';
        this.#checkEnd();
        return 'ended';
      }
      const isWhole = this.#step(rows);
      if (!isWhole) return this.#starve();
    }
    return 'full';
  }

  /** Reads one mark, member or record. Returns false, and reads nothing, when it is not whole in this text. */
  #step(rows: RawRow[]): boolean {
    const mark = this.#text.charAt(this.at);
    const top = this.#frames.at(-1);
    const { shape } = this.#layout;
    if (this.#expected === 'elementEnd' || this.#expected === 'memberEnd') return this.#passEnd(mark);
    if (this.#expected === 'firstKey' || this.#expected === 'key') return this.#passMember(mark);
    if (this.#expected === 'firstElement' && mark === ']') return this.#close();
    const isRecordPlace = top === 'list';
    if (shape === 'ndjson') return this.#passLine(mark, rows);
    if (mark === '{' && isRecordPlace) return this.#passRecord(rows);
    if (mark === '{' && shape !== 'array') return this.#openEnvelope();
    const mayOpenArray = this.#expected === 'start' && mark === '[';
    if (mayOpenArray) return this.#open(shape === 'array' ? 'list' : 'root');
    if (isRecordPlace && /["[\-0-9tfn]/.test(mark)) return this.#passOddElement(mark, rows);
    throw unexpected(this.#place(), { mark, expected: expectations[this.#expected] });
  }

  #passRecord(rows: RawRow[]): boolean {
    const end = valueEnd(this.#text, this.at, this.#limits.jsonDepth, `Record ${this.nextLine}`);
    if (end === -1) return false;
    if (end - this.at > this.#limits.rowLength) throw tooLarge(this.#place(), this.#limits.rowLength);
    parseValue(this.#text.slice(this.at, end), () => this.#place());
    return this.#takeRecord(end, rows);
  }

  /** A record in a file where each record begins a line. */
  #passLine(mark: string, rows: RawRow[]): boolean {
    if (mark !== '{') return this.#beginDamage(notAnObject(this.#place(), 'not a JSON object'));
    const end = recordEnd(this.#text, this.at, this.#limits.jsonDepth);
    const length = (end.kind === 'unfinished' ? this.#text.length : end.at) - this.at;
    if (length > this.#limits.rowLength) {
      const error = tooLarge(this.#place(), this.#limits.rowLength);
      // Most likely one endless document, so another record is not worth looking for.
      if (this.nextRowIndex === 0) throw error;
      return this.#beginDamage(error);
    }
    const isCutOff = end.kind === 'broken' || (end.kind === 'unfinished' && this.#hasLater());
    if (end.kind === 'unfinished' && !this.#isLast) return false;
    if (isCutOff) return this.#beginDamage(cutOff(this.#place()));
    if (end.kind === 'unfinished') return this.#beginDamage(this.#truncated());
    if (end.kind === 'deep') return this.#beginDamage(tooDeep(this.#limits.jsonDepth, this.#place().words));
    try {
      parseValue(this.#text.slice(this.at, end.at), () => this.#place());
    } catch (error) {
      if (!isSluiceError(error)) throw error;
      return this.#beginDamage(error);
    }
    return this.#takeRecord(end.at, rows);
  }

  /** Whether later lines begin like records, so that the current record is not the last. */
  #hasLater(): boolean {
    return this.#isLast && /\n[ \t]*\{/.test(this.#text.slice(this.at));
  }

  #passOddElement(mark: string, rows: RawRow[]): boolean {
    const end = valueEnd(this.#text, this.at, this.#limits.jsonDepth);
    if (end === -1) return false;
    if (end - this.at > this.#limits.rowLength) throw tooLarge(this.#place(), this.#limits.rowLength);
    const value = this.#text.slice(this.at, end);
    parseValue(value, () => this.#place());
    const error = notAnObject(this.#place(), kindOfValue(mark));
    this.#held.error ??= error;
    this.at = end;
    this.#addRow({ cells: [], problem: rowProblem(error, { value }) }, rows);
    this.#expected = this.#afterValue();
    return true;
  }

  #takeRecord(end: number, rows: RawRow[]): true {
    const text = this.#text.slice(this.at, end);
    this.at = end;
    if (!this.#isProven) rows.push(...this.#held.rows);
    this.#isProven = true;
    this.#addRow(this.#flatten(text), rows);
    this.#expected = this.#afterValue();
    return true;
  }

  /** A value that is too large is a problem of the record only. */
  #flatten(text: string): Pick<RawRow, 'cells' | 'problem'> {
    try {
      return { cells: this.#flattener.flatten(text, this.nextLine) };
    } catch (error) {
      if (!isSluiceError(error) || error.code !== 'report_cell_too_large') throw error;
      return { cells: [], problem: rowProblem(error, { value: text }) };
    }
  }

  /** The first whole record may add more rows than were asked for. Reading is never resumed between them. */
  #addRow(row: Pick<RawRow, 'cells' | 'problem'>, rows: RawRow[]): void {
    const made = { rowIndex: this.nextRowIndex, line: this.nextLine, ...row };
    this.nextRowIndex += 1;
    this.nextLine += 1;
    if (this.nextLine - 1 > this.#limits.lines) throw tooMany(this.#limits.lines);
    if (this.#isProven) {
      rows.push(made);
      this.rowsEnd = this.at;
      return;
    }
    this.#held.rows.push(made);
    if (this.#held.rows.length === maxHeld) this.#refuseUnproven();
  }

  /** Returns false when there is not enough text to show yet. */
  #beginDamage(error: SluiceError): boolean {
    const feed = this.#text.indexOf('\n', this.at);
    const lineEnd = feed === -1 ? this.#text.length : feed;
    const shownEnd = this.at + Math.min(shownLength, this.#limits.rowLength);
    if (feed === -1 && !this.#isLast && lineEnd < shownEnd) return false;
    const value = this.#text.slice(this.at, Math.min(lineEnd, shownEnd)).trimEnd();
    this.#held.error ??= error;
    this.#damage = { problem: rowProblem(error, { value }), isLineDone: false };
    return true;
  }

  /** Passes lines that can only be the inside of a broken record. Nothing of them is kept. */
  #passDamage(damage: { problem: FieldProblem; isLineDone: boolean }, rows: RawRow[]): boolean {
    for (;;) {
      if (!damage.isLineDone) {
        const feed = this.#text.indexOf('\n', this.at);
        damage.isLineDone = feed !== -1;
        this.at = feed === -1 ? this.#text.length : feed + 1;
      }
      this.at = skipSpace(this.#text, this.at);
      if (this.at === this.#text.length && !this.#isLast) return false;
      if (!'"}],'.includes(this.#text.charAt(this.at) || '{')) break;
      damage.isLineDone = false;
    }
    this.#damage = null;
    this.#addRow({ cells: [], problem: damage.problem }, rows);
    this.#expected = this.#afterValue();
    return true;
  }

  /** A member of a response. The one with the records is opened, any other is passed as a whole. */
  #passMember(mark: string): boolean {
    if (mark === '}' && this.#expected === 'firstKey') return this.#close();
    if (mark !== '"') throw unexpected(this.#place(), { mark, expected: expectations[this.#expected] });
    const keyEnd = stringEnd(this.#text, this.at);
    const colon = keyEnd === -1 ? this.#text.length : skipSpace(this.#text, keyEnd);
    if (colon === this.#text.length) return false;
    if (this.#text[colon] !== ':')
      throw unexpected(this.#place(), { mark: this.#text.charAt(colon), expected: 'a colon' });
    const from = skipSpace(this.#text, colon + 1);
    if (from === this.#text.length) return false;
    const keyText = this.#text.slice(this.at, keyEnd);
    parseValue(keyText, () => ({ words: 'A key', byteOffset: this.#byteAt(this.at) }));
    const key = stringValue(keyText, 0, keyText.length);
    const inside = this.#frameOf(key, this.#text.charAt(from));
    if (inside !== null) {
      if (this.#members.has('code') && this.#members.has('message')) this.#refusePlatformError();
      this.at = from;
      return this.#open(inside);
    }
    return this.#passOther(key, from);
  }

  /** The frame that a member opens; null when it contains no records. */
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
    if (end - from > this.#limits.rowLength) throw tooLarge(this.#place(), this.#limits.rowLength);
    const words = `The value of ${JSON.stringify(key.slice(0, 100))}`;
    const value = parseValue(this.#text.slice(from, end), () => ({ words, byteOffset: this.#byteAt(from) }));
    const isTelling = this.#frames.at(-1) === 'envelope' && ['code', 'message', 'error'].includes(key);
    if (isTelling) this.#members.set(key, value);
    this.at = end;
    this.#expected = 'memberEnd';
    return true;
  }

  #passEnd(mark: string): boolean {
    const isList = this.#expected === 'elementEnd';
    if (mark === (isList ? ']' : '}')) return this.#close();
    if (mark !== ',') throw unexpected(this.#place(), { mark, expected: expectations[this.#expected] });
    this.at += 1;
    this.#expected = isList ? 'element' : 'key';
    return true;
  }

  #openEnvelope(): true {
    this.#members = new Map();
    return this.#open('envelope');
  }

  #open(frame: Frame): true {
    this.#frames.push(frame);
    this.at += 1;
    this.#expected = frame === 'list' || frame === 'root' ? 'firstElement' : 'firstKey';
    return true;
  }

  #close(): true {
    const closed = this.#frames.pop();
    if (closed === 'envelope') this.#refusePlatformError();
    this.at += 1;
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

  /** Throws when the rest is incomplete in the last text, or too large already. */
  #starve(): 'starved' {
    if (this.#isLast) throw this.#truncated();
    if (this.#text.length - this.at > this.#limits.rowLength)
      throw tooLarge(this.#place(), this.#limits.rowLength);
    return 'starved';
  }

  #checkEnd(): void {
    if (this.#frames.length > 0) throw this.#truncated();
    if (!this.#isProven) this.#refuseUnproven();
  }

  #refuseUnproven(): void {
    if (this.#held.error !== null) throw this.#held.error;
  }

  #place() {
    return { words: `Record ${this.nextLine}`, record: this.nextLine, byteOffset: this.#byteAt(this.at) };
  }

  #truncated(): SluiceError {
    const isMember = this.#expected === 'key' || this.#expected === 'firstKey';
    const isOpen = this.at < this.#text.length;
    return truncated(this.#place(), { isMember, isOpen, expected: expectations[this.#expected] });
  }
}

/** The frames around a record of this shape. */
function framesAround(shape: JsonShape, { isRootArray }: { isRootArray: boolean }): Frame[] {
  if (shape === 'ndjson') return [];
  if (shape === 'array') return ['list'];
  const frames: Frame[] = shape === 'tiktok' ? ['envelope', 'inner', 'list'] : ['envelope', 'list'];
  return isRootArray ? ['root', ...frames] : frames;
}

function copyOf(layout: JsonLayout): JsonLayout {
  return { ...layout, headers: [...layout.headers] };
}
