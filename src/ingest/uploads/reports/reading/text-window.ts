import { ByteSource } from '../../../../lib/formats/byte-source.ts';
import { type Decoded, decode } from './decode.ts';
import type { Encoding, OpenBytes, ScannedText } from './types.ts';

export interface WindowPlace {
  encoding: Encoding;
  /** The first byte of a character. */
  fromByte: number;
  pieceBytes: number;
}

/**
 * The current part of a file as text. It knows the byte in the file for every position in the text. It always begins
 * with a whole row: what a scanner left over is decoded again together with the next bytes.
 */
export class TextWindow implements ScannedText {
  readonly #source: ByteSource;
  readonly #encoding: Encoding;
  readonly #pieceBytes: number;
  #room: Buffer = Buffer.alloc(0);
  /** The filled part of `#room`. */
  #bytes: Buffer = Buffer.alloc(0);
  #decoded: Decoded;
  #isLast = false;
  /** The position of the window's first byte in the file. */
  #fromByte: number;
  /** The last position that was asked for. The next one is counted from here, so each byte is counted once. */
  #known = { unit: 0, byte: 0 };

  constructor(open: OpenBytes, { encoding, fromByte, pieceBytes }: WindowPlace) {
    this.#source = new ByteSource(open(fromByte), pieceBytes);
    this.#encoding = encoding;
    this.#fromByte = fromByte;
    this.#pieceBytes = pieceBytes;
    this.#decoded = decode(this.#bytes, { encoding, isLast: false });
  }

  get text(): string {
    return this.#decoded.text;
  }

  get isLast(): boolean {
    return this.#isLast;
  }

  /**
   * Drops the text before `unit` and appends more: at least as much as is left, so that a long row is not decoded again
   * for every piece.
   */
  async advance(unit: number): Promise<void> {
    const used = this.byteAt(unit) - this.#fromByte;
    const left = this.#bytes.subarray(used);
    const wantedBytes = Math.max(this.#pieceBytes, left.length);
    const pieces: Buffer[] = [];
    let gotBytes = 0;
    while (gotBytes < wantedBytes && !this.#isLast) {
      const piece = await this.#source.next();
      this.#isLast = piece === null;
      if (piece !== null) pieces.push(piece);
      gotBytes += piece?.length ?? 0;
    }
    this.#bytes = this.#gather([left, ...pieces], left.length + gotBytes);
    this.#fromByte += used;
    this.#known = { unit: 0, byte: 0 };
    this.#decoded = decode(this.#bytes, { encoding: this.#encoding, isLast: this.#isLast });
  }

  /**
   * Uses the same memory each time: buffers live outside the heap, where garbage is collected late, and a new one for
   * each piece of 50 MB used 200 MB more. The first part may be in that memory already, which `copy` allows.
   */
  #gather(parts: Buffer[], sizeBytes: number): Buffer {
    const room = this.#room.length >= sizeBytes ? this.#room : Buffer.allocUnsafeSlow(sizeBytes * 2);
    let at = 0;
    for (const part of parts) at += part.copy(room, at);
    this.#room = room;
    return room.subarray(0, sizeBytes);
  }

  /** The byte in the file of a position in the text. Cheapest when called in ascending order. */
  byteAt(unit: number): number {
    if (unit < this.#known.unit) this.#known = { unit: 0, byte: 0 };
    const { unit: from, byte } = this.#known;
    this.#known = { unit, byte: byte + this.#decoded.measure(from, unit, byte) };
    return this.#fromByte + this.#known.byte;
  }

  close(): Promise<void> {
    return this.#source.close();
  }
}
