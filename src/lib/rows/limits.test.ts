import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { cutAt, endless } from '../../../test/generators/byte-stream.ts';
import { readRows, refusalOf } from '../../../test/generators/read-rows.ts';
import { growthDuring } from '../../../test/support/probes/held-memory.ts';
import { openRows } from './open-rows.ts';

const MiB = 1024 * 1024;

describe('hostile input fails as soon as a limit is passed', () => {
  const totalBytes = 100 * MiB;
  test.each([
    ['one cell of 100 MB', 'cell_too_large', { first: 'a,b\n1,', piece: 'x' }, MiB],
    ['a cell of 100 MB in quotes', 'cell_too_large', { first: 'a,b\n1,"', piece: 'x\n' }, MiB],
    ['a cell of doubled quotes', 'cell_too_large', { first: 'a,b\n1,"', piece: '""' }, 2 * MiB],
    ['a quote in the header that is never closed', 'cell_too_large', { first: 'a,"b', piece: 'x,y\n' }, MiB],
    ['a header of very many columns', 'too_many_columns', { first: 'first', piece: ',col' }, 64 * 1024],
    ['a row of very many empty cells', 'ragged_row', { first: 'a,b\n1', piece: ',' }, 64 * 1024],
    [
      'a row of large cells',
      'row_too_large',
      { first: header(10), piece: `${'x'.repeat(900_000)},` },
      5 * MiB,
    ],
    ['a JSON string that is never closed', 'row_too_large', { first: '[{"a":"', piece: 'x' }, 4 * MiB],
    ['a JSON row that is never closed', 'row_too_large', { first: '{"a":[1', piece: ',1' }, 4 * MiB],
    ['endless JSON brackets', 'json_too_deep', { first: '[{"a":', piece: '[' }, 64 * 1024],
    ['a JSON row of very many columns', 'row_too_large', { first: '[{"a":1', piece: ',"b":1' }, 4 * MiB],
  ])('%s', async (_, code, start, within) => {
    const stream = endless({ ...start, totalBytes });
    expect((await refusalOf(stream)).code).toBe(code);
    expect(stream.takenBytes).toBeLessThanOrEqual(within + 200_000);
  });

  test('a header of 10,000 columns is refused before any row is read', async () => {
    const names = Array.from({ length: 10_000 }, (_, at) => `column ${at}`).join(',');
    await expect(openRows(cutAt(Buffer.from(`${names}\n1\n`), []))).rejects.toMatchObject({
      code: 'too_many_columns',
      message: expect.stringContaining('more than 1000 columns'),
    });
  });

  test('twenty megabytes of blank lines are read in little memory', async () => {
    const stream = endless({ first: 'a\n', piece: '\n', totalBytes: 20 * MiB });
    const reading = async () => expect((await refusalOf(stream)).code).toBe('no_rows');
    const mostBytes = 64 * MiB;
    expect(await growthDuring(reading, { mostBytes })).toBeLessThan(mostBytes);
  });
});

function header(columns: number): string {
  return `${Array.from({ length: columns }, (_, at) => `c${at}`).join(',')}\n`;
}

describe('limits are exact', () => {
  const limits = { columns: 3, cellBytes: 10, rowBytes: 16, rows: 2, jsonDepth: 2, columnNameLength: 5 };
  test.each([
    ['a cell', 'cell_too_large', 'a\n1234567890\n', 'a\n12345678901\n'],
    ['a cell beyond ASCII', 'cell_too_large', 'a\nääääx\n', 'a\näääääx\n'],
    ['a row', 'row_too_large', 'a,b\n1234567890,123456\n', 'a,b\n1234567890,1234567\n'],
    ['columns', 'too_many_columns', 'a,b,c\n1,2,3\n', 'a,b,c,d\n1,2,3,4\n'],
    ['rows', 'too_many_rows', 'a\n1\n2\n', 'a\n1\n2\n3\n'],
    ['a name', 'header_too_long', 'abcde\n1\n', 'abcdef\n1\n'],
    ['a JSON value', 'cell_too_large', '{"a":12345678}', '{"a":12345678901}'],
    ['a JSON row', 'row_too_large', '{"a":1,"b":1234}', '{"a":1,"b":12345}'],
    ['JSON columns', 'too_many_columns', '{"a":1,"b":1}', '{"a":1,"b":1,"c":1,"d":1}'],
    ['JSON depth', 'json_too_deep', '{"a":[1]}', '{"a":[[1]]}'],
  ])('%s', async (_, code, fits, exceeds) => {
    expect((await readRows(fits, { limits })).rows.length).toBeGreaterThan(0);
    const more = code === 'row_too_large' ? limits : { ...limits, rowBytes: 100 };
    expect((await refusalOf(exceeds, { limits: more })).code).toBe(code);
  });
});

describe('reading in batches', () => {
  const text = `a\n${Array.from({ length: 100 }, (_, at) => `${at}\n`).join('')}`;

  test('returns as many rows as requested each time, in order', async () => {
    const reader = await openRows(Readable.from([Buffer.from(text)]));
    const sizes: number[] = [];
    const numbers: number[] = [];
    for (const maxRows of [1, 2, 4, 8, 64, 64]) {
      const rows = (await reader.read(maxRows, MiB)) ?? [];
      sizes.push(rows.length);
      numbers.push(...rows.map(({ rowNo }) => rowNo));
    }
    expect(sizes).toEqual([1, 2, 4, 8, 64, 21]);
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
    expect(await reader.read(1, MiB)).toBeNull();
  });

  test('stays within the byte limit, but always returns a row', async () => {
    const reader = await openRows(cutAt(Buffer.from('a\nxxxx\nyyyy\nzzzz\n'), []));
    const [first] = (await reader.read(10, 1)) ?? [];
    expect(first).toEqual({ rowNo: 1, inputJson: '{"a":"xxxx"}', sizeBytes: 12 });
    expect(await reader.read(10, 24)).toHaveLength(2);
  });

  test('reads no more of the source than the requested rows need', async () => {
    const stream = endless({ first: 'a,b\n', piece: '1,2\n', totalBytes: 50 * MiB });
    const reader = await openRows(stream);
    await reader.read(100, MiB);
    expect(stream.takenBytes).toBeLessThan(300_000);
    await reader.close();
    await reader.close();
    expect(stream.isClosed).toBe(true);
  });

  test('throws the same error again after the first, and never a later row', async () => {
    const reader = await openRows(cutAt(Buffer.from('a,b\n1,2\n3\n4,5\n'), []), {
      limits: { pieceBytes: 4 },
    });
    const first = await reader.read(2, MiB).catch((error: unknown) => error);
    const second = await reader.read(2, MiB).catch((error: unknown) => error);
    expect(first).toMatchObject({ code: 'ragged_row' });
    expect(second).toBe(first);
  });

  test('passes on the error of a source that breaks off', async () => {
    const aborted = new Error('aborted');
    const source = (async function* () {
      yield Buffer.from('a\n1\n');
      throw aborted;
    })();
    await expect(openRows(source).then((reader) => reader.read(10, MiB))).rejects.toBe(aborted);
  });
});
