import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readRows, refusalOf } from '../../../test/generators/read-rows.ts';
import { encode } from '../../../test/generators/row-documents.ts';
import { zipOf } from '../../../test/generators/zip-archive.ts';

const csv = 'sku,title\n1,one\n';

describe('the content decides', () => {
  test.each([
    ['CSV', csv, 'csv'],
    ['CSV with semicolons', 'sku;title, long\n1;"a;b"\n', 'csv'],
    ['CSV with bars', 'sku|title\n1|a,b;c\n', 'csv'],
    ['CSV with spaces behind the commas', 'a, b, c;d\n1, 2, 3\n', 'csv'],
    ['TSV', 'sku\ttitle, long\n1\tone\n', 'tsv'],
    ['a JSON array', ' \n[ {"sku":"1"}]', 'json'],
    ['NDJSON', '{"sku":"1"}\n{"sku":"2"}', 'ndjson'],
    ['one JSON object over several lines', '{\n  "sku": "1"\n}\n', 'ndjson'],
  ])('%s is recognised without a declaration', async (_, text, format) => {
    expect(await readRows(text)).toMatchObject({ format });
  });

  test('a JSON text under the name of a CSV file is read as JSON', async () => {
    const options = { fileName: 'rows.csv', declaredType: 'text/csv; charset=utf-8' };
    expect(await readRows('[{"sku":"1"}]', options)).toMatchObject({ format: 'json', rows: ['{"sku":"1"}'] });
  });

  test('a delimiter inside quotes in the header does not count', async () => {
    const { columns, delimiter } = await readRows('"a,b,c,d";e\n1;2\n');
    expect({ columns, delimiter }).toEqual({ columns: ['a,b,c,d', 'e'], delimiter: ';' });
  });

  test('a requested delimiter wins over the one in the header', async () => {
    expect(await readRows('a,b|c\n1|2\n', { delimiter: '|' })).toMatchObject({ columns: ['a,b', 'c'] });
  });

  test('a header that begins with a bracket is a header when the file is declared as CSV', async () => {
    expect(await readRows('[id],name\n1,2\n', { fileName: 'x.csv' })).toMatchObject({
      columns: ['[id]', 'name'],
    });
  });

  test("Excel's type, which browsers give to CSV files, says nothing", async () => {
    expect(await readRows(csv, { declaredType: 'application/vnd.ms-excel' })).toMatchObject({
      format: 'csv',
    });
  });
});

describe('a wrong declaration is refused', () => {
  test.each([
    ['JSON', { declaredType: 'application/json' }, csv],
    ['JSON by its name', { fileName: 'rows.JSON', declaredType: 'application/octet-stream' }, csv],
    ['NDJSON', { declaredType: 'application/x-ndjson' }, csv],
    ['an image', { declaredType: 'image/png' }, csv],
    ['a workbook', { fileName: 'rows.xlsx' }, csv],
    ['an archive', { declaredType: 'application/zip' }, csv],
    ['a workbook', { fileName: 'rows.xlsx' }, '[{"a":1}]'],
    ['TSV', { fileName: 'rows.tsv' }, csv],
  ])('as %s', async (_, declaration, text) => {
    const refusal = await refusalOf(text, declaration);
    expect(refusal).toMatchObject({ code: 'content_mismatch', definition: { status: 415 } });
    expect(refusal.message).toMatch(/^The file is (declared as|named) \S+/);
  });

  test('with a message that shows how the file begins', async () => {
    const refusal = await refusalOf(csv, { declaredType: 'application/json' });
    expect(refusal.message).toContain('begins with "sku,title"');
  });
});

describe('what is not text is named and refused', () => {
  test.each([
    ['a ZIP archive', zipOf([{ name: 'photos/1.jpg', content: 'x' }])],
    ['a gzip archive', gzipSync(csv)],
    ['a PDF document', Buffer.from('%PDF-1.7\n')],
    ['a PNG image', Buffer.from('89504e470d0a1a0a0000000d', 'hex')],
    ['a JPEG image', Buffer.from('ffd8ffe000104a46', 'hex')],
    ['a WebP image', Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1')],
    ['UTF-32 text', Buffer.from('fffe0000610000002c000000', 'hex')],
    ['an HTML page', Buffer.from('<!DOCTYPE html><title>Log in</title>')],
    ['XML', Buffer.from('<?xml version="1.0"?><rows/>')],
    ['binary and not text', Buffer.from(Array.from({ length: 300 }, (_, at) => (at * 7) % 31))],
  ])('%s', async (what, bytes) => {
    const refusal = await refusalOf(bytes, { fileName: 'rows.csv', declaredType: 'text/csv' });
    expect(refusal).toMatchObject({ code: 'unsupported_format', details: { detected: what } });
    expect(refusal.definition.status).toBe(415);
    expect(refusal.message).toContain('CSV, TSV, JSON');
  });

  test('columns named like the first bytes of a binary format are text', async () => {
    expect(await readRows('PAR1,BMW\n1,2\n')).toMatchObject({ columns: ['PAR1', 'BMW'] });
  });
});

describe('encodings', () => {
  const text = 'größe,名前\nÄ,\u{1f600}\n';
  test.each(['utf-8', 'utf-8 with bom', 'utf-16le', 'utf-16be'])(
    '%s is decoded, without the mark',
    async (name) => {
      const { rows, columns } = await readRows(encode(text, name));
      expect(columns).toEqual(['größe', '名前']);
      expect(rows).toEqual(['{"größe":"Ä","名前":"\u{1f600}"}']);
    },
  );

  test.each([
    ['a byte of Latin-1', Buffer.from('a\nstra\xdfe\n', 'latin1'), 6],
    ['an overlong form', Buffer.from([0x61, 10, 0xc0, 0x80, 10]), 2],
    ['a surrogate in UTF-8', Buffer.from([0x61, 10, 0xed, 0xa0, 0x80, 10]), 2],
    ['a wrong byte after a mark', Buffer.from([0xef, 0xbb, 0xbf, 0x61, 10, 0xff, 10]), 5],
    ['a character that is cut off', Buffer.from([0x61, 10, 0x62, 0xe2, 0x82]), 3],
    ['half a pair in UTF-16', Buffer.from('\ufeffa\nb\ud800c\n', 'utf16le'), 8],
    ['half a unit of UTF-16', Buffer.concat([encode('a\nb', 'utf-16be'), Buffer.from([0])]), 8],
  ])('%s is refused with its offset, wherever the bytes are split', async (_, bytes, offset) => {
    for (const pieceBytes of [1, 2, 3, 5, 1000]) {
      const refusal = await refusalOf(bytes, { limits: { pieceBytes } });
      expect(refusal).toMatchObject({ code: 'invalid_encoding', details: { byte_offset: offset } });
      expect(refusal.message).toContain(`at byte ${offset}.`);
    }
  });

  test('UTF-16 without a mark is recognised, and the message says what is missing', async () => {
    const refusal = await refusalOf(Buffer.from(csv, 'utf16le'));
    expect(refusal.code).toBe('invalid_encoding');
    expect(refusal.message).toContain('no byte order mark');
  });

  test('a problem in a row is reported before a wrong byte that comes later', async () => {
    const refusal = await refusalOf(Buffer.from('a,b\n1\nstra\xdfe,2\n', 'latin1'));
    expect(refusal.code).toBe('ragged_row');
  });
});
