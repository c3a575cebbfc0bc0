import { isUtf8 } from 'node:buffer';
import { findByteOrderMark, type MarkedEncoding } from '../../../lib/formats/byte-order-mark.ts';
import { decodeWindows1252 } from '../../../lib/formats/windows-1252.ts';

const sampleBytes = 64 * 1024;

/**
 * Decodes a whole document. Invalid bytes become U+FFFD, with a note. `declared` is the encoding named by a header or
 * the document; a byte order mark takes precedence, and so does valid UTF-8, which hardly ever occurs by accident.
 */
export function decodeText(
  bytes: Buffer,
  { declared = null, notes = [] }: { declared?: string | null; notes?: string[] } = {},
): string {
  const marked = encodingOfStart(bytes);
  if (marked !== null) return decodeAs(bytes.subarray(marked.bomBytes), marked.encoding, notes);
  if (isUtf8(bytes)) return bytes.toString('utf8');
  return decodeAs(bytes, knownEncoding(declared) ?? guessEncoding(bytes), notes);
}

/** Decodes the first bytes for detection; a truncated last character does not matter. */
export function decodeStart(bytes: Buffer): string {
  const marked = encodingOfStart(bytes);
  return decodeAs(bytes.subarray(marked?.bomBytes ?? 0), marked?.encoding ?? 'latin1', []);
}

function encodingOfStart(start: Buffer): MarkedEncoding | null {
  const marked = findByteOrderMark(start);
  if (marked !== null) return marked;
  const encoding = utf16ByZeros(start.subarray(0, 4096));
  return encoding === null ? null : { encoding, bomBytes: 0 };
}

/** ASCII text in UTF-16 has a zero in every other byte, always on the same side. */
function utf16ByZeros(start: Buffer): 'utf-16le' | 'utf-16be' | null {
  let [even, odd] = [0, 0];
  for (let at = 0; at + 1 < start.length; at += 2) {
    if (start[at] === 0) even += 1;
    if (start[at + 1] === 0) odd += 1;
  }
  const fewest = Math.max(start.length / 5, 1);
  if (odd > fewest && even === 0) return 'utf-16le';
  return even > fewest && odd === 0 ? 'utf-16be' : null;
}

function decodeAs(bytes: Buffer, encoding: string, notes: string[]): string {
  if (encoding === 'latin1') return bytes.toString('latin1');
  if (encoding === 'windows-1252') return decodeWindows1252(bytes);
  const text = new TextDecoder(encoding, { ignoreBOM: false }).decode(bytes);
  if (text.includes('\ufffd')) notes.push(`Bytes that are not valid ${encoding} were replaced.`);
  return text;
}

/** Null for an unknown name. */
function knownEncoding(declared: string | null): string | null {
  if (declared === null) return null;
  try {
    return new TextDecoder(declared.trim()).encoding;
  } catch {
    return null;
  }
}

/**
 * For text that is not valid UTF-8. Nearly valid text is damaged UTF-8. Japanese is recognised by its kana, which
 * accents of Western languages do not decode to. Everything else counts as Windows-1252.
 */
function guessEncoding(bytes: Buffer): string {
  const sample = sampleBeyondAscii(bytes);
  if (shareOf(new TextDecoder().decode(sample), (code) => code === 0xfffd) < 0.1) return 'utf-8';
  for (const encoding of ['shift_jis', 'euc-jp']) {
    const text = new TextDecoder(encoding).decode(sample);
    if (shareOf(text, isKana) > 0.2 && shareOf(text, (code) => code === 0xfffd) < 0.02) return encoding;
  }
  return 'windows-1252';
}

/** Starts at the first byte beyond ASCII, which may come after megabytes of ASCII. */
function sampleBeyondAscii(bytes: Buffer): Buffer {
  let first = 0;
  while (first < bytes.length && (bytes[first] ?? 0) < 0x80) first += 1;
  return bytes.subarray(first, first + sampleBytes);
}

/** The share among characters beyond ASCII. */
function shareOf(text: string, isCounted: (code: number) => boolean): number {
  let [beyond, counted] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    beyond += 1;
    if (isCounted(code)) counted += 1;
  }
  return beyond === 0 ? 0 : counted / beyond;
}

function isKana(code: number): boolean {
  return code >= 0x3041 && code <= 0x30fe;
}
