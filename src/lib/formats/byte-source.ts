/**
 * Returns bytes in pieces of one size. What a reader does must not depend on the sender's packets, and a sender of
 * single bytes must not cost a parser run for each.
 */
export class ByteSource {
  readonly #source: AsyncIterator<Uint8Array | string>;
  readonly #pieceBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #hasEnded = false;

  constructor(source: AsyncIterable<Uint8Array | string>, pieceBytes: number) {
    this.#source = source[Symbol.asyncIterator]();
    this.#pieceBytes = pieceBytes;
  }

  /** The first bytes, without consuming them; fewer only at the end. */
  async peek(count: number): Promise<Buffer> {
    await this.#fill(count);
    return this.#join().subarray(0, count);
  }

  /** The next piece; null at the end. */
  async next(): Promise<Buffer | null> {
    await this.#fill(this.#pieceBytes);
    if (this.#pendingBytes === 0) return null;
    const bytes = this.#join();
    const piece = bytes.subarray(0, this.#pieceBytes);
    const rest = bytes.subarray(this.#pieceBytes);
    this.#pending = rest.length > 0 ? [rest] : [];
    this.#pendingBytes = rest.length;
    return piece;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let piece = await this.next(); piece !== null; piece = await this.next()) yield piece;
  }

  async close(): Promise<void> {
    this.#pending = [];
    this.#pendingBytes = 0;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await this.#source.return?.();
  }

  async #fill(count: number): Promise<void> {
    while (this.#pendingBytes < count && !this.#hasEnded) {
      const { done, value } = await this.#source.next();
      if (done) {
        this.#hasEnded = true;
        return;
      }
      const bytes = typeof value === 'string' ? Buffer.from(value) : asBuffer(value);
      if (bytes.length === 0) continue;
      this.#pending.push(bytes);
      this.#pendingBytes += bytes.length;
    }
  }

  #join(): Buffer {
    const [only] = this.#pending;
    if (only !== undefined && this.#pending.length === 1) return only;
    const joined = Buffer.concat(this.#pending, this.#pendingBytes);
    this.#pending = [joined];
    return joined;
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
