import { describe, expect, test } from 'vitest';
import { readRows, refusalOf } from '../../../test/generators/read-rows.ts';

// The shapes of public collections of CSV files, in words of our own, with what a person would read in each of them:
// csv-spectrum, sineemore/csv-test-data (its `bad-` files too), the malformed inputs of Papa Parse's tests, the CSV
// corpus of rvl, and the dialects of the W3C's "CSV on the Web" tests.
const read = async (source: string | Uint8Array) => {
  const { rows, notes } = await readRows(source, { repair: true });
  const places = notes.flatMap(({ code, places: all }) => all.map(({ line }) => `${code}@${line}`));
  return { rows: rows.map((json) => JSON.parse(json) as Record<string, unknown>), places };
};

const latin = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const bom = '\ufeff';

describe('a well-formed file', () => {
  test.each<[string, string | Uint8Array, object[]]>([
    [
      'a comma in quotes',
      'first,last,address\nJohn,Doe,"120 any st., Anytown"\n',
      [{ first: 'John', last: 'Doe', address: '120 any st., Anytown' }],
    ],
    [
      'empty values',
      'a,b,c\n1,"",""\n2,3,4\n',
      [
        { a: '1', b: '', c: '' },
        { a: '2', b: '3', c: '4' },
      ],
    ],
    ['only empty values', 'a,b\n,\n', [{ a: '', b: '' }]],
    ['doubled quotes', 'a,b\n1,"ha ""ha"" ha"\n', [{ a: '1', b: 'ha "ha" ha' }]],
    ['a value of doubled quotes alone', 'a,b\n"""",""""""\n', [{ a: '"', b: '""' }]],
    ['line breaks in quotes', 'a,b\n"once\nupon","a\r\ntime"\n', [{ a: 'once\nupon', b: 'a\r\ntime' }]],
    [
      'JSON in a value',
      'key,val\n1,"{""type"": ""Point"", ""at"": [102.0, 0.5]}"\n',
      [{ key: '1', val: '{"type": "Point", "at": [102.0, 0.5]}' }],
    ],
    ['no line break at the end', 'a,b\n1,2', [{ a: '1', b: '2' }]],
    ['line ends of Windows', 'a,b\r\n1,2\r\n', [{ a: '1', b: '2' }]],
    [
      'line ends of old Macs',
      'a,b\r1,2\r3,4\r',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ],
    ],
    ['spaces at both ends of values', 'a,b\n 1 ,  2\n', [{ a: ' 1 ', b: '  2' }]],
    ['spaces in quotes', 'a,b\n" 1 ",2\n', [{ a: ' 1 ', b: '2' }]],
    ['one column', 'a\n1\n2\n', [{ a: '1' }, { a: '2' }]],
    ['one column of quoted values', '"a"\n"1,5"\n', [{ a: '1,5' }]],
    ['characters of several scripts', 'a,b\nʤ,ありがとう\n', [{ a: 'ʤ', b: 'ありがとう' }]],
    ['a byte order mark', `${bom}a,b\n1,2\n`, [{ a: '1', b: '2' }]],
    ['a byte order mark and quotes', `${bom}"a","b"\n"1","2"\n`, [{ a: '1', b: '2' }]],
    ['UTF-16', utf16('a,b\r\nö,2\r\n'), [{ a: 'ö', b: '2' }]],
    ['tabs', 'a\tb\n1\t2, 3\n', [{ a: '1', b: '2, 3' }]],
    ['semicolons and decimal commas', 'a;b\n1,5;2,5\n', [{ a: '1,5', b: '2,5' }]],
    ['pipes', 'a|b\n1|2\n', [{ a: '1', b: '2' }]],
    ['quotes around every value', '"a","b"\r\n"1","2"\r\n', [{ a: '1', b: '2' }]],
    ['numbers with leading zeros', 'zip,id\n00501,1e5\n', [{ zip: '00501', id: '1e5' }]],
  ])('with %s is read without a note', async (_, source, rows) => {
    expect(await read(source)).toEqual({ rows, places: [] });
  });
});

