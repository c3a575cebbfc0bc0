import type { ParsedRow } from './types.ts';

/**
 * The members of an object as they are written: the key decoded, the value as its JSON text, so that long numbers
 * keep every digit. The text must be valid JSON of an object.
 */
export function* jsonMembers(text: string): Generator<{ key: string; valueText: string }> {
  let at = text.indexOf('{') + 1;
  for (;;) {
    const keyStart = text.indexOf('"', at);
    if (keyStart === -1) return;
    const keyEnd = stringEnd(text, keyStart);
    const valueStart = text.indexOf(':', keyEnd) + 1;
    const valueEnd = endOfValue(text, valueStart);
    const key: unknown = JSON.parse(text.slice(keyStart, keyEnd));
    yield { key: String(key), valueText: text.slice(valueStart, valueEnd).trim() };
    if (text[valueEnd] !== ',') return;
    at = valueEnd + 1;
  }
}

const maxColumns = 5_000;

/** Adds the columns of rows that each name their own, in the order in which they appear. */
export function collectColumns(columns: Set<string>, rows: readonly ParsedRow[]): void {
  if (columns.size >= maxColumns) return;
  for (const { inputJson } of rows) for (const { key } of jsonMembers(inputJson)) columns.add(key);
}

/** The text without its strings: brackets, numbers and words. */
export function outsideStrings(text: string): string {
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf('"', at);
    if (start === -1) break;
    parts.push(text.slice(at, start));
    at = stringEnd(text, start);
  }
  parts.push(text.slice(at));
  return parts.join('');
}

/** Just after the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Where the value that begins at `start` ends: at a comma or bracket. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const character = text[at];
    if (character === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth === 0) return at;
      depth -= 1;
    } else if (character === ',' && depth === 0) return at;
    at += 1;
  }
  return at;
}
