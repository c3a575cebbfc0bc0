import type { SluiceError } from '../errors.ts';
import { findByteOrderMark } from '../formats/byte-order-mark.ts';
import { isZip, recogniseBinary } from '../formats/magic-bytes.ts';
import { readerErrors } from './errors.ts';
import type { Encoding } from './text-source.ts';
import type { RowFormat } from './types.ts';

/** Enough to see past a byte order mark and blank lines. */
export const sniffBytes = 4096;

/** The directory of an old Office document may be anywhere; usually it is within this range. */
export const compoundSniffBytes = 1024 * 1024;

/** What the sender says about a file. It is checked against the content, never trusted. */
export interface Declaration {
  declaredType?: string | undefined;
  fileName?: string | undefined;
}

export interface Detected {
  /** CSV and TSV are both `delimited` until the header shows the delimiter. */
  content: 'delimited' | 'json' | 'ndjson';
  /** The file is declared as TSV; the header must not contradict it. */
  isDeclaredTsv: boolean;
  encoding: Encoding;
  bomBytes: number;
  /** Nothing in the file says so, but its zero bytes do. */
  isGuessed: boolean;
}

/** How much may be assumed about a file that does not say everything itself. */
export interface DetectOptions extends Declaration {
  /** Instead of the detected one. */
  encoding?: Encoding | undefined;
  /** Whether text that looks like UTF-16 may lack its byte order mark. */
  repair?: boolean | undefined;
}

type ClaimedFormat = RowFormat | 'zip' | 'binary';
type Claim = { format: ClaimedFormat; words: string } | null;

/**
 * Decides by the first bytes what a file is, and refuses what cannot be read or is not what it claims to be. Whether an
 * archive is a workbook shows when it is opened.
 */
export function detect(start: Buffer, options: DetectOptions): Detected | { content: 'archive' } {
  if (isZip(start)) return { content: 'archive' };
  const binary = recogniseBinary(start);
  if (binary !== null) throw unsupportedFormat(binary);
  const { encoding, bomBytes, isGuessed } = detectEncoding(start, options);
  const text = decodeStart(start.subarray(bomBytes), encoding);
  if (start.length < sniffBytes && text.trim() === '') {
    throw readerErrors.raise.empty_file(
      `The file is empty: it has ${start.length} bytes and no text in them.`,
    );
  }
  if (!encoding.startsWith('utf-16')) refuseBinaryText(start);
  const claim = findClaim(options);
  const content = detectContent(text, claim);
  if (claim !== null && contradicts(claim, content)) throw mismatch({ claim, content, text });
  return { content, encoding, bomBytes, isGuessed, isDeclaredTsv: claim?.format === 'tsv' };
}

type FoundEncoding = Pick<Detected, 'encoding' | 'bomBytes' | 'isGuessed'>;

function detectEncoding(start: Buffer, { encoding, repair }: DetectOptions): FoundEncoding {
  const marked = findByteOrderMark(start);
  if (encoding !== undefined) {
    return { encoding, bomBytes: marked?.encoding === encoding ? marked.bomBytes : 0, isGuessed: false };
  }
  if (marked !== null) return { ...marked, isGuessed: false };
  const guessed = guessUtf16(start);
  if (guessed === null) return { encoding: 'utf-8', bomBytes: 0, isGuessed: false };
  if (repair) return { encoding: guessed, bomBytes: 0, isGuessed: true };
  throw readerErrors.raise.invalid_encoding(
    'The text looks like UTF-16, but has no byte order mark at byte 0, which is required.',
    { details: { byte_offset: 0, line: 1 } },
  );
}

/** Latin text in UTF-16 has a zero in every other byte, always on the same side. */
function guessUtf16(start: Buffer): 'utf-16le' | 'utf-16be' | null {
  if (!start.includes(0)) return null;
  let even = 0;
  let odd = 0;
  for (let at = start.indexOf(0); at !== -1; at = start.indexOf(0, at + 1)) {
    if (at % 2 === 0) even += 1;
    else odd += 1;
  }
  if (Math.max(even, odd) <= start.length / 4 || Math.min(even, odd) >= start.length / 20) return null;
  return odd > even ? 'utf-16le' : 'utf-16be';
}

/** Good enough for detection: the reader finds wrong bytes and can say where they are. */
function decodeStart(bytes: Buffer, encoding: Encoding): string {
  if (encoding === 'utf-8') return bytes.toString('utf8');
  if (!encoding.startsWith('utf-16')) return bytes.toString('latin1');
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  return (encoding === 'utf-16le' ? even : Buffer.from(even).swap16()).toString('utf16le');
}

/** Fewer control characters than this are mistakes in a text, however short the text is. */
const fewControls = 16;

/** A stray NUL is an error of one value, with its place. Many of them mean binary data. */
function refuseBinaryText(start: Buffer): void {
  let controls = 0;
  for (const byte of start) if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13) controls += 1;
  if (controls > Math.max(fewControls, start.length / 10)) throw unsupportedFormat('binary and not text');
}

type Content = Detected['content'];

