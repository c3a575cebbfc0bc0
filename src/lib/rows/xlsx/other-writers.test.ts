import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readRows, refusalOf } from '../../../../test/generators/read-rows.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../test/fixtures/workbooks/${name}`, import.meta.url));
const valuesOf = async (name: string, options = {}) =>
  (await readRows(fixture(name), options)).rows.map((json) => JSON.parse(json) as object);

const items = [
  {
    sku: '0001',
    title: 'Größe 名前 \u{1f600}',
    price: 19.99,
    'in stock': true,
    added: '2024-02-29',
    'seen at': '2024-02-29T13:37:59',
    opens: '08:30:00',
    note: null,
    id: 12345678901234600,
  },
  {
    sku: '0002',
    title: ' spaces kept ',
    price: 0.3,
    'in stock': false,
    added: '1900-01-01',
    'seen at': '1999-12-31T23:59:59',
    opens: '00:00:00',
    note: 'not a formula',
    id: 42,
  },
  {
    sku: '0003',
    title: 'line\nbreak "quoted" <tag> & more',
    price: -1e-7,
    'in stock': null,
    added: null,
    'seen at': null,
    opens: null,
    note: null,
    id: 7,
  },
];
const empty = {
  title: null,
  price: null,
  'in stock': null,
  added: null,
  'seen at': null,
  opens: null,
  note: null,
};

const merged = { ...empty, sku: 'merged', id: null };

test('a workbook of openpyxl is read', async () => {
  expect(await valuesOf('openpyxl.xlsx')).toEqual([...items, merged]);
  expect((await refusalOf(fixture('openpyxl.xlsx'), { sheet: 'Empty' })).code).toBe('empty_file');
  expect(await valuesOf('openpyxl-1904.xlsx')).toEqual([{ day: '2024-01-01' }]);
});

test('a workbook of LibreOffice is read, with the results of its formulas', async () => {
  expect(await valuesOf('libreoffice.xlsx')).toEqual([...items, merged]);
  expect(await valuesOf('libreoffice-formula.xlsx')).toEqual([{ a: 1, b: 2 }]);
});

test('a workbook of XlsxWriter is read, with rich text and links', async () => {
  const nothing = { rich: null, day: null, sum: null, wrong: null, link: null };
  expect(await valuesOf('xlsxwriter.xlsx')).toEqual([
    { text: '=1+1', rich: 'in bold text', day: '2026-03-01', sum: 3, wrong: null, link: 'a link' },
    { text: 'merged', ...nothing },
  ]);
  expect((await refusalOf(fixture('xlsxwriter.xlsx'), { sheet: 'A chart' })).message).toBe(
    'The sheet "A chart" of the workbook has no cells. Its sheets are "Rich & plain".',
  );
});

test('a formula without a calculated result is refused', async () => {
  const refusal = await refusalOf(fixture('openpyxl-formula.xlsx'));
  expect(refusal).toMatchObject({ code: 'formula_not_calculated', details: { cell: 'B2' } });
});

test('other and older workbook formats are refused by name', async () => {
  const [xls, ods] = [
    await refusalOf(fixture('libreoffice.xls')),
    await refusalOf(fixture('libreoffice.ods')),
  ];
  expect(xls).toMatchObject({
    code: 'unsupported_format',
    details: { detected: 'an old Excel workbook (XLS)' },
  });
  expect(ods).toMatchObject({
    code: 'unsupported_format',
    details: { detected: 'an OpenDocument file (ODS, ODT)' },
  });
  for (const { message } of [xls, ods]) expect(message).toContain('save it as XLSX');
});
