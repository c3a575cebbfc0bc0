import { withoutCurrency } from './currencies.ts';
import { withLatinDigits } from './digits.ts';

export type DecimalMark = '.' | ',';

/** How a file writes its numbers. */
export interface NumberStyle {
  /** Decides only `1,234` and `1.234`; every other form is unambiguous. Null: they stay undecided. */
  decimalMark: DecimalMark | null;
  /** `1.5e3` is a number in JSON and a damaged number in a spreadsheet's file. */
  exponents: boolean;
}

export interface NumberFault {
  code:
    | 'invalid_number'
    | 'ambiguous_number'
    | 'only_a_bound'
    | 'not_a_whole_number'
    | 'negative_number'
    | 'number_out_of_range'
    | 'number_damaged_by_spreadsheet';
  message: string;
}

/**
 * The number as exact decimal text in its shortest form (`1.234,50` → `1234.5`), or null for a mark of "no value". No
 * floating point is involved.
 */
export function readDecimal(text: string, style: NumberStyle): string | null | NumberFault {
  if (isPlain(text, style.decimalMark)) return text;
  return readSimple(text, style.decimalMark) ?? readWritten(text, style);
}

/** A whole number from 0. In a count, `1,234` and `1.234` are thousands unless the file is known to differ. */
export function readCount(text: string, style: NumberStyle): string | null | NumberFault {
  if (text.length < maxCountDigits && isPlain(text, style.decimalMark) && !text.includes('.')) return text;
  const number = readSimple(text, style.decimalMark) ?? readWritten(text, style, true);
  if (typeof number !== 'string') return number;
  if (number.charCodeAt(0) === minus) return faults.negative;
  if (number.includes('.')) return faults.notWhole;
  return number.length < maxCountDigits || BigInt(number) <= maxCount ? number : faults.countRange;
}

/** Moves the decimal point exactly: `shiftDecimal('2500000', -6)` is `2.5`. */
export function shiftDecimal(number: string, places: number): string {
  const isNegative = number.startsWith('-');
  const [whole = '', fraction = ''] = (isNegative ? number.slice(1) : number).split('.');
  const digits = whole + fraction;
  const point = whole.length + places;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  return shortest({ isNegative, whole: padded.slice(0, at), fraction: padded.slice(at) });
}

/** Whether a text means "no value" on one of the platforms; Google writes its dashes after a space. */
export function isNullMark(text: string): boolean {
  if (text.length === 0) return true;
  if (text.length > 6) return text.trim().length === 0;
  return nullMarks.has(text.trim().toLowerCase());
}

/** For names, only dashes mean "no value": a campaign may be called "NA". */
export function isNullName(text: string): boolean {
  if (text.length <= 6) return nameNullMarks.has(text.trim());
  return text.charCodeAt(0) <= 32 && text.trim() === '';
}

/** The decimal mark that this cell proves for the file, or null. */
export function decimalEvidence(text: string, { isCount }: { isCount: boolean }): DecimalMark | null {
  if (isNullMark(text) || text.length > maxTextLength) return null;
  const parts = splitNumber(tidy(text));
  if (parts === null || parts.marks.length === 0) return null;
  const last = parts.marks.at(-1);
  if (last !== '.' && last !== ',') return null;
  const role = roleOfLastMark(parts);
  if (role === 'decimal') return last;
  if (role === 'group' || (role === 'either' && isCount)) return last === ',' ? '.' : ',';
  return null;
}

/** Whether an amount can be read with either decimal mark, so that its meaning depends on the file's. */
export function hangsOnMark(text: string): boolean {
  if (usualEither.test(text)) return true;
  const read = readDecimal(text, { decimalMark: null, exponents: false });
  return read !== null && typeof read !== 'string' && read.code === 'ambiguous_number';
}

/** Whether an unambiguous cell has another decimal mark than the file. */
export function contradictsMark(text: string, mark: DecimalMark): boolean {
  if (!mayContradict(text, mark)) return false;
  const shown = decimalEvidence(text, { isCount: false });
  return shown !== null && shown !== mark;
}

