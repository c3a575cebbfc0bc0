import fc from 'fast-check';
import { naughtyNames, naughtyStrings } from './naughty-strings.ts';

/** A document of rows as bytes, and the rows that a reader must return. */
export interface RowDocument {
  bytes: Buffer;
  /** As text, for comparison by another parser. */
  text: string;
  delimiter: string | null;
  /** Each row as its members in order; values of JSON documents as their JSON text. */
  rows: [name: string, value: string][][];
}

// U+0000 is refused by the readers, and fast-check's unit 'binary' never makes half a surrogate pair.
const anyText = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\0', ''));
const cell = fc.oneof(fc.constantFrom(...naughtyStrings), anyText, fc.string({ maxLength: 8 }));
const name = fc.oneof(fc.constantFrom(...naughtyNames), anyText).filter((text) => text.trim() !== '');
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 5 });
const encoding = fc.constantFrom('utf-8', 'utf-8 with bom', 'utf-16le', 'utf-16be' as const);

export const delimitedDocument: fc.Arbitrary<RowDocument> = fc
  .record({
    names,
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
    endsWithBreak: fc.boolean(),
    quotesAll: fc.boolean(),
    encoding,
    seedRows: fc.array(fc.array(cell, { minLength: 5, maxLength: 5 }), { minLength: 1, maxLength: 6 }),
  })
  .map(({ names, delimiter, lineBreak, endsWithBreak, quotesAll, encoding, seedRows }) => {
    const rows = seedRows.map((row) => row.slice(0, names.length));
    const write = (cells: string[]) =>
      cells.map((one) => writeCell(one, { quotesAll, cells })).join(delimiter);
    const text = [names, ...rows].map(write).join(lineBreak) + (endsWithBreak ? lineBreak : '');
    const members = rows.map((row) => names.map((name, at): [string, string] => [name, row[at] ?? '']));
    return { text, bytes: encode(text, encoding), delimiter, rows: members };
  });

const needsQuotes = /[",;|\t\r\n]/;

/** A row of one empty cell must be quoted, or it would be a blank line; so must a mark at the start of a file. */
function writeCell(cell: string, { quotesAll, cells }: { quotesAll: boolean; cells: string[] }): string {
  const isWholeRow = cells.length === 1 && cell === '';
  const mustQuote = quotesAll || isWholeRow || needsQuotes.test(cell) || /^[\ufeff[{<\s]/.test(cell);
  return mustQuote ? `"${cell.replaceAll('"', '""')}"` : cell;
}

const blank = fc.constantFrom('', ' ', '\n', '\r\n', '\t', '  \n ');
const numberText = fc.constantFrom(
  '0',
  '-0',
  '1.50',
  '9007199254740993',
  '1234567890123456789',
  '1E5',
  '1e-7',
);
const jsonText = (depth: number): fc.Arbitrary<string> =>
  depth === 0
    ? fc.oneof(numberText, fc.constantFrom('true', 'false', 'null'), cell.map(writeString))
    : fc.oneof(
        { weight: 3, arbitrary: jsonText(0) },
        fc.array(jsonText(depth - 1), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
        fc
          .tuple(names, fc.array(jsonText(depth - 1), { minLength: 5, maxLength: 5 }))
          .map(
            ([keys, values]) =>
              `{${keys.map((key, at) => `${JSON.stringify(key)} :${values[at]}`).join(',')}}`,
          ),
      );

/** Writes half of the non-ASCII characters as escapes, which a reader must keep. */
function writeString(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const json = JSON.stringify(text);
  return text.length % 2 === 0 ? json : json.replace(/[\u0080-\uffff]/g, escaped);
}

function jsonDocument(isArray: boolean): fc.Arbitrary<RowDocument> {
  const row = fc.tuple(names, fc.array(jsonText(2), { minLength: 5, maxLength: 5 }), blank);
  return fc
    .record({ rows: fc.array(row, { minLength: 1, maxLength: 6 }), encoding, around: blank })
    .map(({ rows, encoding, around }) => {
      const members = rows.map(([keys, values]) =>
        keys.map((key, at): [string, string] => [key, values[at] ?? '']),
      );
      const texts = members.map((row, at) => {
        const gap = isArray ? (rows[at]?.[2] ?? '') : '';
        return `{${gap}${row.map(([key, value]) => `${JSON.stringify(key)}:${gap}${value}`).join(',')}${gap}}`;
      });
      const text = isArray ? `${around}[${texts.join(`${around},`)}${around}]${around}` : texts.join('\n');
      return { text, bytes: encode(text, encoding), delimiter: null, rows: members };
    });
}

export const jsonArrayDocument: fc.Arbitrary<RowDocument> = jsonDocument(true);
export const jsonLinesDocument: fc.Arbitrary<RowDocument> = jsonDocument(false);

export function encode(text: string, encoding: string): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(`\ufeff${text}`, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(`\ufeff${text}`, 'utf16le').swap16();
  return Buffer.from(encoding === 'utf-8' ? text : `\ufeff${text}`);
}
