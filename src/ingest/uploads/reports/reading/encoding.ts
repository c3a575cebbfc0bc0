import { isAscii, isUtf8 } from 'node:buffer';
import { ByteSource } from '../../../../lib/formats/byte-source.ts';
import { utf8Length, wholeUtf8Bytes } from '../../../../lib/formats/utf8.ts';
import { isShiftJisLead, isShiftJisTrail } from './code-pages.ts';
import { encodingOfStart, sniffBytes } from './sniff.ts';
import type { Encoding, OpenBytes, ReadingLimits } from './types.ts';

export interface FoundEncoding {
  encoding: Encoding;
  bomBytes: number;
  /** The bytes prove only that it is not Unicode; the header says more. */
  isGuess?: boolean;
}

/** How much text is examined after the first piece that is not UTF-8. */
const sampleBytes = 1024 * 1024;

/** This many UTF-8 characters, and nothing else beyond ASCII, cannot be a coincidence. */
const certainCharacters = 1_000;

/**
 * The encoding of a file. Without a byte order mark the file is read until the encoding is clear: the first name with
 * an accent may come after megabytes of ASCII. 50 MB take about 20 ms.
 */
export async function detectEncoding(open: OpenBytes, limits: ReadingLimits): Promise<FoundEncoding> {
  const source = new ByteSource(open(0), limits.pieceBytes);
  try {
    const known = encodingOfStart(await source.peek(sniffBytes));
    if (known !== null) return known;
    const encoding = await lookThrough(source, limits);
    return { encoding, bomBytes: 0, isGuess: encoding !== 'utf-8' };
  } finally {
    await source.close();
  }
}

async function lookThrough(source: ByteSource, limits: ReadingLimits): Promise<Encoding> {
  let seen = 0;
  let utf8Characters = 0;
  let carry: Buffer = Buffer.alloc(0);
  while (seen < limits.encodingBytes) {
    const piece = await source.next();
    // A cut-off character at the end of the file does not change its encoding.
    if (piece === null) return utf8Characters > 0 || carry.length === 0 ? 'utf-8' : guessLegacy(carry);
    seen += piece.length;
    const bytes = carry.length > 0 ? Buffer.concat([carry, piece]) : piece;
    const whole = bytes.subarray(0, wholeUtf8Bytes(bytes));
    if (!isUtf8(whole)) return judge(await sample(source, bytes), utf8Characters);
    if (!isAscii(whole)) utf8Characters += countUtf8(whole).characters;
    if (utf8Characters >= certainCharacters) return 'utf-8';
    carry = Buffer.from(bytes.subarray(whole.length));
  }
  return 'utf-8';
}

async function sample(source: ByteSource, first: Buffer): Promise<Buffer> {
  const parts = [first];
  for (let bytes = first.length; bytes < sampleBytes; ) {
    const piece = await source.next();
    if (piece === null) break;
    parts.push(piece);
    bytes += piece.length;
  }
  return Buffer.concat(parts);
}

/** Valid UTF-8 is hardly ever a coincidence, so a text that is nearly all UTF-8 is damaged UTF-8. */
const damageShare = 1 / 10;

function judge(bytes: Buffer, utf8Before: number): Encoding {
  const { characters, wrong } = countUtf8(bytes);
  if (wrong <= (utf8Before + characters) * damageShare) return 'utf-8';
  return guessLegacy(bytes);
}

/** Counts characters beyond ASCII, and bytes that belong to no character. */
function countUtf8(bytes: Buffer): { characters: number; wrong: number } {
  let characters = 0;
  let wrong = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = utf8Length(bytes, at);
    if (length > 1) characters += 1;
    if (length === 0) wrong += 1;
    at += length || 1;
  }
  return { characters, wrong };
}

interface Evidence {
  japanese: number;
  latin: number;
  pairs: number;
}

/**
 * Shift_JIS or Windows-1252. Validity decides little: "é" and the letter after it are a valid pair of Shift_JIS. The
 * context decides: Japanese characters come in runs of pairs whose lead bytes would be quotes, dashes and control
 * characters in Windows-1252; letters with accents and typographic quotes are surrounded by ASCII letters.
 */
export function guessLegacy(bytes: Buffer): 'shift_jis' | 'windows-1252' {
  const evidence: Evidence = { japanese: 0, latin: 0, pairs: 0 };
  let at = 0;
  while (at < bytes.length) {
    if ((bytes[at] ?? 0) < 0x80) at += 1;
    else at = weighRun(bytes, at, evidence);
  }
  const { japanese, latin, pairs } = evidence;
  if (japanese === latin) return pairs > 0 && latin === 0 ? 'shift_jis' : 'windows-1252';
  return japanese > latin ? 'shift_jis' : 'windows-1252';
}

/** Weighs a run of Shift_JIS characters beyond ASCII and returns where it ends. */
function weighRun(bytes: Buffer, from: number, evidence: Evidence): number {
  const run = measureRun(bytes, from);
  evidence.pairs += run.pairs;
  if (run.isBroken) evidence.latin += 2;
  if (run.typicalLeads > 0 && run.pairs > 1) evidence.japanese += run.pairs;
  else if (run.pairs === 0 && run.halfwidth > 3) evidence.japanese += run.halfwidth / 2;
  else if (run.pairs > 0 && (run.typicalLeads === 0 || run.endsLikeLetter)) evidence.latin += run.pairs;
  else if (run.pairs === 0) evidence.latin += run.halfwidth / 4;
  return run.end;
}

function measureRun(bytes: Buffer, from: number) {
  const run = { end: from, pairs: 0, halfwidth: 0, typicalLeads: 0, endsLikeLetter: false, isBroken: false };
  while (run.end < bytes.length) {
    const byte = bytes[run.end] ?? 0;
    const next = bytes[run.end + 1];
    if (byte < 0x80) return run;
    if (byte >= 0xa1 && byte <= 0xdf) {
      run.halfwidth += 1;
      run.end += 1;
    } else if (isShiftJisLead(byte) && next !== undefined && isShiftJisTrail(next)) {
      run.pairs += 1;
      if (byte <= 0x9f) run.typicalLeads += 1;
      run.endsLikeLetter = isLetter(next);
      run.end += 2;
    } else {
      // A lead byte at the very end was cut off by the sample.
      run.isBroken = next !== undefined;
      run.end += 1;
      return run;
    }
  }
  return run;
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
