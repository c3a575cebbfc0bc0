import { exactNumber } from './exact-json.ts';

/** Fewer digits than this, and no exponent of three, are never too much for a double. */
const mayLoseDigits = /[\d.]{16}|[eE][+-]?\d{3}/;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const textOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * JSON as a program knows it, but for numbers that a double cannot hold, such as ids of 19 digits: these become texts,
 * with every digit that was written.
 */
export function parseExactly(json: string): unknown {
  return JSON.parse(mayLoseDigits.test(json) ? json.replace(textOrNumber, quotedIfLong) : json);
}

/** What only looks like a number stays as it is, for the parser to refuse. */
function quotedIfLong(token: string): string {
  return jsonNumber.test(token) && typeof exactNumber(token) !== 'number' ? `"${token}"` : token;
}
