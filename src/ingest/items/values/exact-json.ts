import { ExactNumber, type ExportValue, numberText } from './export-values.ts';

/**
 * Reads the members of a JSON object without losing what JSON.parse loses: digits beyond a double, the order of
 * keys that look like integers, and `__proto__`. Nested objects and arrays become their compact JSON text.
 * The text comes from PostgreSQL, which has checked it: this reader finds its way and does not validate.
 */
export function readExactMembers(json: string): Map<string, ExportValue> {
  const reader = new ExactReader(json);
  return reader.members();
}

/** A result that is not an object (a custom processor may answer anything), as one value. */
export function readExactValue(json: string): ExportValue {
  return new ExactReader(json).value();
}

/** A JSON number as a double if the double says the same, else as it was written. */
export function exactNumber(text: string): number | ExactNumber {
  const value = Number(text);
  if (numberText(value) === text) return value;
  return sameNumber(text, value) ? value : new ExactNumber(text);
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
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return `${sign}0`;
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

const space = /[ \t\r\n]*/y;
const stringToken = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const scalarToken = /[^ \t\r\n,\]}]+/y;

class ExactReader {
  readonly #json: string;
  #at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  members(): Map<string, ExportValue> {
    const members = new Map<string, ExportValue>();
    this.#skip('{');
    while (this.#peek() !== '}') {
      const key = JSON.parse(this.#token(stringToken)) as string;
      this.#skip(':');
      members.set(key, this.value());
      if (this.#peek() === ',') this.#skip(',');
    }
    return members;
  }

  value(): ExportValue {
    const first = this.#peek();
    if (first === '"') return JSON.parse(this.#token(stringToken)) as string;
    if (first === '{' || first === '[') return this.#compact();
    const token = this.#token(scalarToken);
    if (token === 'null') return null;
    if (token === 'true') return true;
    if (token === 'false') return false;
    return exactNumber(token);
  }

  /** The object or array at this place without the white space between its tokens. */
  #compact(): string {
    let text = '';
    let depth = 0;
    do {
      const first = this.#peek();
      if (first === '"') {
        text += this.#token(stringToken);
        continue;
      }
      if (first === '{' || first === '[') depth += 1;
      if (first === '}' || first === ']') depth -= 1;
      if (/[{}[\],:]/.test(first)) {
        text += first;
        this.#at += 1;
      } else {
        text += this.#token(scalarToken);
      }
    } while (depth > 0);
    return text;
  }

  #peek(): string {
    this.#token(space);
    const character = this.#json[this.#at];
    if (character === undefined) throw this.#broken();
    return character;
  }

  #skip(character: string): void {
    if (this.#peek() !== character) throw this.#broken();
    this.#at += 1;
  }

  #token(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#json);
    if (match === null) throw this.#broken();
    this.#at = pattern.lastIndex;
    return match[0];
  }

  #broken(): SyntaxError {
    return new SyntaxError(`Result is not JSON at character ${this.#at} of ${this.#json.length}`);
  }
}
