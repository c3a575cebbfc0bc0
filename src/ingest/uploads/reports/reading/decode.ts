import { isAscii, isUtf8 } from 'node:buffer';
import { decodeBrokenUtf8, utf8Length, wholeUtf8Bytes } from '../../../../lib/formats/utf8.ts';
import { decodeWindows1252 } from '../../../../lib/formats/windows-1252.ts';
import { wellFormed } from '../../../../lib/well-formed.ts';
import {
  type DoubleByte,
  decodeDoubleByte,
  decodeSingleByte,
  isDoubleByte,
  pairLength,
} from './code-pages.ts';
import type { Encoding } from './types.ts';

export interface Decoded {
  text: string;
  /** How many bytes the units from `from` to `to` take up, where `fromByte` is the position of `from`. */
  measure(from: number, to: number, fromByte: number): number;
}

/**
 * Decodes bytes that begin with a whole character. Invalid bytes become U+FFFD, so the row around them can still be
 * checked. A character that is cut off at the end may come out wrong: it belongs to an incomplete row and is decoded
 * again with it.
 */
export function decode(
  bytes: Buffer,
  { encoding, isLast }: { encoding: Encoding; isLast: boolean },
): Decoded {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return decodeUtf16(bytes, { encoding, isLast });
  if (isAscii(bytes)) return byteForByte(bytes.toString('latin1'));
  if (encoding === 'utf-8') return utf8(bytes, isLast);
  if (encoding === 'windows-1252') return byteForByte(decodeWindows1252(bytes));
  return isDoubleByte(encoding)
    ? doubleByte(bytes, encoding)
    : byteForByte(decodeSingleByte(bytes, encoding));
}

function byteForByte(text: string): Decoded {
  return { text, measure: (from, to) => to - from };
}

function utf8(bytes: Buffer, isLast: boolean): Decoded {
  // A cut-off character is left out here, because text that is not entirely valid takes the slow path.
  const whole = isLast ? bytes : bytes.subarray(0, wholeUtf8Bytes(bytes));
  if (isUtf8(whole)) {
    const text = whole.toString('utf8');
    return { text, measure: (from, to) => Buffer.byteLength(text.slice(from, to)) };
  }
  const bytesAt = (at: number) => utf8Length(whole, at) || 1;
  return {
    text: decodeBrokenUtf8(whole),
    measure: (from, to, fromByte) => walk({ units: to - from, fromByte, bytesAt }),
  };
}

function doubleByte(bytes: Buffer, encoding: DoubleByte): Decoded {
  const bytesAt = (at: number) => pairLength(bytes, at, encoding);
  return {
    text: decodeDoubleByte(bytes, encoding),
    measure: (from, to, fromByte) => walk({ units: to - from, fromByte, bytesAt }),
  };
}

function walk(step: { units: number; fromByte: number; bytesAt: (at: number) => number }): number {
  let at = step.fromByte;
  for (let units = step.units; units > 0; ) {
    const length = step.bytesAt(at);
    at += length;
    // Only UTF-8 characters beyond U+FFFF have four bytes, and only they have two units.
    units -= length === 4 ? 2 : 1;
  }
  return at - step.fromByte;
}

function decodeUtf16(bytes: Buffer, { encoding, isLast }: { encoding: Encoding; isLast: boolean }): Decoded {
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const units = encoding === 'utf-16le' ? even : Buffer.from(even).swap16();
  const text = wellFormed(units.toString('utf16le'));
  // Half a unit at the very end of a file is a cut-off character.
  const isCut = isLast && bytes.length % 2 === 1;
  return {
    text: isCut ? `${text}\ufffd` : text,
    measure: (from, to) => Math.min(to * 2, bytes.length) - from * 2,
  };
}
