import { gzipSync } from 'node:zlib';
import { type FormPart, formBytes, repeated } from './multipart-body.ts';

/** A request as it is sent; the content type is that of a form unless the headers say otherwise. */
export type Sent = { body: Iterable<Uint8Array>; headers?: Record<string, string> };

export const file = (content: FormPart['content'], more: Partial<FormPart> = {}): FormPart => ({
  name: 'file',
  fileName: 'rows.csv',
  content,
  ...more,
});
export const field = (name: string, content: string, more: Partial<FormPart> = {}): FormPart => ({
  name,
  content,
  ...more,
});
export const form = (...parts: FormPart[]): Sent => ({ body: formBytes(parts) });

/** Enough that several batches are in the database before the end of the file is read. */
export const manyRows = 'a,b\n'.concat('1,2\n'.repeat(20_000));
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const zip = Buffer.from('504b03041400000008000000', 'hex');
export const wideHeader = Array.from({ length: 10_000 }, (_, at) => `column ${at}`).join(',');

/** What is wrong with an upload, and the expected response. */
interface Refused {
  sent: () => Sent;
  status: number;
  code: string;
  detail: RegExp;
}

export const brokenFiles: Record<string, Refused> = {
  'a quote that is never closed, after 20,000 good rows': {
    sent: () => form(file(`${manyRows}3,"open`)),
    status: 422,
    code: 'truncated_file',
    detail: /Row 20001 \(line 20002\), column 2 opens a quote/,
  },
  'a row with too few cells, after 20,000 good rows': {
    sent: () => form(field('strict', 'true'), file(`${manyRows}3\n`)),
    status: 422,
    code: 'ragged_row',
    detail: /Row 20001 .* has 1 cells, but the header has 2/,
  },
  'a JSON array that is cut off': {
    sent: () => form(file('[{"a":1},{"a":', { fileName: 'rows.json' })),
    status: 422,
    code: 'truncated_file',
    detail: /Row 2 \(line 1\) is not closed/,
  },
  'an NDJSON file that is cut off, after 20,000 good rows': {
    sent: () => form(file(`${'{"a":1}\n'.repeat(20_000)}{"a":`, { fileName: 'rows.ndjson' })),
    status: 422,
    code: 'truncated_file',
    detail: /Row 20001 \(line 20001\) is not closed/,
  },
  'JSON with a key twice': {
    sent: () => form(file('[{"a":1,"a":2}]', { fileName: 'rows.json' })),
    status: 422,
    code: 'duplicate_key',
    detail: /Row 1 .*same key/,
  },
  'a number that would be a row of 100,000 digits': {
    sent: () => form(file('[{"a":1e100000}]', { fileName: 'rows.json' })),
    status: 422,
    code: 'number_out_of_range',
    detail: /exponents up to 400/,
  },
  'a NUL character': {
    sent: () => form(file('a,b\n1,x\0y\n')),
    status: 422,
    code: 'nul_character',
    detail: /Row 1 \(line 2\), column 2 \("b"\)/,
  },
  'half a surrogate pair': {
    sent: () => form(file('{"a":"\\ud800"}\n', { fileName: 'rows.ndjson' })),
    status: 422,
    code: 'lone_surrogate',
    detail: /Row 1 \(line 1\), column "a"/,
  },
  'bytes that are not UTF-8': {
    sent: () => form(field('strict', 'true'), file(Buffer.from('a\nM\xfcnchen\n', 'latin1'))),
    status: 422,
    code: 'invalid_encoding',
    detail: /byte/,
  },
  'a PNG that is called CSV': {
    sent: () => form(file(png, { mediaType: 'text/csv' })),
    status: 415,
    code: 'unsupported_format',
    detail: /PNG.*CSV, TSV, JSON/,
  },
  'the start of a ZIP that is called CSV': {
    sent: () => form(file(zip, { mediaType: 'text/csv' })),
    status: 422,
    code: 'archive_broken',
    detail: /archive/,
  },
  'the start of an XLSX workbook that is called CSV': {
    sent: () => form(file(Buffer.concat([zip, Buffer.alloc(14), Buffer.from('xl/workbook.xml')]))),
    status: 422,
    code: 'archive_broken',
    detail: /archive/,
  },
  'a gzip file': {
    sent: () => form(file(gzipSync('a\n1\n'))),
    status: 415,
    code: 'unsupported_format',
    detail: /gzip/i,
  },
  'CSV that is declared as JSON': {
    sent: () => form(file('a,b\n1,2\n', { mediaType: 'application/json' })),
    status: 415,
    code: 'content_mismatch',
    detail: /declared as application\/json.*begins with "a,b"/,
  },
  'CSV that is declared as an image': {
    sent: () => form(file('a,b\n1,2\n', { mediaType: 'image/png' })),
    status: 415,
    code: 'content_mismatch',
    detail: /declared as image\/png/,
  },
  '10,000 columns': {
    sent: () => form(file([Buffer.from(`${wideHeader}\n`)])),
    status: 422,
    code: 'too_many_columns',
    detail: /more than 1000 columns/,
  },
  'two columns of one name': {
    sent: () => form(field('strict', 'true'), file('sku,title,sku\n1,2,3\n')),
    status: 422,
    code: 'duplicate_header',
    detail: /Columns 1 and 3 .*"sku"/,
  },
  'a file without a byte': {
    sent: () => form(file('')),
    status: 422,
    code: 'empty_file',
    detail: /0 bytes/,
  },
  'a header and no row': {
    sent: () => form(file('a,b\n')),
    status: 422,
    code: 'no_rows',
    detail: /no rows|no row/,
  },
  'an empty JSON array': {
    sent: () => form(file('[]', { fileName: 'rows.json' })),
    status: 422,
    code: 'no_rows',
    detail: /list of rows is empty/,
  },
};

