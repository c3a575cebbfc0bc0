import { randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cutAt } from '../../../../test/generators/byte-stream.ts';
import { readRows, refusalOf } from '../../../../test/generators/read-rows.ts';
import {
  cell,
  row,
  sheetXml,
  textRow,
  type WorkbookSpec,
  workbookEntries,
  workbookOf,
} from '../../../../test/generators/workbook.ts';
import { zipOf } from '../../../../test/generators/zip-archive.ts';
import { openInput } from '../open-rows.ts';

const fine = { sheets: [{ rows: textRow('a', 'b') + textRow('1', '2') }] } satisfies WorkbookSpec;
const head = textRow('a', 'b');
const withRows = (rows: string, more: Partial<WorkbookSpec> = {}) =>
  workbookOf({ sheets: [{ rows }], ...more });
const withParts = (parts: WorkbookSpec['parts']) => workbookOf({ ...fine, parts });

describe('a damaged workbook is refused, and the place is named', () => {
  const sheet = 'xl/worksheets/sheet1.xml';
  test.each<[string, Buffer, string]>([
    ['without its main part', withParts({ 'xl/workbook.xml': null }), 'it has no part xl/workbook.xml'],
    ['without the sheet', withParts({ [sheet]: null }), `its part ${sheet} is missing`],
    [
      'with broken XML',
      withRows(`${head}<row><c></row>`),
      `its part ${sheet} is not readable XML near row 2`,
    ],
    ['with XML that ends early', withParts({ [sheet]: '<worksheet><sheetData>' }), 'not readable XML'],
    [
      'with text that is not UTF-8',
      withParts({ [sheet]: Buffer.from(sheetXml('ä'), 'latin1') }),
      'is not UTF-8',
    ],
    ['with rows in disorder', withRows(`${head}<row r="5"/><row r="4"/>`), 'the row "4" after row 5'],
    [
      'with cells in disorder',
      withRows('<row><c r="B1"/><c r="A1"/></row>'),
      'the cell "A1" out of its place in row 1',
    ],
    [
      'with a cell beyond the last column',
      withRows('<row><c r="XFE1"/></row>'),
      'the cell "XFE1" out of its place',
    ],
    ['with a row beyond the last', withRows('<row r="1048577"/>'), 'the row "1048577"'],
    ['with an invalid number', withRows(head + row(cell('12a'))), 'no number in cell A2'],
    [
      'with a shared text that there is not',
      withRows(head + row(cell('1', 't="s"')), { strings: '<si/>' }),
      'in cell A2, and there are 1',
    ],
    [
      'with a type that is not known',
      withRows(head + row(cell('1', 't="x"'))),
      'cell A2 that is not of its type',
    ],
    ['with an invalid boolean', withRows(head + row(cell('2', 't="b"'))), 'cell A2 that is not of its type'],
    ['with elements nested too deep', withRows(`${head}${'<row>'.repeat(200)}`), 'nested too deeply'],
    [
      'with entities of its own',
      withParts({ [sheet]: `<!DOCTYPE a [<!ENTITY b "c">]>${sheetXml('')}` }),
      'document type',
    ],
    ['with an attribute twice', withRows('<row r="1" r="2"/>'), 'an attribute twice'],
  ])('%s', async (_, bytes, words) => {
    const refusal = await refusalOf(bytes);
    expect(refusal.message).toContain(words);
    expect(refusal).toMatchObject({ code: 'malformed_workbook', definition: { status: 422 } });
  });

  test('when its archive is cut off or changed', async () => {
    const whole = workbookOf(fine);
    for (const at of [10, 300, whole.length - 5]) {
      expect((await refusalOf(whole.subarray(0, at))).code).toBe('archive_broken');
    }
    const crcs = workbookEntries(fine).map((entry) => ({ ...entry, crc: 1 }));
    expect((await refusalOf(zipOf(crcs))).message).toContain('checksum');
  });
});

