import { describe, expect, test } from 'vitest';
import { readReport, recordsOf, reportRefusal } from '../../../../../test/generators/report-documents.ts';

const cellsOf = async (text: string) => (await readReport(text)).rows.map(({ cells }) => cells);

describe('rows of delimited text', () => {
  test.each<[string, string, string[][]]>([
    [
      'end with LF',
      'Day,a\n1,2\n3,4\n',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    [
      'end with CRLF',
      'Day,a\r\n1,2\r\n3,4\r\n',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    [
      'end with CR',
      'Day,a\r1,2\r3,4\r',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    [
      'end each in another way',
      'Day,a\n1,2\r\n3,4\r5,6',
      [
        ['1', '2'],
        ['3', '4'],
        ['5', '6'],
      ],
    ],
    ['may be the last without a line break', 'Day,a\n1,2', [['1', '2']]],
    [
      'are nothing where a line is blank',
      '\n\nDay,a\n\n1,2\n  \n\r\n3,4\n\n',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    ['are nothing where all cells are empty', 'Day,a\n,\n1,2\n"", \n', [['1', '2']]],
    [
      'are filled up when they are short',
      'Day,a,b\n1\n2,3\n',
      [
        ['1', '', ''],
        ['2', '3', ''],
      ],
    ],
    ['keep all their cells when they are long', 'Day,a\n1,2,3,4\n', [['1', '2', '3', '4']]],
    ['may have an empty cell at the end', 'Day,a\n1,\n', [['1', '']]],
    ['may begin with an empty cell', 'Day,a\n,1\n', [['', '1']]],
    ['keep spaces around cells', 'Day,a\n 1 , --\n', [[' 1 ', ' --']]],
  ])('%s', async (_, text, expected) => {
    expect(await cellsOf(text)).toEqual(expected);
  });

  test.each<[string, string, string[][]]>([
    ['hold delimiters and line breaks', 'Day,a\n"1,1","x\r\ny\nz"\n', [['1,1', 'x\r\ny\nz']]],
    ['hold doubled quotes', 'Day,a\n"""1""",""""\n', [['"1"', '"']]],
    ['may be empty', 'Day,a\n"",1\n', [['', '1']]],
    ['are literal inside a cell', 'Day,a\n5" x 7",b"c"\n', [['5" x 7"', 'b"c"']]],
    ['let text follow', 'Day,a\n"Nike" shoes,"a"b"c"\n', [['Nike shoes', 'ab"c"']]],
    ['are literal behind a space', 'Day,a\n1, "x"\n', [['1', ' "x"']]],
    ['end at the end of the file', 'Day,a\n1,"x"', [['1', 'x']]],
    ['keep a CR at the end of the file out', 'Day,a\n1,"x"\r', [['1', 'x']]],
  ])('quotes %s', async (_, text, expected) => {
    expect(await cellsOf(text)).toEqual(expected);
  });

  test('have the number of the line on which they begin', async () => {
    const text = 'Title\r\n\r\nDay,a\r\n1,"x\r\ny\n"\r\n\r\n2,b\r3,"c\rd"\n4,e';
    const { rows, layout } = await readReport(text);
    expect(layout).toMatchObject({ titleLines: ['Title'], delimiter: ',' });
    expect(rows.map(({ rowIndex, line }) => [rowIndex, line])).toEqual([
      [0, 4],
      [1, 8],
      [2, 9],
      [3, 11],
    ]);
  });

  test('have the right line number even after a megabyte of blank lines', async () => {
    const { rows } = await readReport(`\n${'\r\n'.repeat(500_000)}Day,a\n1,2`);
    expect(rows).toEqual([{ rowIndex: 0, line: 500_003, cells: ['1', '2'] }]);
  });

  test('keep NUL characters, which are a problem of one row only', async () => {
    expect(await cellsOf('Day,a\n1,x\0y\n2,b\n')).toEqual([
      ['1', 'x\0y'],
      ['2', 'b'],
    ]);
  });

  test('keep column names such as __proto__, and repeated or empty ones', async () => {
    const { layout } = await readReport('Day,__proto__,a,a,\n1,2,3,4,5\n');
    expect(layout.headers).toEqual(['Day', '__proto__', 'a', 'a', '']);
  });
});

describe('delimiter and header', () => {
  test.each([
    ['commas', ',', 'Day,Cost\n2026-03-27,5\n'],
    [
      'semicolons, with decimal commas in the cells',
      ';',
      'Day;Cost;CTR\n2026-03-27;5,10;1,5\n2026-03-28;6,20;1,7\n',
    ],
    ['tabs', '\t', 'Day\tCost, net\n2026-03-27\t5\n'],
    ['bars', '|', 'Day|Cost\n2026-03-27|5\n'],
    [
      'tabs, below a title with commas',
      '\t',
      'Report, EU, daily, all\nMarch 27, 2026 - April 23, 2026\nDay\tCost\n1\t2\n',
    ],
    ['semicolons that few lines have', ';', `a,b,c,d\n${'x,y,z,w\n'.repeat(5)}Day;Cost\n1;2\n`],
  ])('are found for %s', async (_, delimiter, text) => {
    const { layout } = await readReport(text);
    expect(layout).toMatchObject({ delimiter });
    expect(layout.headers[0]).toBe('Day');
  });

  test('keep the title lines above as a person would read them', async () => {
    const text = 'Campaign report,,\n"March 27, 2026 - April 23, 2026",,\nDay,Cost,Clicks\n1,2,3\n';
    const { layout } = await readReport(text);
    expect(layout).toMatchObject({ titleLines: ['Campaign report', 'March 27, 2026 - April 23, 2026'] });
  });

  test('are searched for in the first thirty lines only', async () => {
    const found = await readReport(`${'title\n'.repeat(29)}Day,Cost\n1,2\n`);
    expect(found.rows).toHaveLength(1);
    expect((await reportRefusal(`${'title\n'.repeat(30)}Day,Cost\n1,2\n`)).code).toBe('no_header');
  });

  test('may be all that a report has', async () => {
    for (const text of ['Day,Cost', 'Day,Cost\n', 'Day,Cost\r\n\r\n']) {
      expect((await readReport(text)).rows).toEqual([]);
    }
  });

  test('are refused with the error of the platform for the most plausible delimiter', async () => {
    const { code, message } = await reportRefusal('Row Type;Action\nCampaign;Add\n');
    expect({ code, message }).toEqual({
      code: 'no_header',
      message: 'No header in [["Row Type","Action"],["Campaign","Add"]]',
    });
  });
});

test('a Google report in UTF-16 with tabs is read as it is exported', async () => {
  const text =
    'Relatório de campanhas\n27 de março de 2026 - 23 de abril de 2026\nDay\tCampaign\tImpr.\tCost\n' +
    '2026-03-27\tPromoção\t"18\u00a0158"\t"2473,94"\nTotal: Campanhas\t --\t18\u00a0158\t"2473,94"\n';
  const report = await readReport(Buffer.from(`\ufeff${text}`, 'utf16le'));
  expect(report.layout).toMatchObject({ encoding: 'utf-16le', delimiter: '\t' });
  expect(recordsOf(report)).toEqual([
    { Day: '2026-03-27', Campaign: 'Promoção', 'Impr.': '18\u00a0158', Cost: '2473,94' },
    { Day: 'Total: Campanhas', Campaign: ' --', 'Impr.': '18\u00a0158', Cost: '2473,94' },
  ]);
});

describe('batches', () => {
  const text = `Day,a\n${Array.from({ length: 10 }, (_, at) => `${at},x\n`).join('')}`;

  test('have as many rows as requested, and the last one has the rest', async () => {
    expect((await readReport(text, { batchRows: 4 })).batchSizes).toEqual([4, 4, 2]);
    expect((await readReport(text, { batchRows: 5 })).batchSizes).toEqual([5, 5]);
  });

  test('are refused when they should have no rows, because reading would never end', async () => {
    await expect(readReport(text, { batchRows: 0 })).rejects.toThrow(RangeError);
  });

  test('end early when their rows are large', async () => {
    const wide = `Day,a\n${`1,${'x'.repeat(999)}\n`.repeat(100)}`;
    const { batchSizes } = await readReport(wide, { limits: { pieceBytes: 1_000, batchLength: 10_000 } });
    expect(Math.max(...batchSizes)).toBeLessThanOrEqual(11);
    expect(batchSizes.reduce((sum, size) => sum + size)).toBe(100);
  });
});
