import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { guardFormula, unguardFormula } from '../formats/csv-cells.ts';
import { ExactNumber, type ExactValue } from '../rows/exact-json.ts';
import { type CsvOptions, writeCsv } from './csv-writer.ts';
import type { TableRow } from './types.ts';

async function write(rows: readonly TableRow[], options: CsvOptions): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of writeCsv([rows], options)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Reads with csv-parse; an empty field without quotes is null, one with quotes is the empty text. */
function read(text: string): (string | null)[][] {
  return parse(text, {
    bom: true,
    record_delimiter: '\r\n',
    cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
  }) as (string | null)[][];
}

function textOf(value: ExactValue): string | null {
  if (value === null) return null;
  if (typeof value === 'string') return guardFormula(value);
  if (value instanceof ExactNumber) return value.text;
  return Object.is(value, -0) ? '-0' : String(value);
}

describe('what goes in comes out identical', () => {
  test('any rows of any values, through another parser and back through unguardFormula', async () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.string({ unit: fc.constantFrom("'", '"', ',', ';', '\r', '\n', '\t', '=', '＝', 'a', ' ') }),
    );
    const values: fc.Arbitrary<ExactValue> = fc.oneof(
      texts,
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.bigInt({ min: 10n ** 18n, max: 10n ** 19n }).map((id) => new ExactNumber(String(id))),
    );
    const rows = fc
      .integer({ min: 2, max: 5 })
      .chain((width) =>
        fc.array(fc.array(values, { minLength: width, maxLength: width }), { maxLength: 20 }),
      );
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 300 }), async (table, chunkCharacters) => {
        const header = (table[0] ?? [1, 2]).map((_, index) => `c${index}`);
        const [, ...lines] = read(await write(table, { header, chunkCharacters }));
        expect(lines).toEqual(table.map((row) => row.map(textOf)));
        const firstTexts = table.map(([value]) => (typeof value === 'string' ? value : null));
        const readBack = lines.map(([text], index) =>
          typeof table[index]?.[0] === 'string' ? unguardFormula(text ?? '') : null,
        );
        expect(readBack).toEqual(firstTexts);
      }),
      { numRuns: 300 },
    );
  });

  test('columns named __proto__ and constructor, quotes, newlines, CR and unicode', async () => {
    const header = ['__proto__', 'constructor', 'a "quoted", name'];
    const rows = [
      ['two\r\nlines', 'lone\rcr', 'say "hi"'],
      ['😀', 'ﺏ', 'e\u0301'],
      ['', null, ' spaced '],
    ];
    expect(read(await write(rows, { header }))).toEqual([header, ...rows]);
  });
});

test('lines end with CRLF, null is nothing, the empty text is a pair of quotes', async () => {
  const text = await write([[1, '', null, true, 'a,b']], { header: ['n', 'e', 'z', 't', 'c'] });
  expect(text).toBe('n,e,z,t,c\r\n1,"",,true,"a,b"\r\n');
});

test('a row of one null is not an empty line, which readers would skip', async () => {
  expect(await write([[null], ['x']], { header: ['only'] })).toBe('only\r\n""\r\nx\r\n');
});

test('digits of a 19-digit number are kept', async () => {
  expect(await write([[new ExactNumber('1234567890123456789')]], { header: ['id'] })).toContain(
    '\r\n1234567890123456789',
  );
});

describe('formulas', () => {
  test.each(['=1', '+1', '-1', '@a', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠a', "'=1"])(
    'text %j gets an apostrophe, also as a header',
    async (text) => {
      const [header, row] = read(await write([[text, 'x']], { header: [text, 'h'] }));
      expect(row).toEqual([`'${text}`, 'x']);
      expect(header).toEqual([`'${text}`, 'h']);
    },
  );

  test('numbers keep their sign', async () => {
    expect(await write([[-1, new ExactNumber('-12345678901234567890')]], { header: ['a', 'b'] })).toBe(
      'a,b\r\n-1,-12345678901234567890\r\n',
    );
  });

  test('no two texts come out alike', () => {
    const text = fc.string({ unit: fc.constantFrom("'", '=', '-', 'a') });
    fc.assert(fc.property(text, (value) => unguardFormula(guardFormula(value)) === value));
  });
});
