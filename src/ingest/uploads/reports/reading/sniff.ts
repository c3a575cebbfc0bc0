import { findByteOrderMark } from '../../../../lib/formats/byte-order-mark.ts';
import { recogniseBinary } from '../../../../lib/formats/magic-bytes.ts';
import { decode } from './decode.ts';
import type { Encoding } from './types.ts';

/** Enough to get past blank lines and the first names in a ZIP archive. */
export const sniffBytes = 4096;

/** Whether a file that begins like this may be a report. `what` completes "The file is …". */
export function sniffReport(first: Buffer): { ok: true } | { ok: false; what: string } {
  const oddity = first.length === 0 ? { what: 'empty' } : findOddity(first);
  return oddity === null ? { ok: true } : { ok: false, what: oddity.what };
}

/** Why a file that begins like this cannot be a report, or null. */
export function findOddity(first: Buffer): { what: string; isText: boolean } | null {
  const start = first.subarray(0, sniffBytes);
  const binary = recogniseBinary(start);
  if (binary !== null) return { what: binary, isText: false };
  const known = encodingOfStart(start);
  const encoding = known?.encoding ?? 'utf-8';
  const { text } = decode(start.subarray(known?.bomBytes ?? 0), { encoding, isLast: false });
  if (looksBinary(text)) return { what: 'binary and not text', isText: false };
  const markup = findMarkup(text);
  return markup === null ? null : { what: markup, isText: true };
}

/** The encoding that a byte order mark or the positions of zeros prove, or null. */
export function encodingOfStart(start: Buffer): { encoding: Encoding; bomBytes: number } | null {
  const marked = findByteOrderMark(start);
  if (marked !== null) return marked;
  const encoding = utf16ByZeros(start.subarray(0, sniffBytes));
  return encoding === null ? null : { encoding, bomBytes: 0 };
}

/** The markup that a text begins with, or null. A report may begin with nearly anything else. */
function findMarkup(text: string): string | null {
  const markup = /^\s*<(!doctype\s+html|html|\?xml)/i.exec(text);
  if (markup === null) return null;
  return markup[1]?.toLowerCase() === '?xml' ? 'an XML document' : 'an HTML page';
}

/** Up to this many control characters are mistakes in a text, even in a short one. */
const fewControls = 16;

function looksBinary(text: string): boolean {
  let controls = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 32 && code !== 9 && code !== 10 && code !== 13) controls += 1;
  }
  return controls > Math.max(fewControls, text.length / 10);
}

/**
 * ASCII in UTF-16 has a zero in every other byte, always on the same side; delimiters and figures are ASCII in every
 * language. Pairs of two ASCII bytes would be Chinese characters. They must be the minority, because an ASCII text with
 * a stray NUL consists of them.
 */
function utf16ByZeros(start: Buffer): Encoding | null {
  let [even, odd, ascii] = [0, 0, 0];
  for (let at = 0; at + 1 < start.length; at += 2) {
    const [first = 0, second = 0] = [start[at], start[at + 1]];
    if (first === 0) even += 1;
    if (second === 0) odd += 1;
    if (first > 0 && first < 0x80 && second > 0 && second < 0x80) ascii += 1;
  }
  const fewest = Math.max(start.length / 20, ascii / 2);
  if (odd > fewest && even === 0) return 'utf-16le';
  return even > fewest && odd === 0 ? 'utf-16be' : null;
}
