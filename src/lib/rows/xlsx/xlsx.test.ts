import { describe, expect, test } from 'vitest';
import { readRows, refusalOf } from '../../../../test/generators/read-rows.ts';
import { cell, row, textRow, type WorkbookSpec, workbookOf } from '../../../../test/generators/workbook.ts';

const rowsOf = async (spec: WorkbookSpec, options = {}) =>
  (await readRows(workbookOf(spec), options)).rows.map((json) => JSON.parse(json) as Record<string, unknown>);

/** The values that cells of one column come to, one cell in each row. */
async function valuesOf(cells: string[], more: Omit<WorkbookSpec, 'sheets'> = {}): Promise<unknown[]> {
  const rows = [textRow('id', 'a'), ...cells.map((one) => row(cell('7'), one))].join('');
  return (await rowsOf({ sheets: [{ rows }], ...more })).map(({ a }) => a);
}

const inline = (xml: string) => `<c t="inlineStr"><is>${xml}</is></c>`;

describe('a workbook', () => {
  test('becomes rows of its first visible sheet, named by the header, in order', async () => {
    const sheets = [
      { name: 'Lists', state: 'hidden', rows: textRow('hidden') + textRow('1') },
      { name: 'Items', rows: textRow('sku', 'title') + textRow('1', 'one') + textRow('2', 'two') },
      { name: 'More', rows: textRow('x') + textRow('y') },
    ] satisfies WorkbookSpec['sheets'];
    expect(await readRows(workbookOf({ sheets }))).toMatchObject({
      format: 'xlsx',
      delimiter: null,
      columns: ['sku', 'title'],
      rows: ['{"sku":"1","title":"one"}', '{"sku":"2","title":"two"}'],
    });
    expect(await rowsOf({ sheets }, { sheet: ' more' })).toEqual([{ x: 'y' }]);
    expect(await rowsOf({ sheets }, { sheet: '1' })).toEqual([{ hidden: '1' }]);
  });

  test('is found by its relations, wherever its parts are', async () => {
    const spec = { sheets: [{ rows: textRow('a') + textRow('1') }] };
    const parts = {
      '_rels/.rels':
        '<Relationships><Relationship Type="x/officeDocument" Target="/book/main.xml"/></Relationships>',
      'book/main.xml': '<workbook><sheets><sheet name="S" r:id="one"/></sheets></workbook>',
      'book/_rels/main.xml.rels':
        '<Relationships><Relationship Id="one" Type="http://purl.oclc.org/x/worksheet" ' +
        'Target="../xl/worksheets/sheet1.xml"/></Relationships>',
    };
    expect(await rowsOf({ ...spec, parts })).toEqual([{ a: '1' }]);
  });

  test('finds its styles and shared texts even when no relation names them', async () => {
    const sheets = [{ rows: textRow('a', 'day') + row(cell('0', 't="s"'), cell('45351', 's="1"')) }];
    const parts = {
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    };
    const strings = '<si><t>shared</t></si>';
    expect(await rowsOf({ sheets, strings, formats: [14], parts })).toEqual([
      { a: 'shared', day: '2024-02-29' },
    ]);
  });

  test('may have any file name except that of an image', async () => {
    const book = workbookOf({ sheets: [{ rows: textRow('a') + textRow('1') }] });
    for (const fileName of ['a.xlsx', 'a.XLSM', 'a.csv', 'a']) {
      expect((await readRows(book, { fileName })).rows).toEqual(['{"a":"1"}']);
    }
    const declaredType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
    expect((await readRows(book, { declaredType })).format).toBe('xlsx');
    expect((await refusalOf(book, { fileName: 'a.png' })).code).toBe('content_mismatch');
  });
});