describe('an unsupported file is refused with its format and advice', () => {
  const compound = (stream: string) =>
    Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(6_000),
      Buffer.from(stream, 'utf16le'),
    ]);
  const zip = (...names: string[]) => zipOf(names.map((name) => ({ name, content: 'x' })));
  test.each<[string, string, Buffer]>([
    ['an old Excel workbook (XLS)', 'unsupported_format', compound('Workbook')],
    ['an old Excel or Word document', 'unsupported_format', compound('Other')],
    ['protected by a password', 'archive_encrypted', compound('EncryptedPackage')],
    ['a binary Excel workbook (XLSB)', 'unsupported_format', zip('[Content_Types].xml', 'xl/workbook.bin')],
    ['an OpenDocument file (ODS, ODT)', 'unsupported_format', zip('mimetype', 'content.xml')],
    ['a Word document (DOCX)', 'unsupported_format', zip('[Content_Types].xml', 'word/document.xml')],
    [
      'a PowerPoint presentation (PPTX)',
      'unsupported_format',
      zip('[Content_Types].xml', 'ppt/presentation.xml'),
    ],
    ['a Numbers, Pages or Keynote document', 'unsupported_format', zip('Index/Document.iwa')],
    ['a ZIP archive', 'unsupported_format', zip('photos/1.jpg')],
    ['protected by a password', 'archive_encrypted', zipOf([{ name: 'a', content: 'x', flags: 1 }])],
  ])('%s: %s', async (words, code, bytes) => {
    const refusal = await refusalOf(bytes);
    expect(refusal.code).toBe(code);
    expect(refusal.message).toContain(words);
    if (/\b(XLSB?|ODS|Numbers)\b/.test(words)) expect(refusal.message).toContain('save it as XLSX');
  });

  test('a plain archive is returned to a caller that wants archives, unless it is named like a workbook', async () => {
    const bytes = zip('photos/1.jpg');
    const input = await openInput(cutAt(bytes, []), { fileName: 'photos.zip' });
    if (input.kind !== 'zip') throw new Error('The archive was read as rows');
    expect(input.archive.entries.map(({ name }) => name)).toEqual(['photos/1.jpg']);
    input.archive.close();
    await expect(openInput(cutAt(bytes, []), { fileName: 'a.xlsx' })).rejects.toMatchObject({
      code: 'content_mismatch',
    });
  });
});

describe('a workbook is refused', () => {
  test('without the requested sheet, or without a visible one', async () => {
    const spec = {
      sheets: [
        { name: 'One', rows: head },
        { name: 'Two', rows: head },
      ],
    };
    const refusal = await refusalOf(workbookOf(spec), { sheet: 'Three' });
    expect(refusal.code).toBe('sheet_not_found');
    expect(refusal.message).toBe('The workbook has no sheet "Three". Its sheets are "One", "Two".');
    expect((await refusalOf(workbookOf(spec), { sheet: '3' })).code).toBe('sheet_not_found');
    const hidden = workbookOf({ sheets: [{ state: 'veryHidden', rows: head }] });
    expect((await refusalOf(hidden)).message).toContain('no visible sheet with cells');
  });

  test('without rows, or without a header', async () => {
    expect((await refusalOf(withRows(''))).code).toBe('empty_file');
    expect((await refusalOf(withRows(head))).message).toContain(
      '"Sheet1" has a header of 2 columns, but no row',
    );
    expect((await refusalOf(withRows(row(cell('#N/A', 't="e"'))))).code).toBe('empty_header');
  });

  test('with two columns of the same name', async () => {
    const refusal = await refusalOf(withRows(textRow('a', 'b', 'a') + textRow('1', '2', '3')));
    expect(refusal.code).toBe('duplicate_header');
    expect(refusal.message).toBe('Columns A and C of the header are both named "a".');
  });

  test('with a formula without a saved result', async () => {
    for (const result of ['', '<v></v>', '<v/>']) {
      const rows = `${head}<row><c><v>1</v></c><c><f>A1+1</f>${result}</c></row>`;
      const refusal = await refusalOf(withRows(rows));
      expect(refusal).toMatchObject({ code: 'formula_not_calculated', details: { row: 1, cell: 'B2' } });
      expect(refusal.message).toContain('Cell B2');
    }
  });

  test('with what no database can store', async () => {
    const inline = (text: string) => withRows(head + row(`<c t="inlineStr"><is><t>${text}</t></is></c>`));
    expect((await refusalOf(inline('a_x0000_'))).code).toBe('nul_character');
    expect((await refusalOf(inline('_xD800_'))).code).toBe('lone_surrogate');
    expect((await refusalOf(inline('&#xD800;'))).code).toBe('malformed_workbook');
    expect((await refusalOf(inline('&#0;'))).code).toBe('malformed_workbook');
    expect((await refusalOf(withRows(head + row(cell('1E+999'))))).code).toBe('number_out_of_range');
  });
});

