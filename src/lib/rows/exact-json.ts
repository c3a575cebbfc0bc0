import { withoutZerosBehind } from '../numbers.ts';
import { jsonMembers } from './json-members.ts';

/** A JSON scalar, a number that a double cannot hold, or the compact JSON text of an object or array. */
export type ExactValue = string | number | boolean | null | ExactNumber;

/** A JSON number kept as it was written: a 19-digit id must not come out with its last digits changed. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Reads the members of a JSON object without losing what JSON.parse loses: digits beyond a double, the order of
 * keys that look like integers, and `__proto__`. The text comes from PostgreSQL, which has checked it.
 */
export function readExactMembers(json: string): Map<string, ExactValue> {
  const members = new Map<string, ExactValue>();
  for (const { key, valueText } of jsonMembers(json)) members.set(key, readExactValue(valueText));
  return members;
}

export function readExactValue(json: string): ExactValue {
  const text = json.trim();
  if (text.startsWith('{') || text.startsWith('[')) return compact(text);
  if (/^["ntf]/.test(text)) return JSON.parse(text) as string | boolean | null;
  return exactNumber(text);
}

/** A JSON number as a double if the double says the same, else as it was written. */
export function exactNumber(text: string): number | ExactNumber {
  const value = Number(text);
  if (numberText(value) === text) return value;
  return sameNumber(text, value) ? value : new ExactNumber(text);
}

/** The JSON text of a number. Unlike String(), it keeps the sign of zero. */
export function numberText(value: number): string {
  return value === 0 && 1 / value < 0 ? '-0' : String(value);
}

/**
 * JSON as a program knows it, but for numbers that a double cannot hold, such as ids of 19 digits: these become texts,
 * with every digit that was written.
 */
export function parseExactly(json: string): unknown {
  // First as it is: in a text that is no JSON, the pattern would look for the end of a string from each of its quotes.
  const value = JSON.parse(json) as unknown;
  return mayLoseDigits.test(json) ? JSON.parse(json.replace(textOrNumber, quotedIfLong)) : value;
}

/** A double holds any number with fewer digits than this and no exponent of three digits. */
const mayLoseDigits = /[\d.]{16}|[eE][+-]?\d{3}/;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const textOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** What only looks like a number stays as it is, for the parser to refuse. */
function quotedIfLong(token: string): string {
  return jsonNumber.test(token) && typeof exactNumber(token) !== 'number' ? `"${token}"` : token;
}

const textOrSpace = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g;

function compact(json: string): string {
  return json.replace(textOrSpace, (token) => (token.startsWith('"') ? token : ''));
}

function sameNumber(text: string, value: number): boolean {
  return Number.isFinite(value) && normalForm(text) === normalForm(numberText(value));
}

/** Sign, digits without zeros at either end, and exponent: equal for 1.50, 15e-1 and 1.5. */
function normalForm(text: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = withoutZerosBehind(digits);
  if (significant === '') return `${sign}0`;
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
