import { dateText } from './serial-dates.ts';
import type { NumberKind } from './styles.ts';

/** Excel's own limits. */
export const mostSheetRows = 1_048_576;
export const mostSheetColumns = 16_384;

/** The position, from 0, of the column in a reference such as `AB12`; null when it is invalid. */
export function columnOf(cellName: string): number | null {
  let column = 0;
  let at = 0;
  for (; at < 4; at += 1) {
    const letter = cellName.charCodeAt(at) - 64;
    if (!(letter >= 1 && letter <= 26)) break;
    column = column * 26 + letter;
  }
  return at === 0 || column > mostSheetColumns ? null : column - 1;
}

/** A, B, … Z, AA, … XFD. */
export function columnLetters(index: number): string {
  const rest = index % 26;
  const letter = String.fromCharCode(65 + rest);
  return index < 26 ? letter : columnLetters((index - rest) / 26 - 1) + letter;
}

/** A cell as the sheet has it. */
export interface RawCell {
  type: string;
  /** The text of its value, with shared text in place of its number; null when it has none. */
  text: string | null;
  kind: NumberKind;
}

/**
 * `json`: what is stored for a cell. `problem`: why it cannot be stored. Null: the cell is empty.
 * An error such as #N/A is an explicit null, or its text, but never an empty cell.
 */
export type CellValue =
  | { json: string }
  | { problem: 'number' | 'range' | 'nul' | 'surrogate' | 'type' }
  | null;

export interface CellRules {
  is1904: boolean;
  errorCells: 'null' | 'text';
}

export function cellValueOf({ type, text, kind }: RawCell, { is1904, errorCells }: CellRules): CellValue {
  if (text === null) return type === 'e' ? { json: 'null' } : null;
  switch (type) {
    case 'n':
      return numberValue(text.trim(), { kind, is1904 });
    case 's':
    case 'str':
    case 'inlineStr':
      return textValue(unescapeText(text));
    case 'b':
      return booleanValue(text.trim());
    case 'e':
      return errorCells === 'text' && text !== '' ? textValue(text) : { json: 'null' };
    case 'd':
      return textValue(text.trim());
    default:
      return { problem: 'type' };
  }
}

const wholeNumber = /^-?(?:0|[1-9]\d{0,14})$/;
const anyNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?$/;
/** A spreadsheet keeps 15 digits. A longer number is an id, in which each digit counts. */
const longInteger = /^-?[1-9]\d{14}\d*[1-9]\d*$/;
const longestNumber = 400;

function numberValue(text: string, { kind, is1904 }: { kind: NumberKind; is1904: boolean }): CellValue {
  if (text === '') return null;
  if (text.length > longestNumber) return { problem: 'range' };
  if (kind === 'number' && wholeNumber.test(text)) return { json: text === '-0' ? '0' : text };
  if (!anyNumber.test(text)) return { problem: 'number' };
  const value = Number(text);
  if (!Number.isFinite(value)) return { problem: 'range' };
  if (kind !== 'number') {
    const date = dateText(value, { kind, is1904 });
    if (date !== null) return { json: `"${date}"` };
  }
  if (longInteger.test(text) && text.replace('-', '').length > 15) return { json: `"${text}"` };
  // 0.1 + 0.2 is kept as 0.30000000000000004 and shown as 0.3, in every spreadsheet.
  return { json: String(Number(value.toPrecision(15))) };
}

function booleanValue(text: string): CellValue {
  if (text === '1' || text === 'true') return { json: 'true' };
  return text === '0' || text === 'false' ? { json: 'false' } : { problem: 'type' };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that JSON must escape.
const mustEscape = /["\\\u0000-\u001f]/;

function textValue(text: string): CellValue {
  if (text.includes('\0')) return { problem: 'nul' };
  if (loneSurrogate.test(text)) return { problem: 'surrogate' };
  return { json: mustEscape.test(text) ? JSON.stringify(text) : `"${text}"` };
}

/** With the flag u, whole pairs are one character and do not match. */
const loneSurrogate = /\p{Surrogate}/u;

/** Characters that XML cannot hold are written as `_xHHHH_` (ST_Xstring of ECMA-376). */
function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
