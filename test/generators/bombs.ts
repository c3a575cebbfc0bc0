import { deflateRawSync, gzipSync } from 'node:zlib';
import { type FormPart, formBytes, repeated } from './multipart-body.ts';
import { workbookBombs } from './workbook-bombs.ts';

const mebibyte = 1024 * 1024;
const sizeBytes = 24 * mebibyte;

/** Small to send or endless to read; made while it is sent, so that only the receiver can run out of memory. */
export interface Bomb {
  what: string;
  headers?: Record<string, string>;
  /** Of the file, or of the whole request when `isRequest`. */
  content: () => Iterable<Uint8Array>;
  isRequest?: true;
  path?: string;
}

const text = (value: string) => () => [Buffer.from(value)];
const after = (first: string, piece: string) =>
  function* (): Generator<Uint8Array> {
    yield Buffer.from(first);
    yield* repeated(piece, sizeBytes);
  };
const zeros = () => Buffer.alloc(16 * mebibyte);

/** One entry that says it is small and is not. */
function zipBomb(name: string): Buffer {
  const packed = deflateRawSync(zeros());
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(packed.length, 18);
  head.writeUInt32LE(10, 22);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, Buffer.from(name), packed]);
}

/** Files that a reader of rows or of reports must not choke on. */
export const fileBombs: readonly Bomb[] = [
  { what: 'a gzip bomb', content: () => [gzipSync(zeros())] },
  { what: 'a gzip bomb in a gzip file', content: () => [gzipSync(gzipSync(zeros()))] },
  { what: 'a zip bomb', content: () => [zipBomb('rows.csv')] },
  { what: 'a workbook that is a zip bomb', content: () => [zipBomb('xl/worksheets/sheet1.xml')] },
  { what: 'a line without an end', content: after('Day,b\n1,', 'x') },
  { what: 'a header without an end', content: after('Day', ',column') },
  { what: 'a quote without an end', content: after('Day,b\n1,"', 'x,y\n') },
  { what: 'nothing but doubled quotes', content: after('Day,b\n1,"', '""') },
  { what: 'a row of empty cells', content: after('Day,b\n1', ',') },
  { what: 'nothing but delimiters', content: after('', ',') },
  { what: 'nothing but NUL', content: after('', '\0') },
  { what: 'nothing but byte order marks', content: after('', '\ufeff') },
  { what: 'a JSON string without an end', content: after('[{"a":"', 'x') },
  { what: 'JSON arrays within arrays', content: after('[{"a":', '[') },
  { what: 'JSON objects within objects', content: after('[', '{"a":') },
  { what: 'JSON backslashes without an end', content: after('[{"a":"', '\\') },
  { what: 'a JSON row of very many fields', content: after('[{"a":1', ',"b":1') },
  { what: 'a JSON number of very many digits', content: after('[{"a":1', '0') },
  { what: 'a number with a huge exponent', content: text('[{"a":1e100000}]') },
  { what: 'JSON spaces without an end', content: after('[', ' ') },
  {
    what: 'entities that multiply',
    content: text(
      '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><l>&b;&b;&b;&b;</l>',
    ),
  },
  ...workbookBombs,
];

const part = (name: string, content: FormPart['content'], more: Partial<FormPart> = {}): FormPart => ({
  name,
  content,
  ...more,
});
const many = (count: number, make: (at: number) => FormPart) =>
  Array.from({ length: count }, (_, at) => make(at));
const json = { 'content-type': 'application/json' };
const nested = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;

/** Whole requests; without a path they go to where files are sent. */
export const requestBombs: readonly Bomb[] = [
  {
    what: 'a compressed request',
    isRequest: true,
    headers: { 'content-encoding': 'gzip' },
    content: () => [gzipSync(zeros())],
  },
  {
    what: 'ten thousand fields',
    isRequest: true,
    content: () => formBytes(many(10_000, (at) => part(`f${at}`, 'x'))),
  },
  {
    what: 'a field of many megabytes',
    isRequest: true,
    content: () => formBytes([part('options', repeated('x', sizeBytes))]),
  },
  {
    what: 'a boundary that never comes',
    isRequest: true,
    content: () => repeated('no boundary ', sizeBytes),
  },
  {
    what: 'a JSON body nested very deep',
    isRequest: true,
    path: '/api/workspaces',
    headers: json,
    content: text(nested),
  },
  {
    what: 'a JSON body without an end',
    isRequest: true,
    path: '/api/workspaces',
    headers: json,
    content: after('{"name":"', 'x'),
  },
  {
    what: 'a JSON body that would change prototypes',
    isRequest: true,
    path: '/api/workspaces',
    headers: json,
    content: text('{"__proto__":{"isAdmin":true},"name":"x"}'),
  },
];