describe('a cell', () => {
  test('a cell of text is inline, shared or in runs, without phonetic guides', async () => {
    const strings =
      '<si><t>shared</t></si><si><r><t xml:space="preserve">in </t></r><r><rPr><b/></rPr><t>runs</t></r>' +
      '<rPh><t>aloud</t></rPh></si><si/>';
    const cells = [
      cell('0', 't="s"'),
      cell('1', 't="s"'),
      cell('2', 't="s"'),
      inline('<t> kept </t>'),
      inline('<r><t>a</t></r><r><t>b</t></r><rPh sb="0" eb="1"><t>aloud</t></rPh>'),
      inline('<t>&amp;&lt;&#228;&#x1F600;<![CDATA[<&>]]></t>'),
      inline('<t>a_x000D__x000a_b_x005F_x0041_</t>'),
      inline('<t/>'),
      cell('=1+1', 't="str"'),
    ];
    expect(await valuesOf(cells, { strings })).toEqual([
      'shared',
      'in runs',
      '',
      ' kept ',
      'ab',
      '&<ä\u{1f600}<&>',
      'a\r\nb_x0041_',
      '',
      '=1+1',
    ]);
  });

  test('a cell of a number has the digits that a spreadsheet shows', async () => {
    const numbers: [string, unknown][] = [
      ['1', 1],
      ['-0', 0],
      ['007', 7],
      ['1.50', 1.5],
      ['0.30000000000000004', 0.3],
      ['1.1000000000000001', 1.1],
      ['19.989999999999998', 19.99],
      ['1E-7', 1e-7],
      ['1.2345678901234499E+17', 123456789012345000],
      ['123456789012345', 123456789012345],
      ['1234567890123456', '1234567890123456'],
      ['9007199254740993', '9007199254740993'],
      ['-12345678901234567890', '-12345678901234567890'],
      ['10000000000000000', 1e16],
      [' 5 ', 5],
    ];
    expect(await valuesOf(numbers.map(([text]) => cell(text)))).toEqual(numbers.map(([, value]) => value));
  });

  test('a cell of a number is stored with just those digits', async () => {
    const spec = { sheets: [{ rows: textRow('a') + row(cell('0.1')) + row(cell('1e21')) }] };
    expect((await readRows(workbookOf(spec))).rows).toEqual(['{"a":0.1}', '{"a":1e+21}']);
  });

  test('with a boolean, an error or nothing is true, false or null', async () => {
    const cells = [
      cell('1', 't="b"'),
      cell('0', 't="b"'),
      cell('#N/A', 't="e"'),
      '<c t="e"/>',
      '<c s="1"/>',
      '',
      '<c><v></v></c>',
    ];
    expect(await valuesOf(cells)).toEqual([true, false, null, null, null, null, null]);
  });

  test('a cell of a formula is the result that was saved with it', async () => {
    const cells = [
      '<c><f>1+1</f><v>2</v></c>',
      '<c t="str"><f>"a"</f><v>a</v></c>',
      '<c t="str"><f>""</f><v></v></c>',
      '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>',
      '<c t="b"><f t="shared" si="0"/><v>1</v></c>',
    ];
    expect(await valuesOf(cells)).toEqual([2, 'a', '', null, true]);
  });

  test('without a reference follows the cell before it', async () => {
    const rows = `${textRow('a', 'b', 'c', 'd')}<row><c r="B2"><v>1</v></c><c><v>2</v></c></row>`;
    expect(await rowsOf({ sheets: [{ rows }] })).toEqual([{ a: null, b: 1, c: 2, d: null }]);
  });
});

