import { isAscii, isUtf8 } from 'node:buffer';
import type { ByteSource } from '../formats/byte-source.ts';
import { utf8Length, wholeUtf8Bytes } from '../formats/utf8.ts';
import { readerErrors } from './errors.ts';

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/**
 * Decodes pieces of bytes to text. No character is ever split between two texts. Text before a wrong byte is returned
 * before the error, so that the first problem of a file is the one that is reported.
 */
export class TextSource {
  readonly #bytes: ByteSource;
  readonly #encoding: Encoding;
  #bomBytes: number;
  /** Of the first byte that is not decoded yet. */
  #offset = 0;
  #carry: Buffer = Buffer.alloc(0);
  #invalidAt: number | null = null;

  constructor(bytes: ByteSource, { encoding, bomBytes }: { encoding: Encoding; bomBytes: number }) {
    this.#bytes = bytes;
    this.#encoding = encoding;
    this.#bomBytes = bomBytes;
  }

  /** The next text, never empty; null at the end. */
  async next(): Promise<string | null> {
    for (;;) {
      if (this.#invalidAt !== null) throw this.#invalid(this.#invalidAt);
      const piece = await this.#nextPiece();
      if (piece === null) return this.#end();
      const bytes = this.#carry.length > 0 ? Buffer.concat([this.#carry, piece]) : piece;
      const text = this.#decode(bytes);
      if (text !== '') return text;
    }
  }

  close(): Promise<void> {
    return this.#bytes.close();
  }

  async #nextPiece(): Promise<Buffer | null> {
    const piece = await this.#bytes.next();
    if (piece === null || this.#bomBytes === 0) return piece;
    const skipped = Math.min(this.#bomBytes, piece.length);
    this.#bomBytes -= skipped;
    this.#offset += skipped;
    return piece.subarray(skipped);
  }

  #end(): null {
    if (this.#carry.length === 0) return null;
    const cut = 'The file ends in the middle of a character, so it was probably cut off.';
    throw this.#invalid(this.#offset, cut);
  }

  #decode(bytes: Buffer): string {
    const whole = this.#encoding === 'utf-8' ? wholeUtf8Bytes(bytes) : wholeUtf16(bytes, this.#encoding);
    const complete = bytes.subarray(0, whole);
    // A copy: the rest is a few bytes, and must not keep the piece alive.
    this.#carry = Buffer.from(bytes.subarray(whole));
    const text = this.#encoding === 'utf-8' ? this.#utf8(complete) : this.#utf16(complete);
    this.#offset += whole;
    return text;
  }

  #utf8(bytes: Buffer): string {
    if (isAscii(bytes)) return bytes.toString('latin1');
    if (isUtf8(bytes)) return bytes.toString('utf8');
    const valid = firstInvalidUtf8(bytes);
    this.#invalidAt = this.#offset + valid;
    return bytes.toString('utf8', 0, valid);
  }

  #utf16(bytes: Buffer): string {
    const text = (this.#encoding === 'utf-16le' ? bytes : Buffer.from(bytes).swap16()).toString('utf16le');
    const valid = text.search(loneSurrogate);
    if (valid === -1) return text;
    this.#invalidAt = this.#offset + valid * 2;
    return text.slice(0, valid);
  }

  #invalid(offset: number, reason?: string) {
    const name = this.#encoding === 'utf-8' ? 'UTF-8' : 'UTF-16';
    const what = reason ?? `The bytes there are not valid ${name}; the text before them is.`;
    return readerErrors.raise.invalid_encoding(`The text is broken at byte ${offset}. ${what}`, {
      details: { byte_offset: offset },
    });
  }
}

/** With the flag u, whole pairs are one character and do not match. */
const loneSurrogate = /\p{Surrogate}/u;

function wholeUtf16(bytes: Buffer, encoding: Encoding): number {
  const end = bytes.length - (bytes.length % 2);
  const high = end === 0 ? 0 : (bytes[encoding === 'utf-16le' ? end - 1 : end - 2] ?? 0);
  return high >= 0xd8 && high <= 0xdb ? end - 2 : end;
}

/** The offset of the first character that is not UTF-8. Called only when there is one. */
function firstInvalidUtf8(bytes: Buffer): number {
  let at = 0;
  for (let length = utf8Length(bytes, at); length > 0; length = utf8Length(bytes, at)) at += length;
  return at;
}