const usualEither = /^[1-9]\d{0,2}[.,]\d{3}$/;

/** Runs for every figure, so usual forms (`12.5`, `1,234`, `1,234,567.8`) are passed without splitting them. */
function mayContradict(text: string, mark: DecimalMark): boolean {
  const own = mark === '.' ? point : comma;
  const other = mark === '.' ? comma : point;
  let firstOwn = -1;
  let lastOwn = -1;
  let lastOther = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === other) lastOther = at;
    if (code !== own) continue;
    if (firstOwn === -1) firstOwn = at;
    lastOwn = at;
  }
  if (lastOther === -1) return firstOwn !== lastOwn;
  if (lastOwn !== -1) return lastOwn < lastOther;
  const isGroup =
    text.length - lastOther === 4 && (lastOther <= 3 || text.charCodeAt(lastOther - 4) === other);
  // A leading zero, a sign or a currency changes the count of digits.
  return !isGroup || text[0] === '0' || !isDigit(text, 0) || !isDigit(text, text.length - 1);
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= zero && code <= nine;
}

const dashes = ['', '-', '--', '---', '–', '—', '——'];
const nullMarks = new Set([...dashes, 'n/a', 'na', 'null']);
const nameNullMarks = new Set(dashes);
const comma = 44;
const minus = 45;
const point = 46;
const zero = 48;
const nine = 57;
const maxWholeDigits = 18;
// Counts are sent as JSON numbers, and most programs lose digits beyond this.
const maxCount = Number.MAX_SAFE_INTEGER;
const maxCountDigits = String(maxCount).length;
const maxFractionDigits = 20;
// With signs, separators and currency; longer texts are not examined.
const maxTextLength = 64;

/** Already in the shortest form and unambiguous: the usual case, checked without copying. */
function isPlain(text: string, decimalMark: DecimalMark | null): boolean {
  const length = text.length;
  if (length === 0 || length > maxWholeDigits) return false;
  let pointAt = -1;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === point && pointAt === -1 && at > 0) pointAt = at;
    else if (code < zero || code > nine) return false;
  }
  const wholeLength = pointAt === -1 ? length : pointAt;
  if (wholeLength > 1 && text.charCodeAt(0) === zero) return false;
  if (pointAt === -1) return true;
  if (pointAt === length - 1 || text.charCodeAt(length - 1) === zero) return false;
  return decimalMark === '.' || length - pointAt !== 4 || wholeLength > 3 || text.charCodeAt(0) === zero;
}

/**
 * Reads digits in groups of three and a decimal part, as most exports write them, in one pass. Returns undefined for
 * every other form and for ambiguous numbers. A third of the figures of a Google export have this form, and the
 * thorough way takes ten times as long.
 */
function readSimple(text: string, decimalMark: DecimalMark | null): string | undefined {
  if (text === '') return undefined;
  const isZeroLed = text.charCodeAt(0) === zero;
  if (text.length > maxWholeDigits || (isZeroLed && !isMark(text.charCodeAt(1)))) return undefined;
  let group = 0;
  let from = 0;
  let whole = '';
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= zero && code <= nine) continue;
    const length = at - from;
    if (!isMark(code) || length === 0 || (group !== 0 && length !== 3)) return undefined;
    const isLast = code !== group && isDecimalAt(text, { at, isFirst: group === 0, decimalMark });
    if (isLast === null) return undefined;
    whole += text.slice(from, at);
    from = at + 1;
    if (isLast) return shortest({ isNegative: false, whole, fraction: text.slice(from) });
    if (length > 3 || (group !== 0 && code !== group)) return undefined;
    group = code;
  }
  return text.length - from === 3 || group === 0 ? whole + text.slice(from) : undefined;
}

interface MarkPlace {
  at: number;
  /** Whether no other mark comes before it. */
  isFirst: boolean;
  decimalMark: DecimalMark | null;
}

