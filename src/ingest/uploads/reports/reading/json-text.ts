import type { SluiceError } from '../../../../lib/errors.ts';
import { messageOf } from '../../../../lib/errors.ts';
import { reportErrors } from '../errors.ts';

const quote = 34;
const backslash = 92;
const comma = 44;
const colon = 58;
const openArray = 91;
const openObject = 123;

/** The kind of value that begins with this character. The words complete "Record 3 is …". */
export function kindOfValue(first: string): string {
  if (first === '[') return 'an array';
  return first === '"' ? 'a string' : 'a number, true, false or null';
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** The end of the string that begins at `start`; -1 when it does not end in this text. */
export function stringEnd(text: string, start: number): number {
  let from = start + 1;
  for (;;) {
    const close = text.indexOf('"', from);
    if (close === -1) return -1;
    let escapes = 0;
    while (text.charCodeAt(close - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return close + 1;
    from = close + 1;
  }
}

/**
 * The end of the value that begins at `start`; -1 when it does not end in this text. Looks only at brackets and
 * strings; JSON.parse decides whether the value is valid.
 */
export function valueEnd(text: string, start: number, maxDepth: number, words = 'A record'): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at) - 1;
      if (at < 0) return -1;
      if (depth === 0) return at + 1;
    } else if (code === 123 || code === 91) {
      depth += 1;
      if (depth > maxDepth) throw tooDeep(maxDepth, words);
    } else if (code === 125 || code === 93) {
      if (depth <= 1) return depth === 1 ? at + 1 : at;
      depth -= 1;
    } else if (depth === 0 && (code === 44 || code === 58 || isSpace(code))) return at;
  }
  return -1;
}

export type RecordEnd =
  | { kind: 'unfinished' }
  | { kind: 'whole'; at: number }
  | { kind: 'broken' | 'deep'; at: number };

/**
 * The end of the object that begins at `start`, in a file with one object per line. Unlike `valueEnd` it notices a
 * cut-off object early, before it has read all others: no string contains a line break, and a line begins with an
 * object only where a value may be.
 */
export function recordEnd(text: string, start: number, maxDepth: number): RecordEnd {
  const open: number[] = [];
  let feed = text.indexOf('\n', start);
  let last = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) continue;
    const isNewLine = feed !== -1 && feed < at;
    if (isNewLine) feed = text.indexOf('\n', at);
    if (code === quote) {
      const end = stringEnd(text, at);
      if (feed !== -1 && (end === -1 || end > feed)) return { kind: 'broken', at: feed };
      if (end === -1) return { kind: 'unfinished' };
      at = end - 1;
    } else if (code === openObject || code === openArray) {
      if (isNewLine && code === openObject && !mayPrecede(last, open)) return { kind: 'broken', at };
      open.push(code);
      if (open.length > maxDepth) return { kind: 'deep', at };
    } else if (code === 125 || code === 93) {
      open.pop();
      if (open.length === 0) return { kind: 'whole', at: at + 1 };
    }
    last = code;
  }
  return { kind: 'unfinished' };
}

/** Whether an object may come after a colon, an opening bracket, or the comma of an array. */
function mayPrecede(last: number, open: readonly number[]): boolean {
  return last === colon || last === openArray || (last === comma && open.at(-1) === openArray);
}

/** The value of a string. The text between the quotes usually has no escapes. */
export function stringValue(text: string, from: number, to: number): string {
  const inside = text.slice(from + 1, to - 1);
  return inside.includes('\\') ? String(JSON.parse(text.slice(from, to))) : inside;
}

/** Throws when the text is not JSON. The place is computed only then, because that takes counting. */
export function parseValue(text: string, place: () => { words: string; byteOffset: number }): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const { words, byteOffset } = place();
    throw reportErrors.raise.report_json_malformed(
      `${words}, which begins at byte ${byteOffset} of the report, is not valid JSON: ` +
        `${messageOf(cause).slice(0, 200)}.`,
      { details: { byte_offset: byteOffset }, cause },
    );
  }
}

export function tooDeep(maxDepth: number, words: string): SluiceError {
  return reportErrors.raise.report_json_too_deep(
    `${words} of the report has more than ${maxDepth} levels of objects and arrays, the most allowed.`,
    { details: { max_depth: maxDepth } },
  );
}
