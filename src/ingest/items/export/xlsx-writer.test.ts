import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ReadCell,
  readWithPython,
  readWorkbook,
  unzip,
} from '../../../../test/support/probes/xlsx-reader.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { ExactNumber, type ExactValue } from '../../../lib/rows/exact-json.ts';
import { columnLetters } from '../../../lib/rows/xlsx/cells.ts';
import type { TableRow } from '../../../lib/tables/types.ts';
import { writeXlsx, type XlsxOptions } from './xlsx-writer.ts';

const naughty = [
  '',
  ' ',
  ' both ends ',
  'a,b;c\td',
  'two\nlines',
  'cr\rlf\r\nend\r',
  '"quoted" and \'single\'',
  '<b>&amp; ]]> <![CDATA[x]]>',
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  "'=1",
  '\t=1',
  '0005',
  '1e5',
  'true',
  'null',
  '#N/A',
  '_x0041_',
  '_x005F_x0041_',
  '_x0041\u0001',
  '__x0041__',
  '\u0000\u0001\u0008\u000b\u000c\u001f\u007f\u0085',
  'lone \ud800 half \udc00',
  'pair 😀 𝒳',
  '\ufffe\uffff\ufeff\u2028',
  'ﺏ العربية עברית 中文 e\u0301',
  '__proto__',
  'constructor',
  'x'.repeat(32_767),
];