describe('a date', () => {
  const formats = [
    14,
    22,
    21,
    46,
    'yyyy-mm-dd',
    'dd/mm/yyyy hh:mm',
    '[$-409]mmm d, yyyy;@',
    'h:mm AM/PM',
    '[h]:mm',
  ];
  const numbers = [
    '0.00 "days"',
    '#,##0.00 [$kr-41D]',
    '0.00E+00',
    '\\d0',
    '[Red]0;[Blue]-0',
    'General" m"',
    '_-* #,##0',
    49,
  ];
  const styled = (value: string, format: string | number) =>
    cell(value, `s="${[...formats, ...numbers].indexOf(format) + 1}"`);
  const dates = (cells: string[], is1904 = false) =>
    valuesOf(cells, { formats: [...formats, ...numbers], is1904 });

  test('is known by the format of its cell, built in or written by hand', async () => {
    expect(
      await dates([
        styled('45000', 14),
        styled('45000.5', 22),
        styled('0.75', 21),
        styled('1.5', 46),
        styled('45292', 'yyyy-mm-dd'),
        styled('45292', 'dd/mm/yyyy hh:mm'),
        styled('45351', '[$-409]mmm d, yyyy;@'),
        styled('0.5', 'h:mm AM/PM'),
        styled('2.25', '[h]:mm'),
      ]),
    ).toEqual([
      '2023-03-15',
      '2023-03-15T12:00:00',
      '18:00:00',
      '36:00:00',
      '2024-01-01',
      '2024-01-01T00:00:00',
      '2024-02-29',
      '12:00:00',
      '54:00:00',
    ]);
  });

  test('keeps its time, to the millisecond, whatever the format shows', async () => {
    const at = (h: number, m: number, s: number) => String(45000 + (h * 3600 + m * 60 + s) / 86400);
    expect(await dates([styled(at(13, 37, 59), 14), styled(at(0, 0, 1.234), 22)])).toEqual([
      '2023-03-15T13:37:59',
      '2023-03-15T00:00:01.234',
    ]);
  });

  test('is counted from 1900, with the leap day that did not exist, or from 1904', async () => {
    const serials = ['1', '59', '60', '61', '2958465'];
    expect(await dates(serials.map((serial) => styled(serial, 14)))).toEqual([
      '1900-01-01',
      '1900-02-28',
      60,
      '1900-03-01',
      '9999-12-31',
    ]);
    expect(
      await dates(
        ['0', '1', '43830'].map((serial) => styled(serial, 14)),
        true,
      ),
    ).toEqual(['1904-01-01', '1904-01-02', '2024-01-01']);
  });

  test('a date that does not exist stays a number', async () => {
    expect(await dates(['-1', '2958466', '0'].map((serial) => styled(serial, 14)))).toEqual([-1, 2958466, 0]);
  });

  test('is not found in the letters of other formats', async () => {
    expect(await dates(numbers.map((format) => styled('45000.5', format)))).toEqual(
      numbers.map(() => 45000.5),
    );
  });

  test('may be written as an ISO date', async () => {
    expect(await valuesOf([cell('2024-02-29T10:00:00', 't="d"')])).toEqual(['2024-02-29T10:00:00']);
  });
});

describe('rows', () => {
  test('rows that are empty are skipped, before and after the header', async () => {
    const header = '<row r="5"><c r="A5"><v>1</v></c></row>';
    const rows = `<row r="2"/>${row('<c s="1"/>')}${header}${textRow('')}${row(cell('2'))}<row/>`;
    expect(await rowsOf({ sheets: [{ rows }] })).toEqual([{ 1: 2 }]);
  });

  test('may leave columns without a name empty, and have no value there', async () => {
    const head = '<row><c r="A1"><v>1</v></c><c r="C1" t="str"><v>c</v></c></row>';
    const fine = '<row><c r="A2"><v>1</v></c><c r="B2" t="str"><v></v></c><c r="C2"><v>3</v></c></row>';
    expect(await rowsOf({ sheets: [{ rows: head + fine }] })).toEqual([{ 1: 1, c: 3 }]);
    for (const name of ['B3', 'D3']) {
      const lost = `<row><c r="${name}"><v>9</v></c></row>`;
      const refusal = await refusalOf(workbookOf({ sheets: [{ rows: head + fine + lost }] }));
      expect(refusal).toMatchObject({ code: 'empty_header', details: { row: 2, sheet_row: 3 } });
      expect(refusal.message).toContain(`Row 3 of the sheet has a value in column ${name[0]}`);
    }
  });

  test('have names from cells of any type', async () => {
    const head = row(cell('45000', 's="1"'), cell('1', 't="b"'), cell('2.5'));
    const spec = { sheets: [{ rows: head + textRow('x', 'y', 'z') }], formats: [14] };
    expect(await rowsOf(spec)).toEqual([{ '2023-03-15': 'x', true: 'y', '2.5': 'z' }]);
  });

  test('keep columns named like numbers in order, and __proto__', async () => {
    const rows = textRow('b', '7', '__proto__') + textRow('x', 'y', 'z');
    expect((await readRows(workbookOf({ sheets: [{ rows }] }))).rows).toEqual([
      '{"b":"x","7":"y","__proto__":"z"}',
    ]);
  });
});
