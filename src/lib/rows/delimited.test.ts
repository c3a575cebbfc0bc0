import { describe, expect, test } from 'vitest';
import { naughtyNames, naughtyStrings } from '../../../test/generators/naughty-strings.ts';
import { readRows, refusalOf } from '../../../test/generators/read-rows.ts';

describe('values', () => {
  test('stay unchanged', async () => {
    const { rows } = await readRows('id,price,flag,empty,space\n0005,1.50,true,, x \n');
    expect(rows).toEqual(['{"id":"0005","price":"1.50","flag":"true","empty":"","space":" x "}']);
  });

  test('may hold line breaks, delimiters and doubled quotes inside quotes', async () => {
    const { rows } = await readRows('a,b\n"one\r\ntwo, ""three""\n",""\n');
    expect(JSON.parse(rows[0] ?? '')).toEqual({ a: 'one\r\ntwo, "three"\n', b: '' });
  });

  test('may be anything, under any name, and keep the order of the columns', async () => {
    const write = (cells: readonly string[]) =>
      cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(',');
    const cells = naughtyNames.map((_, at) => naughtyStrings.slice(at * 2, at * 2 + 2).join(''));
    const { rows, columns } = await readRows(`${write(naughtyNames)}\n${write(cells)}\n`);
    expect(columns).toEqual(naughtyNames);
    const expected = naughtyNames.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(cells[at])}`);
    expect(rows).toEqual([`{${expected.join(',')}}`]);
  });

  test('named __proto__ become a column of the parsed row and nothing else', async () => {
    const { rows } = await readRows('__proto__,constructor\nx,y\n');
    const row: unknown = JSON.parse(rows[0] ?? '');
    expect(Object.entries(row as object)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });
});

describe('lines', () => {
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('may end with %s, and the last one with nothing', async (_, end) => {
    const expected = ['{"a":"1","b":"2"}', '{"a":"3","b":""}'];
    expect((await readRows(`a,b${end}1,2${end}3,`)).rows).toEqual(expected);
    expect((await readRows(`a,b${end}1,2${end}3,${end}`)).rows).toEqual(expected);
  });

  test('are skipped when they are blank, even before the header', async () => {
    expect((await readRows('\r\n\na\n\n1\r\n\r\n2\n\n')).rows).toEqual(['{"a":"1"}', '{"a":"2"}']);
  });

  test('are rows when they hold one empty value in quotes', async () => {
    expect((await readRows('a\n""\n1\n""')).rows).toEqual(['{"a":""}', '{"a":"1"}', '{"a":""}']);
  });
});

describe('a file is refused', () => {
  test.each([
    ['empty_file', '', /0 bytes/],
    ['empty_file', '\ufeff', /3 bytes/],
    ['empty_file', ' \r\n\n', /no text/],
    ['no_rows', 'a,b\n', /header of 2 columns/],
    ['no_rows', 'a,b', /header of 2 columns/],
    ['duplicate_header', 'a,b,c,b\n1,2,3,4\n', /Columns 2 and 4 .*"b"/],
    ['duplicate_header', '__proto__,__proto__\n1,2\n', /Columns 1 and 2/],
    ['empty_header', 'a,,c\n1,2,3\n', /Column 2 of the header has no name/],
    ['empty_header', 'a,b,\n1,2,\n', /Column 3/],
    ['header_too_long', `a,${'x'.repeat(201)}\n1,2\n`, /Column 2 .* 201 characters .*at most 200/],
    ['nul_character', 'a,b\0\n1,2\n', /Column 2 of the header/],
    ['ragged_row', 'a,b\n1,2\n3\n', /Row 2 \(line 3\) has 1 cells, but the header has 2/],
    ['ragged_row', 'a,b\n1,2\n3,4,5\n', /Row 2 \(line 3\) has more cells than the header, which has 2/],
    ['ragged_row', 'a,b\n"1\n1",2\n3', /Row 2 \(line 4\)/],
    ['ragged_row', 'a,b\r\n"1\r\n1",2\r\n\r\n3', /Row 2 \(line 5\)/],
    ['malformed_csv', 'a,b\n1,2"\n', /Row 1 \(line 2\), column 2 has a quote inside/],
    ['malformed_csv', 'a,b\n"1" ,2\n', /Row 1 \(line 2\), column 1 has a quote in front of more text/],
    ['malformed_csv', 'a,"b"c\n1,2\n', /The header \(line 1\), column 2/],
    ['truncated_file', 'a,b\n1,"2\n3,4\n', /Row 1 \(line 2\), column 2 opens a quote/],
    ['truncated_file', 'a,"b\n1,2\n', /The header \(line 1\), column 2/],
    ['nul_character', 'a,b\n1,2\n3,x\0y\n', /Row 2 \(line 3\), column 2 \("b"\)/],
  ])('%s: %j', async (code, text, message) => {
    const refusal = await refusalOf(text);
    expect(refusal.code).toBe(code);
    expect(refusal.message).toMatch(message);
  });

  test('with details for programs', async () => {
    const { details } = await refusalOf('a,b\n1,2\n3,x\0y\n');
    expect(details).toEqual({ row: 2, line: 3, column: 2, column_name: 'b' });
  });
});