async function write(rows: readonly TableRow[], options: Partial<XlsxOptions> = {}): Promise<Buffer> {
  const header = options.header ?? (rows[0] ?? []).map((_, index) => `c${index}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of writeXlsx([rows], { ...options, header })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function readByPython(file: Buffer) {
  const directory = await mkdtemp(path.join(tmpdir(), 'sluice-xlsx-'));
  try {
    const target = path.join(directory, 'book.xlsx');
    await writeFile(target, file);
    return readWithPython(target);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The cell that a value has to become. */
function cellOf(value: ExactValue): ReadCell {
  if (value === null) return null;
  if (typeof value === 'boolean') return { type: 'boolean', value: value ? '1' : '0' };
  if (typeof value === 'string') return { type: 'text', value };
  if (typeof value !== 'number') return { type: 'text', value: value.text };
  const text = Object.is(value, -0) ? '-0' : String(value);
  return { type: /^-?\d{15}\d*[1-9]/.test(text) ? 'text' : 'number', value: text };
}

/** Trailing nulls leave no cell behind. */
function cellsOf(row: TableRow): ReadCell[] {
  const cells = row.map(cellOf);
  while (cells.length > 0 && cells.at(-1) === null) cells.pop();
  return cells;
}

describe('what goes in comes out identical', () => {
  const header = ['__proto__', 'constructor', '=cmd()', 'naïve <&> "name"', '', 'plain'];
  const rows = naughty.map((text): TableRow => [text, null, text, 1.5, text, null]);

  test('naughty strings in cells and headers, read by our own reader', async () => {
    const [sheet] = readWorkbook(await write(rows, { header }));
    expect(sheet).toEqual([header, ...rows].map(cellsOf));
  });

  test('naughty strings in cells and headers, on several sheets, read by Python if it is installed', async () => {
    const file = await write(rows, { header, rowsPerSheet: 12, chunkCharacters: 500 });
    const sheets = (await readByPython(file)) ?? readWorkbook(file);
    expect(sheets).toHaveLength(3);
    const read = sheets.flatMap(([first, ...others]) => {
      expect(first).toEqual(cellsOf(header));
      return others;
    });
    expect(read).toEqual(rows.map(cellsOf));
  });

  test('any rows of any values', async () => {
    const values: fc.Arbitrary<ExactValue> = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({
        unit: fc.constantFrom('_', 'x', '0', 'A', '\r', '\n', '\u0001', '\ud800', '\udc00', '&', '='),
      }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.maxSafeInteger(),
      fc.bigInt({ min: 10n ** 18n, max: 10n ** 19n }).map((id) => new ExactNumber(String(id))),
    );
    const tables = fc
      .integer({ min: 1, max: 5 })
      .chain((width) =>
        fc.array(fc.array(values, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 }),
      );
    await fc.assert(
      fc.asyncProperty(tables, fc.integer({ min: 1, max: 500 }), async (table, chunkCharacters) => {
        const [sheet] = readWorkbook(await write(table, { chunkCharacters }));
        expect(sheet?.slice(1)).toEqual(table.map(cellsOf));
      }),
      { numRuns: 100 },
    );
  });
});

describe('cells', () => {
  test('a number is a number only where a spreadsheet keeps all of its digits', async () => {
    const row = [
      0.1,
      -3,
      123456789012345,
      1234567890123456,
      new ExactNumber('1234567890123456789'),
      1e300,
      '19',
    ];
    const [sheet] = readWorkbook(await write([row]));
    expect(sheet?.[1]?.map((cell) => cell?.type)).toEqual([
      'number',
      'number',
      'number',
      'text',
      'text',
      'number',
      'text',
    ]);
    expect(sheet?.[1]?.map((cell) => cell?.value)).toEqual([
      '0.1',
      '-3',
      '123456789012345',
      '1234567890123456',
      '1234567890123456789',
      '1e+300',
      '19',
    ]);
  });

  test('text that looks like a formula is a text cell that stays one when it is edited, and no formula', async () => {
    const parts = unzip(await write([['=1+1', 'plain']]));
    const xml = parts.get('xl/worksheets/sheet1.xml');
    expect(xml).toContain('<c r="A2" s="2" t="inlineStr"><is><t>=1+1</t></is></c>');
    expect(xml).not.toContain('<f>');
    expect(parts.get('xl/styles.xml')).toContain('quotePrefix="1"');
  });

  test('the header is bold and stays in sight', async () => {
    const xml = unzip(await write([['a']], { header: ['sku'] })).get('xl/worksheets/sheet1.xml');
    expect(xml).toContain('<c r="A1" s="1" t="inlineStr"><is><t>sku</t></is></c>');
    expect(xml).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
  });

  test('a text of 32,768 characters ends the export with an error that names row and column', async () => {
    const rows: TableRow[] = [['short'], ['x'.repeat(32_768)]];
    const error: unknown = await write(rows, { header: ['notes'] }).catch((thrown: unknown) => thrown);
    expect(isSluiceError(error) && error.code).toBe('export_cell_too_long');
    expect(isSluiceError(error) && error.message).toContain('Row 2 has 32768 characters in column "notes"');
  });
});

describe('limits', () => {
  test('more columns than a sheet holds are refused before anything is written', async () => {
    const header = Array.from({ length: 16_385 }, (_, index) => `c${index}`);
    await expect(write([], { header })).rejects.toThrow(
      '16385 columns; a sheet of an XLSX file holds at most 16384',
    );
  });

  test('columns are lettered up to XFD', () => {
    expect([0, 25, 26, 701, 702, 16_383].map(columnLetters)).toEqual(['A', 'Z', 'AA', 'ZZ', 'AAA', 'XFD']);
  });

  test('no rows make a workbook with a header', async () => {
    const sheets = readWorkbook(await write([], { header: ['a', 'b'] }));
    expect(sheets).toEqual([[cellsOf(['a', 'b'])]]);
  });

  test('archives beyond 4 GiB use ZIP64 records that other readers understand', async () => {
    const rows = Array.from({ length: 500 }, (_, index): TableRow => [index, `row ${index}`]);
    const file = await write(rows, { zip: { zip64From: 100 } });
    const locator = file.lastIndexOf(Buffer.from('PK\x06\x07', 'latin1'));
    const record = Number(file.readBigUInt64LE(locator + 8));
    expect(file.toString('latin1', record, record + 4)).toBe('PK\x06\x06');
    const sheets = await readByPython(file);
    if (sheets !== null) expect(sheets[0]?.slice(1)).toEqual(rows.map(cellsOf));
  });

  test('a reader that gives up half-way ends the source', async () => {
    let isClosed = false;
    function* batches() {
      try {
        for (let count = 0; ; count += 1)
          yield Array.from({ length: 1_000 }, (_, index) => [count * 1_000 + index]);
      } finally {
        isClosed = true;
      }
    }
    let sizeBytes = 0;
    for await (const chunk of writeXlsx(batches(), { header: ['n'] })) {
      sizeBytes += chunk.length;
      if (sizeBytes > 300_000) break;
    }
    expect(isClosed).toBe(true);
  });

  test('a source that fails fails the export', async () => {
    async function* batches(): AsyncGenerator<TableRow[]> {
      yield [['first']];
      throw new Error('the database went away');
    }
    const reading = (async () => {
      for await (const _ of writeXlsx(batches(), { header: ['a'] }));
    })();
    await expect(reading).rejects.toThrow('the database went away');
  });
});