function detectContent(text: string, claim: Claim): Content {
  const seen = /^\s*(?:(\[)\s*(\{|\])?|(\{)\s*(["}])?)/.exec(text);
  if (seen !== null) {
    const [, array, arrayGoesOn, , objectGoesOn] = seen;
    // A header may begin with a bracket, so only what follows it makes JSON certain.
    const isCertain = arrayGoesOn !== undefined || objectGoesOn !== undefined;
    const isClaimedDelimited = claim?.format === 'csv' || claim?.format === 'tsv';
    if (isCertain || !isClaimedDelimited) return array === undefined ? 'ndjson' : 'json';
  }
  const markup = /^\s*<(!doctype html|html|\?xml)/i.exec(text);
  if (markup !== null) throw unsupportedFormat(markup[1] === '?xml' ? 'XML' : 'an HTML page');
  return 'delimited';
}

/** CSV and JSON may be confused when the content is clear; no other wrong claim is accepted. */
function contradicts(claim: NonNullable<Claim>, content: Content): boolean {
  if (claim.format === 'binary' || claim.format === 'xlsx' || claim.format === 'zip') return true;
  return content === 'delimited' && (claim.format === 'json' || claim.format === 'ndjson');
}

const types: [RegExp, ClaimedFormat][] = [
  [/^(text|application)\/csv$/, 'csv'],
  [/^text\/tab-separated-values$/, 'tsv'],
  [/^application\/(x-)?(ndjson|jsonl|jsonlines|json-seq)$/, 'ndjson'],
  [/^(text|application)\/(json|[\w.-]+\+json)$/, 'json'],
  [/^application\/vnd\.openxmlformats-officedocument\.spreadsheetml\.(sheet|template)$/, 'xlsx'],
  [/^application\/vnd\.ms-excel\.sheet\.macroenabled\.12$/, 'xlsx'],
  [/^application\/(x-)?zip(-compressed)?$/, 'zip'],
  [/^(image|audio|video|font)\//, 'binary'],
  [/^application\/(pdf|gzip|x-gzip|x-7z-compressed|vnd\.openxmlformats-officedocument\..+)$/, 'binary'],
];

const extensions: [RegExp, ClaimedFormat][] = [
  [/\.csv$/, 'csv'],
  [/\.(tsv|tab)$/, 'tsv'],
  [/\.(ndjson|jsonl)$/, 'ndjson'],
  [/\.json$/, 'json'],
  [/\.xls[xm]$/, 'xlsx'],
  [/\.zip$/, 'zip'],
  [/\.(xls|xlsb|ods|docx?|pdf|gz|7z|png|jpe?g|gif|webp|bmp|tiff?|parquet|avro)$/, 'binary'],
];

/**
 * The declared type counts before the name. Types that say nothing (octet-stream, plain text, and Excel's, which
 * browsers on Windows give to CSV files) leave it to the name.
 */
function findClaim({ declaredType, fileName }: Declaration): Claim {
  const type = declaredType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const byType = types.find(([pattern]) => pattern.test(type));
  if (byType !== undefined) return { format: byType[1], words: `declared as ${shorten(type)}` };
  const name = fileName?.trim().toLowerCase() ?? '';
  const byName = extensions.find(([pattern]) => pattern.test(name));
  const extension = name.slice(name.lastIndexOf('.'));
  return byName === undefined ? null : { format: byName[1], words: `named ${extension}` };
}

/** An archive is a workbook or not, whatever its name; but it must not be declared as an image. */
export function assertArchiveClaim(declaration: Declaration, kind: 'workbook' | 'zip'): void {
  const claim = findClaim(declaration);
  if (claim?.format !== 'binary' && !(claim?.format === 'xlsx' && kind === 'zip')) return;
  const holds = kind === 'workbook' ? 'an Excel workbook (XLSX)' : 'a ZIP archive without a workbook';
  throw readerErrors.raise.content_mismatch(`The file is ${claim.words}, but holds ${holds}.`, {
    details: { declared: claim.words, detected: kind === 'workbook' ? 'xlsx' : 'zip' },
  });
}

/** `start`: as much of the file as is available. */
export function compoundFile(start: Buffer): SluiceError {
  const has = (stream: string) => start.includes(Buffer.from(stream, 'utf16le'));
  if (has('EncryptedPackage')) {
    return readerErrors.raise.archive_encrypted(
      'The file is encrypted: it is an Office document that is protected by a password.',
    );
  }
  const isExcel = has('Workbook') || has('Book');
  return unsupportedFormat(
    isExcel ? 'an old Excel workbook (XLS)' : 'an old Excel or Word document (XLS, DOC)',
  );
}

/** `what` completes "The file is …". */
export function unsupportedFormat(what: string): SluiceError {
  const advice = /XLS|ODS|Numbers/.test(what) ? ' Open it in a spreadsheet program and save it as XLSX.' : '';
  return readerErrors.raise.unsupported_format(
    `The file is ${what}. Rows are read from XLSX, CSV, TSV, JSON (an array of objects) and NDJSON (one object ` +
      `per line).${advice}`,
    { details: { detected: what } },
  );
}

const contentNames = { delimited: 'text that is not JSON', json: 'a JSON array', ndjson: 'JSON objects' };

function mismatch({ claim, content, text }: { claim: NonNullable<Claim>; content: Content; text: string }) {
  const begins = JSON.stringify(shorten(text.trimStart().split(/[\r\n]/)[0] ?? ''));
  return readerErrors.raise.content_mismatch(
    `The file is ${claim.words}, but holds ${contentNames[content]}: it begins with ${begins}.`,
    { details: { declared: claim.words, detected: content } },
  );
}

function shorten(text: string): string {
  const characters = [...text.slice(0, 80)];
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('');
}
