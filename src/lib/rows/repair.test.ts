import { describe, expect, test } from 'vitest';
import { cutAt } from '../../../test/generators/byte-stream.ts';
import { messyTables } from '../../../test/generators/messy-tables.ts';
import { readRows, refusalOf } from '../../../test/generators/read-rows.ts';
import { cell, row, textRow, type WorkbookSpec, workbookOf } from '../../../test/generators/workbook.ts';
import type { OpenRowsOptions } from './open-rows.ts';

const read = async (source: string | Uint8Array, options: OpenRowsOptions = {}) => {
  const { rows, ...report } = await readRows(source, { repair: true, ...options });
  const places = report.notes.flatMap(({ code, places: all }) => all.map(({ line }) => `${code}@${line}`));
  return { ...report, rows: rows.map((json) => JSON.parse(json) as Record<string, unknown>), places };
};

describe('a repairing reader', () => {
  test.each([
    ['bare quotes', 'a,b\n5" pipe,2"\n', [{ a: '5" pipe', b: '2"' }], ['bare_quote@2', 'bare_quote@2']],
    ['inner quotes', 'a,b\n"say "hi" now",2\n', [{ a: 'say "hi" now', b: '2' }], ['inner_quote@2']],
    ['a quote of inches', 'a,b\n"19" rack",2\n', [{ a: '19" rack', b: '2' }], ['inner_quote@2']],
    [
      'spaces around quotes',
      'a,b\n1, "x, y" \n"z" ,3\n',
      [
        { a: '1', b: 'x, y' },
        { a: 'z', b: '3' },
      ],
      ['space_around_quotes@2', 'space_around_quotes@2', 'space_around_quotes@3'],
    ],
    ['short rows', 'a,b,c\n1,2\n', [{ a: '1', b: '2', c: null }], ['short_row@2']],
    [
      'long rows',
      'a,b\n1,2\n3,4,,6\n7,8,9\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4', column_4: '6' },
        { a: '7', b: '8', column_3: '9' },
      ],
      ['long_row@3', 'long_row@4'],
    ],
    [
      'trailing delimiters',
      'a,b,\n1,2,\n3,4,,\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ],
      ['trailing_delimiter@1', 'trailing_delimiter@3'],
    ],
    ['a sep line', 'sep=;\na;b\n1;2,5\n', [{ a: '1', b: '2,5' }], ['separator_line@1']],
    ['a sep line in quotes', '"sep=|"\r\na|b\r\n1|2\r\n', [{ a: '1', b: '2' }], ['separator_line@1']],
    [
      'duplicate headers',
      'a,a,a_2,a\n1,2,3,4\n',
      [{ a: '1', a_3: '2', a_2: '3', a_4: '4' }],
      ['duplicate_column@1', 'duplicate_column@1'],
    ],
    [
      'unnamed headers',
      'a,,column_2\n1,2,3\n',
      [{ a: '1', column_2_2: '2', column_2: '3' }],
      ['unnamed_column@1'],
    ],
    [
      'a preamble',
      'Report of sales\nMade,2024-01-01\n\nid,name,price,stock\n1,x,2,3\n',
      [{ id: '1', name: 'x', price: '2', stock: '3' }],
      ['preamble@1', 'preamble@2'],
    ],
    [
      'a preamble that a spreadsheet padded',
      'Sales,,\n,,\nid,name,price\n1,x,2\n',
      [{ id: '1', name: 'x', price: '2' }],
      ['preamble@1'],
    ],
    [
      'a preamble above two columns',
      'Sales, by day\n\nid;name\n1;x\n2;y\n',
      [
        { id: '1', name: 'x' },
        { id: '2', name: 'y' },
      ],
      ['preamble@1'],
    ],
    [
      'lines of spaces',
      'a,b\n1,2\n   \n3,4\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ],
      ['blank_row@3'],
    ],
    [
      'mixed line ends',
      'a,b\r1,2\n3,4\r\n5,6',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
        { a: '5', b: '6' },
      ],
      [],
    ],
  ])('takes in %s', async (_, text, rows, places) => {
    const found = await read(text);
    expect(found.rows).toEqual(rows);
    expect(found.places).toEqual(places);
  });

  test.each([
    ['malformed_csv', 'a,b\n"He said "hi", then left",2\n', 2, /odd places.*3 cells/],
    ['malformed_csv', 'a,b\n"abc"def,2\n"x",3\n', 2, /nothing closes the value/],
    ['malformed_csv', 'a,b\n"one\ntwo"x",2\n', 2, /several lines/],
    ['truncated_file', 'a,b\n1,2\n3,"4\n5,6\n', 3, /opens a quote/],
    ['nul_character', 'a,b\n1,2\n3,x\0y\n', 3, /NUL/],
    ['ragged_row', 'title\n1,2\n3,4\n5,6\n', 1, /headerLine/],
  ])('still refuses %s: %j', async (code, text, line, message) => {
    const refusal = await refusalOf(text, { repair: true });
    expect(refusal.code).toBe(code);
    expect(refusal.details.line).toBe(line);
    expect(refusal.message).toMatch(message);
  });

  test('changes nothing about a well-formed file, and notes nothing', async () => {
    const text = 'a,b,c\r\n"x ""y"" z",,"1\r\n2"\r\n ,\t,3\r\n';
    expect((await read(text)).rows).toEqual((await readRows(text)).rows.map((json) => JSON.parse(json)));
    expect((await read(text)).notes).toEqual([]);
  });

  test('keeps the first places of each repair and counts all of them', async () => {
    const { notes } = await read(`a,b\n${'1\n'.repeat(1_000)}`);
    expect(notes).toMatchObject([{ code: 'short_row', count: 1_000 }]);
    expect(notes[0]?.places).toHaveLength(20);
    expect(notes[0]?.places[0]).toEqual({ line: 2, row: 1, what: 'has 1 cells; the header has 2' });
  });

  test('starts at the line of the header when it is named', async () => {
    expect((await read('x\ny,z\na,b\n1,2\n', { headerLine: 3 })).rows).toEqual([{ a: '1', b: '2' }]);
    expect((await readRows('x\ny,z\na,b\n1,2\n', { headerLine: 3 })).rows).toEqual(['{"a":"1","b":"2"}']);
  });
});

