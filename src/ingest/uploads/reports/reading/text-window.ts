import { ByteSource } from '../../../../lib/formats/byte-source.ts';
import { type Decoded, decode } from './decode.ts';
import type { Encoding, OpenBytes, ScannedText } from './types.ts';

export interface WindowPlace {
  encoding: Encoding;
  /** Of a whole character. */
  fromByte: number;
  pieceBytes: number;
}

/**
 * The part of a file that is being looked at, as text, which knows for every place in it the byte in the file. It
 * always begins with a whole row: what a scanner left is decoded again together with the next bytes.
 */
export class TextWindow implements ScannedText {
  readonly #source: ByteSource;
  readonly #encoding: Encoding;
  readonly #pieceBytes: number;
  #room: Buffer = Buffer.alloc(0);
  /** The filled part of the room. */
  #bytes: Buffer = Buffer.alloc(0);
  #decoded: Decoded;
  #isLast = false;
  /** In the file, of the first byte of the window. */
  #fromByte: number;
  /** The last place that was asked for: the next is counted from it, so that each is counted once. */
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
   * Lets go of the text before `unit` and puts more behind it: at least as much again as is left, so that a long row
   * is not decoded once per piece of it.
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
   * Into the same memory each time: buffers live outside the heap, where garbage is noticed late, and a new one for
   * each piece of 50 MB was 200 MB more in use. The first part may lie in that memory itself, which `copy` allows.
   */
  #gather(parts: Buffer[], sizeBytes: number): Buffer {
    const room = this.#room.length >= sizeBytes ? this.#room : Buffer.allocUnsafeSlow(sizeBytes * 2);
    let at = 0;
    for (const part of parts) at += part.copy(room, at);
    this.#room = room;
    return room.subarray(0, sizeBytes);
  }

  /** In the file, of a place in the text. Cheapest when places are asked for in order. */
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