describe('a file that is bad but real', () => {
  test.each<[string, string | Uint8Array, object[], string[]]>([
    [
      'fewer values than the header',
      'a,b,c\n1,2\n3,4,5\n',
      [
        { a: '1', b: '2', c: null },
        { a: '3', b: '4', c: '5' },
      ],
      ['short_row@2'],
    ],
    [
      'more values than the header',
      'a,b\n1,2,3\n4,5\n',
      [
        { a: '1', b: '2', column_3: '3' },
        { a: '4', b: '5' },
      ],
      ['long_row@2'],
    ],
    [
      'a quote inside an unquoted value',
      'a,b\nham "n" egg,2\n',
      [{ a: 'ham "n" egg', b: '2' }],
      ['bare_quote@2'],
    ],
    [
      'quotes inside a quoted value',
      'a,b\n"it is "fine" here",2\n',
      [{ a: 'it is "fine" here', b: '2' }],
      ['inner_quote@2'],
    ],
    [
      'a space before an opening quote',
      'a,b\n1, "x, y"\n',
      [{ a: '1', b: 'x, y' }],
      ['space_around_quotes@2'],
    ],
    ['a space after a closing quote', 'a,b\n"x, y" ,2\n', [{ a: 'x, y', b: '2' }], ['space_around_quotes@2']],
    [
      'empty lines between rows',
      'a,b\n\n1,2\n\n3,4\n\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ],
      [],
    ],
    [
      'lines of spaces between rows',
      'a,b\n1,2\n  \n3,4\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ],
      ['blank_row@3'],
    ],
    [
      'a delimiter at the end of every line',
      'a,b,\n1,2,\n3,4,\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ],
      ['trailing_delimiter@1'],
    ],
    ['two columns of one name', 'a,a\n1,2\n', [{ a: '1', a_2: '2' }], ['duplicate_column@1']],
    ['a column without a name', 'a,,c\n1,2,3\n', [{ a: '1', column_2: '2', c: '3' }], ['unnamed_column@1']],
    [
      'a line that names the delimiter',
      'sep=;\r\na;b\r\n1;2\r\n',
      [{ a: '1', b: '2' }],
      ['separator_line@1'],
    ],
    [
      'titles above the header',
      'Sales of May\n\nid,name,price\n1,x,2\n',
      [{ id: '1', name: 'x', price: '2' }],
      ['preamble@1'],
    ],
    ['bytes of Windows-1252', latin('a,b\nM\xfcller,\x80 5\n'), [{ a: 'Müller', b: '€ 5' }], ['encoding@2']],
    [
      'line ends of three systems',
      'a,b\r\n1,2\n3,4\r5,6\n',
      [
        { a: '1', b: '2' },
        { a: '3', b: '4' },
        { a: '5', b: '6' },
      ],
      [],
    ],
  ])('with %s is read, and the repair is noted', async (_, source, rows, places) => {
    expect(await read(source)).toEqual({ rows, places });
  });

  test.each<[string, string, string, number]>([
    ['a quote that is never closed', 'a,b\n1,"2\n3,4\n', 'truncated_file', 2],
    ['a quote that is never closed in the last line', 'a,b\n1,2\n3,"4', 'truncated_file', 3],
    ['text behind a closing quote', 'a,b\n"abc"def,2\n"x",3\n', 'malformed_csv', 2],
    ['quotes that could be read in two ways', 'a,b\n"He said "hi", then left",2\n', 'malformed_csv', 2],
    ['a NUL character', 'a,b\n1,x\0y\n', 'nul_character', 2],
  ])('with %s is refused, with the line and the reason', async (_, source, code, line) => {
    const refusal = await refusalOf(source, { repair: true });
    expect(refusal).toMatchObject({ code, details: { line } });
    expect(refusal.message.length).toBeGreaterThan(20);
  });

  test.each([
    ['a header and no row', 'a,b\n', 'no_rows'],
    ['nothing at all', '', 'empty_file'],
    ['empty lines alone', '\n\n', 'empty_file'],
  ])('with %s is refused', async (_, source, code) => {
    expect((await refusalOf(source, { repair: true })).code).toBe(code);
  });

  test('is refused as a whole in strict mode', async () => {
    const strict = async (text: string) => (await refusalOf(text, { repair: false })).details.line;
    expect(await strict('a,b\nham "n" egg,2\n')).toBe(2);
    expect(await strict('a,b\n1,2\n3\n')).toBe(3);
    expect(await strict('a,b\n1,2\n3,4,5\n')).toBe(3);
  });
});