export const brokenForms: Record<string, Refused> = {
  'no file': {
    sent: () => form(field('processor', 'noop')),
    status: 400,
    code: 'file_missing',
    detail: /no part named file/,
  },
  'no part at all': {
    sent: () => form(),
    status: 400,
    code: 'file_missing',
    detail: /no part named file/,
  },
  'the options twice': {
    sent: () => form(field('options', '{}'), field('options', '{"a":1}'), file('a\n1\n')),
    status: 400,
    code: 'form_invalid',
    detail: /options.*twice/,
  },
  'options that are not JSON': {
    sent: () => form(field('options', '{a:1}'), file('a\n1\n')),
    status: 400,
    code: 'form_invalid',
    detail: /options is not JSON/,
  },
  'options that are declared as JSON and are none': {
    sent: () => form(field('options', '{a:1}', { mediaType: 'application/json' }), file('a\n1\n')),
    status: 400,
    code: 'form_invalid',
    detail: /not JSON/,
  },
  'options of more than 256 KiB': {
    sent: () => form(field('options', JSON.stringify({ a: 'x'.repeat(300_000) })), file('a\n1\n')),
    status: 413,
    code: 'upload_too_large',
    detail: /options.*262144 bytes/,
  },
  'options that the processor does not know': {
    sent: () => form(field('options', '{"speed":9}'), file('a\n1\n')),
    status: 422,
    code: 'processor_options_invalid',
    detail: /noop/,
  },
  'a processor that nobody knows': {
    sent: () => form(field('processor', 'magic'), file('a\n1\n')),
    status: 422,
    code: 'processor_unknown',
    detail: /magic.*noop/,
  },
  'a field that nobody knows': {
    sent: () => form(field('procesor', 'validate'), file('a\n1\n')),
    status: 400,
    code: 'form_invalid',
    detail: /"procesor".*processor, options, sheet, template, file/,
  },
  'a field named after a prototype': {
    sent: () => form(field('__proto__', '{}'), file('a\n1\n')),
    status: 400,
    code: 'form_invalid',
    detail: /allowed|may not/,
  },
  'a field behind the file that nobody knows': {
    sent: () => form(file(manyRows), field('procesor', 'validate')),
    status: 400,
    code: 'form_invalid',
    detail: /"procesor".*processor, options, sheet, template, file/,
  },
  'a processor behind the file that nobody knows': {
    sent: () => form(file(manyRows), field('processor', 'magic')),
    status: 422,
    code: 'processor_unknown',
    detail: /magic.*noop/,
  },
  'options behind the file that the processor does not know': {
    sent: () => form(field('processor', 'noop'), file(manyRows), field('options', '{"speed":9}')),
    status: 422,
    code: 'processor_options_invalid',
    detail: /noop/,
  },
  'the processor image behind a file of rows': {
    sent: () => form(file(manyRows), field('processor', 'image')),
    status: 422,
    code: 'processor_needs_images',
    detail: /image/,
  },
  'two files': {
    sent: () => form(file('a\n1\n'), file('a\n2\n')),
    status: 400,
    code: 'form_invalid',
    detail: /one file/,
  },
  'a file in a part of another name': {
    sent: () => form(file('a\n1\n', { name: 'upload' })),
    status: 400,
    code: 'form_invalid',
    detail: /upload.*only the part file/,
  },
  'a file in base64, which would be read as one long name': {
    sent: () => form(file('YQoxCg==', { headers: { 'content-transfer-encoding': 'base64' } })),
    status: 400,
    code: 'form_invalid',
    detail: /base64/,
  },
  'a form whose last boundary is missing': {
    sent: () => ({ body: formBytes([file(manyRows)], { isClosed: false }) }),
    status: 400,
    code: 'upload_aborted',
    detail: /final boundary/,
  },
  'a form whose boundary never comes': {
    sent: () => ({ body: repeated('no boundary here ', 8 * 1024 * 1024) }),
    status: 400,
    code: 'upload_aborted',
    detail: /final boundary/,
  },
  'a content type without a boundary': {
    sent: () => ({ ...form(file('a\n1\n')), headers: { 'content-type': 'multipart/form-data' } }),
    status: 400,
    code: 'form_invalid',
    detail: /boundary/,
  },
  'a request that is compressed': {
    sent: () => ({
      body: [gzipSync(Buffer.concat([...formBytes([file('a\n1\n')])]))],
      headers: { 'content-encoding': 'gzip' },
    }),
    status: 415,
    code: 'unsupported_format',
    detail: /content-encoding gzip/,
  },
  'a content type that is not taken': {
    sent: () => ({ body: [Buffer.from('a\n1\n')], headers: { 'content-type': 'text/csv' } }),
    status: 415,
    code: 'unsupported_media_type',
    detail: /media type/,
  },
  'JSON that names no file': {
    sent: () => ({ body: [Buffer.from('{"file":"x"}')], headers: { 'content-type': 'application/json' } }),
    status: 400,
    code: 'form_invalid',
    detail: /fileRef/,
  },
};
