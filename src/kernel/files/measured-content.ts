import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { contentErrors } from '../../lib/formats/errors.ts';

/** Counts and hashes content as it is read, and fails beyond the limit. */
export class MeasuredContent {
  readonly #content: Readable;
  readonly #maxBytes: number;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;

  constructor(content: Readable, { maxBytes }: { maxBytes: number }) {
    this.#content = content;
    this.#maxBytes = maxBytes;
    // A client may leave before the first byte is read: without a listener its error would end the process. The
    // reader still gets it.
    content.on('error', () => {});
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for await (const piece of this.#content) {
      const chunk: Buffer = typeof piece === 'string' ? Buffer.from(piece) : piece;
      this.#sizeBytes += chunk.length;
      if (this.#sizeBytes > this.#maxBytes) {
        throw contentErrors.raise.file_too_large(
          `The file has more than ${this.#maxBytes} bytes, which is the limit`,
          { details: { max_bytes: this.#maxBytes } },
        );
      }
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  /** Available once everything was read. */
  measures(): { sizeBytes: number; sha256: string } {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest('hex') };
  }
}