/** Whether the mark at a position is the decimal mark; null when this needs the thorough way. */
function isDecimalAt(text: string, { at, isFirst, decimalMark }: MarkPlace): boolean | null {
  const code = text.charCodeAt(at);
  if (code !== comma && code !== point) return false;
  for (let next = at + 1; next < text.length; next += 1) {
    const digit = text.charCodeAt(next);
    // Another mark follows, so this one separates thousands.
    if (digit < zero || digit > nine) return isMark(digit) ? false : null;
  }
  const rest = text.length - at - 1;
  if (rest === 0) return null;
  if (!isFirst || rest !== 3 || at > 3 || text.charCodeAt(0) === zero) return true;
  return decimalMark === null ? null : code === decimalMark.charCodeAt(0);
}

const isMark = (code: number) =>
  code === comma || code === point || code === 0x20 || code === 0xa0 || code === 0x202f || code === 0x27;

function readWritten(text: string, style: NumberStyle, isCount = false): string | null | NumberFault {
  if (isNullMark(text)) return null;
  if (text.length > maxTextLength) return faults.invalid;
  const tidied = tidy(text);
  if (/^[<>≤≥]/.test(tidied)) return faults.bound;
  if (exponent.test(tidied)) return style.exponents ? readExponent(tidied) : faults.damaged;
  const parts = splitNumber(tidied);
  if (parts === null) return faults.invalid;
  let role = roleOfLastMark(parts);
  if (role === 'none') return faults.invalid;
  if (role === 'either') {
    const last = parts.marks.at(-1);
    if (style.decimalMark === null && !isCount) return faults.ambiguous;
    role = style.decimalMark === last ? 'decimal' : 'group';
  }
  const { isNegative, segments } = parts;
  const fraction = role === 'decimal' ? (segments.at(-1) ?? '') : '';
  const whole = (role === 'decimal' ? segments.slice(0, -1) : segments).join('');
  return inRange(shortest({ isNegative, whole, fraction }));
}

/** Replaces other forms of digits, marks and signs by plain ones, and removes a currency sign. */
function tidy(text: string): string {
  const latin = withLatinDigits(text.normalize('NFKC'));
  const plain = signInFront(latin.replace('\u2212', '-').replaceAll('\u2019', "'").trim());
  const first = plain.charCodeAt(plain.startsWith('-') ? 1 : 0);
  const last = plain.charCodeAt(plain.length - 1);
  const isBare = first >= zero && first <= nine && last >= zero && last <= nine;
  return isBare ? plain : withoutCurrency(plain);
}

/** Bookkeepers write `(1,234.50)`, and some programs `1,234.50-`. */
function signInFront(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  if (last >= zero && last <= nine) return text;
  const [, before, inner, after] = inParentheses.exec(text) ?? [];
  if (inner !== undefined) return `-${before}${inner}${after}`;
  return text.replace(trailingSign, '-$1$2');
}

const inParentheses = /^(\D*)\(([^()+-]*\d[^()+-]*)\)(\D*)$/su;
const trailingSign = /^([^+-]*\d)\s*-([^\d+-]*)$/su;

interface NumberParts {
  isNegative: boolean;
  /** Digits between the marks; one more than there are marks. */
  segments: string[];
  marks: string[];
}

function splitNumber(text: string): NumberParts | null {
  const isNegative = text.startsWith('-');
  const segments: string[] = [];
  const marks: string[] = [];
  let from = isNegative || text.startsWith('+') ? 1 : 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= zero && code <= nine) continue;
    const mark = text[at] ?? '';
    if (!separators.includes(mark)) return null;
    segments.push(text.slice(from, at));
    marks.push(mark);
    from = at + 1;
  }
  segments.push(text.slice(from));
  return segments.at(-1) === '' || segments.length > 12 ? null : { isNegative, segments, marks };
}

const separators = [',', '.', ' ', "'"];

