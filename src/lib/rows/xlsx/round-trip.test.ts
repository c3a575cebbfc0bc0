import { expect, test } from 'vitest';
import { seededRandom } from '../../../../test/chaos/seeded-random.ts';
import { naughtyNames, naughtyStrings } from '../../../../test/generators/naughty-strings.ts';
import { readRows } from '../../../../test/generators/read-rows.ts';
import { writeXlsx } from '../../../ingest/items/export/xlsx-writer.ts';
import type { TableRow } from '../../tables/types.ts';
import { ExactNumber, type ExactValue } from '../exact-json.ts';

async function exported(header: readonly string[], rows: TableRow[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of writeXlsx([rows], { header })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** What comes back of a value: all of it, but for digits that no spreadsheet shows. */
function comesBackAs(value: ExactValue): unknown {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value !== 'number') return value;
  const text = String(value);
  return /^-?\d{15}\d*[1-9]/.test(text) ? text : Number(value.toPrecision(15)) + 0;
}

const formulaLike = ['=1+1', '+1', '-1', '@SUM(A1)', "'=1", '\t=1', '\r=1', '=HYPERLINK("http://x")', '＝1'];
const scalars: ExactValue[] = [
  ...formulaLike,
  ...naughtyStrings,
  '_x0041_',
  'a_x000D_b',
  'x'.repeat(32_767),
  0,
  -1.5,
  0.1,
  1e-9,
  123456789012,
  123456789012345,
  1e15,
  1e21,
  9007199254740991,
  true,
  false,
  null,
  '',
  new ExactNumber('12345678901234567890'),
  new ExactNumber('0.12345678901234567890123'),
];

test('what was exported as XLSX comes back as it was, formula-like text and all', async () => {
  const random = seededRandom(4);
  const header = ['row', ...naughtyNames];
  const rows = Array.from({ length: 300 }, (_, at) => [
    at,
    ...naughtyNames.map((_name, column) =>
      // Every value once, then by chance.
      at < scalars.length && column === 0 ? (scalars[at] ?? null) : (random.pick(scalars) ?? null),
    ),
  ]);
  const read = await readRows(await exported(header, rows));
  expect(read.columns).toEqual(header);
  expect(read.rows.length).toBe(rows.length);
  for (const [at, row] of rows.entries()) {
    const values = Object.entries(JSON.parse(read.rows[at] ?? '{}') as object);
    const expected = new Map(header.map((name, column) => [name, comesBackAs(row[column] ?? null)]));
    expect(new Map(values)).toEqual(expected);
  }
});

test('rows that fill several sheets are read sheet by sheet', async () => {
  const pieces: Uint8Array[] = [];
  const rows = Array.from({ length: 5 }, (_, at) => [at]);
  for await (const piece of writeXlsx([rows], { header: ['n'], rowsPerSheet: 3 })) pieces.push(piece);
  const file = Buffer.concat(pieces);
  expect((await readRows(file)).rows).toEqual(['{"n":0}', '{"n":1}']);
  expect((await readRows(file, { sheet: 'Items 2' })).rows).toEqual(['{"n":2}', '{"n":3}']);
  expect((await readRows(file, { sheet: '3' })).rows).toEqual(['{"n":4}']);
});
