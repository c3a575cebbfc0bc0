import { type ExactValue, numberText } from '../../../lib/rows/exact-json.ts';
import { columnLetters } from '../../../lib/rows/xlsx/cells.ts';
import type { TableRow } from '../../../lib/tables/types.ts';
import { exportErrors } from './errors.ts';
import { cellStyles } from './xlsx-parts.ts';

/** Excel's own limit, counted as it counts: in UTF-16 units. */
const cellCharactersMax = 32_767;

export interface RowWriter {
  headerRow(): string;
  /** `sheetRow` is the row's number on its sheet, `rowNumber` its number in the export. */
  row(values: TableRow, place: { sheetRow: number; rowNumber: number }): string;
}

/**
 * Cells are typed: text stays text (inline strings: nothing has to be remembered, so memory stays flat), and a number
 * is a number only where a spreadsheet keeps all of it. Null is no cell; the empty text is a cell.
 */
export function createRowWriter(header: readonly string[]): RowWriter {
  const letters = header.map((_, index) => columnLetters(index));
  const fitting = (text: string, rowNumber: number, column: number): string => {
    if (text.length <= cellCharactersMax) return text;
    throw tooLong(text, { rowNumber, column: (header[column] ?? '').slice(0, 100) });
  };
  return {
    headerRow() {
      const cells = header.map((name, column) =>
        textCell(`${letters[column]}1`, fitting(name, 0, column), cellStyles.header),
      );
      return `<row r="1">${cells.join('')}</row>`;
    },
    row(values, { sheetRow, rowNumber }) {
      let xml = `<row r="${sheetRow}">`;
      for (let column = 0; column < letters.length; column += 1) {
        const value = values[column] ?? null;
        if (value === null) continue;
        const reference = `${letters[column]}${sheetRow}`;
        xml +=
          typeof value === 'string'
            ? stringCell(reference, fitting(value, rowNumber, column))
            : otherCell(reference, value);
      }
      return `${xml}</row>`;
    },
  };
}

/** `rowNumber`: the row of the export, from 1; 0 is the header. */
function tooLong(text: string, { rowNumber, column }: { rowNumber: number; column: string }): Error {
  const where = rowNumber === 0 ? 'The header' : `Row ${rowNumber}`;
  return exportErrors.raise.export_cell_too_long(
    `${where} has ${text.length} characters in column ${JSON.stringify(column)}; a cell of an XLSX file holds at ` +
      `most ${cellCharactersMax}`,
    { details: { row: rowNumber, column, characters: text.length, max: cellCharactersMax } },
  );
}

function stringCell(reference: string, text: string): string {
  return formulaLike.test(text)
    ? textCell(reference, text, cellStyles.quotedText)
    : `<c r="${reference}" t="inlineStr"><is>${textElement(text)}</is></c>`;
}

function textCell(reference: string, text: string, style: number): string {
  return `<c r="${reference}" s="${style}" t="inlineStr"><is>${textElement(text)}</is></c>`;
}

function otherCell(reference: string, value: Exclude<ExactValue, string | null>): string {
  if (typeof value === 'boolean') return `<c r="${reference}" t="b"><v>${value ? 1 : 0}</v></c>`;
  if (typeof value !== 'number') return stringCell(reference, value.text);
  const text = numberText(value);
  if (Math.abs(value) < longFrom) return `<c r="${reference}"><v>${text}</v></c>`;
  if (losesDigits(text)) return stringCell(reference, text);
  const style = /^-?\d{12,15}$/.test(text) ? ` s="${cellStyles.longInteger}"` : '';
  return `<c r="${reference}"${style}><v>${text}</v></c>`;
}

/** From 12 digits on the general format shows 1.23E+11. */
const longFrom = 1e11;

/** A spreadsheet shows and keeps 15 digits. In a fraction the 16th is noise; in a whole number it tells ids apart. */
function losesDigits(text: string): boolean {
  return !Number.isFinite(Number(text)) || /^-?\d{15}\d*[1-9]/.test(text);
}

const formulaLike = /^[=+\-@]/;

/** XML parsers keep white space, but Excel trims it at the ends unless told otherwise. */
const spacedText = /^\s|\s$|[\n\t]/;

function textElement(text: string): string {
  const escaped = needsEscape.test(text) ? escapeText(text) : text;
  return spacedText.test(text) ? `<t xml:space="preserve">${escaped}</t>` : `<t>${escaped}</t>`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML cannot hold.
const needsEscape = /[&<>\u0000-\u0008\u000b-\u001f\ud800-\udfff\ufffe\uffff]|_x/;

/** Not allowed in XML 1.0 even as references: other control characters, lone surrogates, U+FFFE, U+FFFF. */
const unspeakable = '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ud800-\\udfff\\ufffe\\uffff]';

/**
 * What XML cannot hold is written as `_xHHHH_` (ST_Xstring of ECMA-376). Text that would be read as such an escape,
 * also together with one that follows it, has its underscore escaped. The pattern works on code points (flag u), so it
 * matches lone surrogates but never whole pairs.
 */
const escapable = new RegExp(`[&<>\\r]|${unspeakable}|_(?=x[0-9A-Fa-f]{4}(?:_|${unspeakable}))`, 'gu');

function escapeText(text: string): string {
  return text.replace(escapable, (character) => {
    if (character === '&') return '&amp;';
    if (character === '<') return '&lt;';
    if (character === '>') return '&gt;';
    // A bare CR would be read as LF; as a reference every XML parser gives it back.
    if (character === '\r') return '&#13;';
    return `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
  });
}