/** The role of the last mark, as far as the form of the number decides it. */
function roleOfLastMark({ segments, marks }: NumberParts): 'decimal' | 'group' | 'either' | 'none' {
  if (marks.length === 0) return 'group';
  const last = marks.at(-1) ?? '';
  const groupMarks = new Set(marks.slice(0, -1));
  const canBeDecimal = last === '.' || last === ',';
  if (marks.length === 1) {
    const [whole = '', rest = ''] = segments;
    const canBeGroup = rest.length === 3 && whole.length >= 1 && whole.length <= 3 && !whole.startsWith('0');
    if (canBeDecimal) return canBeGroup ? 'either' : 'decimal';
    return canBeGroup ? 'group' : 'none';
  }
  if (groupMarks.size !== 1) return 'none';
  if (groupMarks.has(last)) return areGroups(segments) ? 'group' : 'none';
  return canBeDecimal && areGroups(segments.slice(0, -1)) ? 'decimal' : 'none';
}

/** Groups of three, or in Indian English groups of two with a three at the end (`1,23,456`). */
function areGroups(segments: string[]): boolean {
  const [first = '', ...rest] = segments;
  if (first.length < 1 || first.length > 3 || rest.at(-1)?.length !== 3) return false;
  const inner = rest.slice(0, -1);
  return inner.every(({ length }) => length === 3) || inner.every(({ length }) => length === 2);
}

const exponent = /^[+-]?\d+(?:[.,]\d+)?e[+-]?\d{1,3}$/i;

function readExponent(text: string): string | NumberFault {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const places = Number.parseInt(power, 10);
  if (Math.abs(places) > 40) return faults.range;
  return inRange(shiftDecimal(mantissa.replace(/^\+/, ''), places));
}

function shortest({ isNegative, whole, fraction }: { isNegative: boolean; whole: string; fraction: string }) {
  let start = 0;
  while (start < whole.length - 1 && whole.charCodeAt(start) === zero) start += 1;
  let end = fraction.length;
  while (end > 0 && fraction.charCodeAt(end - 1) === zero) end -= 1;
  const digits = whole === '' ? '0' : whole.slice(start);
  const number = end === 0 ? digits : `${digits}.${fraction.slice(0, end)}`;
  return isNegative && number !== '0' ? `-${number}` : number;
}

function inRange(number: string): string | NumberFault {
  const [whole = '', fraction = ''] = number.replace('-', '').split('.');
  return whole.length > maxWholeDigits || fraction.length > maxFractionDigits ? faults.range : number;
}

const faults = {
  invalid: {
    code: 'invalid_number',
    message:
      'This is not a number. Use digits with at most one decimal mark, thousands separators and a currency sign, ' +
      'for example 1,234.56; leave the cell empty when there is no value.',
  },
  ambiguous: {
    code: 'ambiguous_number',
    message:
      'This can be a whole number with a thousands separator or a fraction, and nothing else in the file ' +
      'shows which. Write it without the separator, for example 1234 or 1.2340.',
  },
  bound: {
    code: 'only_a_bound',
    message: 'The platform gives only a limit here and no value; it is stored as "no value".',
  },
  notWhole: {
    code: 'not_a_whole_number',
    message: 'This is a count, so only whole numbers are allowed, for example 1234.',
  },
  negative: {
    code: 'negative_number',
    message: 'This is a count, so it cannot be negative. Correct the cell or leave it empty.',
  },
  range: {
    code: 'number_out_of_range',
    message: `At most ${maxWholeDigits} digits before and ${maxFractionDigits} after the decimal mark are allowed.`,
  },
  countRange: {
    code: 'number_out_of_range',
    message: `This is a count, so whole numbers from 0 to ${maxCount} are allowed. Correct the cell or leave it empty.`,
  },
  damaged: {
    code: 'number_damaged_by_spreadsheet',
    message:
      'A spreadsheet shortened this number to a power of ten, and digits are lost. Upload the file as the platform ' +
      'exported it, without opening and saving it.',
  },
} as const satisfies Record<string, NumberFault>;
