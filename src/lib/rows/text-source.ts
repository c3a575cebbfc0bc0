import { isAscii, isUtf8 } from 'node:buffer';
import type { ByteSource } from '../formats/byte-source.ts';
import { utf8Length, wholeUtf8Bytes } from '../formats/utf8.ts';
import { decodeWindows1252 } from '../formats/windows-1252.ts';
import { readerErrors } from './errors.ts';

export const encodings = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'iso-8859-1'] as const;

export type Encoding = (typeof encodings)[number];

const encodingNames: Record<Encoding, string> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
  'windows-1252': 'Windows-1252',
  'iso-8859-1': 'ISO-8859-1',
};

export interface TextSourceOptions {
  encoding: Encoding;
  bomBytes: number;
  /** Whether text that turns out not to be UTF-8 may be Windows-1252. */
  mayBeWindows1252?: boolean | undefined;
}

/**
 * Decodes pieces of bytes to text. No character is ever split between two texts. Text before a wrong byte is returned
 * before the error, so that the first problem of a file is the one that is reported.
 *
 * Text without a byte order mark may turn out to be Windows-1252 at its first byte beyond ASCII: everything before is
 * the same in both encodings. Once there was a character of UTF-8, a wrong byte is an error.
 */
export class TextSource {
  readonly #bytes: ByteSource;
  #encoding: Encoding;
  #mayBeWindows1252: boolean;
  #changedAt: { byteOffset: number; textBefore: string } | null = null;
  #bomBytes: number;
  /** Of the first byte that is not decoded yet. */
  #offset = 0;
  #carry: Buffer = Buffer.alloc(0);
  #invalidAt: number | null = null;

  constructor(bytes: ByteSource, { encoding, bomBytes, mayBeWindows1252 = false }: TextSourceOptions) {
    this.#bytes = bytes;
    this.#mayBeWindows1252 = mayBeWindows1252 && encoding === 'utf-8' && bomBytes === 0;
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

  get encoding(): Encoding {
    return this.#encoding;
  }

  /** Where the text turned out to be Windows-1252; `textBefore` is the part of the last text in front of it. */
  takeChange(): { byteOffset: number; textBefore: string } | null {
    const change = this.#changedAt;
    this.#changedAt = null;
    return change;
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

  #end(): string | null {
    if (this.#carry.length === 0) return null;
    if (this.#mayBeWindows1252) {
      const rest = this.#carry;
      this.#carry = Buffer.alloc(0);
      return this.#windows1252(rest);
    }
    const cut = 'The file ends in the middle of a character, so it was probably cut off.';
    throw this.#invalid(this.#offset, cut);
  }

  #decode(bytes: Buffer): string {
    const whole = wholeBytes(bytes, this.#encoding);
    const complete = bytes.subarray(0, whole);
    // A copy: the rest is a few bytes, and must not keep the piece alive.
    this.#carry = Buffer.from(bytes.subarray(whole));
    const text = this.#decodeWhole(complete);
    this.#offset += whole;
    return text;
  }

  #decodeWhole(bytes: Buffer): string {
    if (this.#encoding === 'utf-8') return this.#utf8(bytes);
    if (this.#encoding === 'windows-1252') return this.#windows1252(bytes);
    return this.#encoding === 'iso-8859-1' ? bytes.toString('latin1') : this.#utf16(bytes);
  }

  #utf8(bytes: Buffer): string {
    if (isAscii(bytes)) return bytes.toString('latin1');
    if (isUtf8(bytes)) {
      this.#mayBeWindows1252 = false;
      return bytes.toString('utf8');
    }
    if (this.#mayBeWindows1252 && looksSingleByte(bytes)) return this.#windows1252(bytes);
    const valid = firstInvalidUtf8(bytes);
    this.#invalidAt = this.#offset + valid;
    return bytes.toString('utf8', 0, valid);
  }

  #windows1252(bytes: Buffer): string {
    if (isAscii(bytes)) return bytes.toString('latin1');
    // UTF-8 after Windows-1252: two encodings in one file, and no reading of it is right.
    if (this.#encoding === 'windows-1252' && this.#mayBeWindows1252 && isUtf8(bytes)) {
      this.#invalidAt = this.#offset + bytes.findIndex((byte) => byte > 127);
      return bytes.toString('latin1', 0, this.#invalidAt - this.#offset);
    }
    const undefinedAt = bytes.findIndex((byte) => undefinedBytes.has(byte));
    const end = undefinedAt === -1 ? bytes.length : undefinedAt;
    if (undefinedAt !== -1) this.#invalidAt = this.#offset + undefinedAt;
    if (this.#encoding === 'utf-8')
      this.#changeAt(
        bytes.findIndex((byte) => byte > 127),
        bytes,
      );
    return decodeWindows1252(bytes.subarray(0, end));
  }

  #changeAt(first: number, bytes: Buffer): void {
    this.#encoding = 'windows-1252';
    this.#changedAt = { byteOffset: this.#offset + first, textBefore: bytes.toString('latin1', 0, first) };
  }

  #utf16(bytes: Buffer): string {
    const text = (this.#encoding === 'utf-16le' ? bytes : Buffer.from(bytes).swap16()).toString('utf16le');
    const valid = text.search(loneSurrogate);
    if (valid === -1) return text;
    this.#invalidAt = this.#offset + valid * 2;
    return text.slice(0, valid);
  }

  #invalid(offset: number, reason?: string) {
    const name = this.#mayBeWindows1252 ? 'UTF-8 or Windows-1252' : encodingNames[this.#encoding];
    const what = reason ?? `The bytes there are not valid ${name}; the text before them is.`;
    return readerErrors.raise.invalid_encoding(`The text is broken at byte ${offset}. ${what}`, {
      details: { byte_offset: offset },
    });
  }
}

/** With the flag u, whole pairs are one character and do not match. */
const loneSurrogate = /\p{Surrogate}/u;

/** Bytes that Windows-1252 does not define: text that has them is in another encoding. */
const undefinedBytes = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);

/** More bytes that UTF-8 does not allow than characters of UTF-8: this is not UTF-8 with a mistake in it. */
function looksSingleByte(bytes: Buffer): boolean {
  let characters = 0;
  let wrong = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = utf8Length(bytes, at);
    if (length === 0) wrong += 1;
    else if (length > 1) characters += 1;
    at += Math.max(length, 1);
  }
  return wrong > characters;
}

function wholeBytes(bytes: Buffer, encoding: Encoding): number {
  if (encoding === 'utf-8') return wholeUtf8Bytes(bytes);
  return encoding === 'utf-16le' || encoding === 'utf-16be' ? wholeUtf16(bytes, encoding) : bytes.length;
}

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