describe('limits are those of all rows, and exact', () => {
  const limits = { columns: 3, cellBytes: 10, rowBytes: 16, rows: 2, columnNameLength: 5 };
  test.each([
    ['a cell', 'cell_too_large', textRow('a') + textRow('1234567890'), textRow('a') + textRow('12345678901')],
    [
      'a cell beyond ASCII',
      'cell_too_large',
      textRow('a') + textRow('ääääx'),
      textRow('a') + textRow('äääääx'),
    ],
    [
      'a cell of quotes',
      'cell_too_large',
      textRow('a') + textRow('""""""""'),
      textRow('a') + textRow('"""""""""""'),
    ],
    [
      'a row',
      'row_too_large',
      head + textRow('1234567890', '123456'),
      head + textRow('1234567890', '1234567'),
    ],
    [
      'columns',
      'too_many_columns',
      textRow('a', 'b', 'c') + textRow('1'),
      textRow('a', 'b', 'c', 'd') + textRow('1'),
    ],
    [
      'rows',
      'too_many_rows',
      head + textRow('1') + textRow('2'),
      head + textRow('1') + textRow('2') + textRow('3'),
    ],
    ['a name', 'header_too_long', textRow('abcde') + textRow('1'), textRow('abcdef') + textRow('1')],
  ])('%s', async (_, code, fits, exceeds) => {
    expect((await readRows(withRows(fits), { limits })).rows.length).toBeGreaterThan(0);
    const more = code === 'row_too_large' ? limits : { ...limits, rowBytes: 100 };
    expect((await refusalOf(withRows(exceeds), { limits: more })).code).toBe(code);
  });

  test('a file that is too large to be kept is refused', async () => {
    expect((await refusalOf(workbookOf(fine), { limits: { archiveBytes: 100 } })).code).toBe(
      'file_too_large',
    );
  });
});

// Where the system says which files are open. They have no name any more: nobody else's are counted.
test.runIf(process.platform === 'linux')(
  'a workbook that is refused by its header leaves no file open, however long it is',
  async () => {
    // More than one piece of the archive: the rest of the sheet is still to be read when the header is refused.
    const rows = Array.from({ length: 5_000 }, () => textRow(randomBytes(32).toString('hex'), 'b')).join('');
    const book = withRows(textRow('same', 'same') + rows);
    const before = new Set(temporaryFiles());
    // Those of earlier tests may be closed only now.
    const left = () => temporaryFiles().filter((file) => !before.has(file));
    expect(await refusalOf(cutAt(book, []))).toMatchObject({ code: 'duplicate_header' });
    await expect.poll(left, { timeout: 15_000 }).toEqual([]);
  },
);

function temporaryFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.includes('/sluice-') && target.endsWith('(deleted)') ? [target] : [];
    } catch {
      return [];
    }
  });
}
