import { createHash } from 'node:crypto';
import { newId } from '../../../lib/ids.ts';
import type { RowsFile } from '../types.ts';

/** Counts and hashes a file of rows while its reader reads it. */
export class MeasuredFile {
  readonly #fileId = newId();
  readonly #mediaType: string;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;

  constructor(mediaType: string | null) {
    this.#mediaType = mediaType ?? 'application/octet-stream';
  }

  async *through(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of content) {
      this.#sizeBytes += piece.byteLength;
      this.#hash.update(piece);
      yield piece;
    }
  }

  /** Of what was read so far. */
  measures(): RowsFile {
    const sha256 = this.#hash.copy().digest('hex');
    return { fileId: this.#fileId, mediaType: this.#mediaType, sizeBytes: this.#sizeBytes, sha256 };
  }
}