describe('an encoding that nothing names', () => {
  const latin1 = (text: string) => Buffer.from(text, 'latin1');

  test('is Windows-1252 when the first byte beyond ASCII is no UTF-8', async () => {
    const bytes = Buffer.concat([
      latin1('name,price\nplain,1\ncaf\xe9,2 '),
      Buffer.from([0x80]),
      latin1('\nna\xefve,3\n\xe9'),
    ]);
    const { rows, places, layout } = await read(bytes);
    expect(rows.map(({ name }) => name)).toEqual(['plain', 'café', 'naïve', 'é']);
    expect(rows[1]?.price).toBe('2 €');
    expect(places).toEqual(['encoding@3', 'short_row@5']);
    expect(layout.encoding).toBe('windows-1252');
  });

  test('is found wherever the file is cut', async () => {
    const bytes = latin1(`a,b\n${'x,y\n'.repeat(40_000)}caf\xe9,z\n`);
    const { rows, notes } = await readRows(cutAt(bytes, [1, 70_000]), { repair: true });
    expect(rows.at(-1)).toBe('{"a":"café","b":"z"}');
    expect(notes[0]?.places[0]?.line).toBe(40_002);
  });

  test('is refused, with its line, when the file is in two encodings or in an unknown one', async () => {
    const both = Buffer.concat([Buffer.from('a,b\né,è\n'), latin1('\xe9,1\n')]);
    const unknown = Buffer.concat([latin1('a,b\n\xe9,'), Buffer.from([0x81]), latin1('\n')]);
    for (const [bytes, line] of [
      [both, 3],
      [unknown, 2],
    ] as const) {
      const refusal = await refusalOf(bytes, { repair: true });
      expect(refusal).toMatchObject({ code: 'invalid_encoding', details: { line } });
    }
    expect((await refusalOf(latin1('a,b\n\xe9,1\n'))).details.line).toBe(2);
  });

  test('is UTF-16 when every other byte is zero', async () => {
    const le = Buffer.from('a,b\ncafé,2\n', 'utf16le');
    expect((await read(le)).rows).toEqual([{ a: 'café', b: '2' }]);
    const be = Buffer.from(le).swap16();
    expect(await read(be)).toMatchObject({ rows: [{ a: 'café', b: '2' }], places: ['encoding@1'] });
  });

  test('can be named', async () => {
    const bytes = Buffer.concat([latin1('a,b\n'), Buffer.from([0x93, 0x94]), latin1(',1\n')]);
    expect((await read(bytes, { encoding: 'windows-1252' })).rows).toEqual([{ a: '“”', b: '1' }]);
    expect((await read(bytes, { encoding: 'iso-8859-1' })).rows).toEqual([{ a: '\x93\x94', b: '1' }]);
    expect((await refusalOf(bytes, { encoding: 'utf-8', repair: true })).code).toBe('invalid_encoding');
  });
});

describe('a repaired sheet', () => {
  const book = (rows: string, more: Partial<WorkbookSpec['sheets'][number]> = {}) =>
    workbookOf({
      sheets: [
        { name: 'One', rows, ...more },
        { name: 'Two', rows: textRow('x') + textRow('y') },
      ],
    });

  test('begins below its title, names every column with a value, and says which sheet it is', async () => {
    const bytes = book(
      textRow('Sales 2024') +
        textRow('sku', 'price', 'price') +
        textRow('1', '2', '3') +
        textRow('4', '5', '6', 'note'),
    );
    const { rows, places, layout } = await read(bytes);
    expect(rows).toEqual([
      { sku: '1', price: '2', price_2: '3' },
      { sku: '4', price: '5', price_2: '6', column_4: 'note' },
    ]);
    expect(places).toEqual(['other_sheets@null', 'preamble@1', 'duplicate_column@2', 'unnamed_cells@4']);
    expect(layout).toEqual({ encoding: null, headerLine: 2, sheet: 'One', sheets: ['One', 'Two'] });
  });

  test('keeps the text of error cells when asked to', async () => {
    const rows =
      textRow('sku', 'rate') +
      row(cell('1'), cell('#DIV/0!', 't="e"')) +
      row(cell('2'), cell('#N/A', 't="e"'));
    expect((await read(book(rows), { errorCells: 'text' })).rows).toEqual([
      { sku: 1, rate: '#DIV/0!' },
      { sku: 2, rate: '#N/A' },
    ]);
    expect((await read(book(rows))).rows[0]).toEqual({ sku: 1, rate: null });
  });
});

test('messy tables are read as their ledger says, with a note for each repair, wherever they are cut', async () => {
  for (const { bytes, rows, codes, what } of messyTables(600, 7)) {
    const whole = await readRows(bytes, { repair: true });
    expect(
      whole.rows.map((json) => Object.values(JSON.parse(json) as object)),
      what,
    ).toEqual(rows);
    expect(new Set(whole.notes.map(({ code }) => code)), what).toEqual(new Set(codes));
    const cut = await readRows(cutAt(bytes, [bytes.length >> 2, bytes.length >> 1]), {
      repair: true,
      limits: { pieceBytes: 7 },
    });
    expect(cut, what).toEqual(whole);
  }
});
