import { createHash, type Hash } from 'node:crypto';
import { type Readable, Writable } from 'node:stream';
import { openTemporary, type TemporaryFile } from '../../../lib/formats/spool.ts';
import { adapterFailures } from '../errors.ts';

/**
 * A copy of a file on the local disk. The bytes that are hashed are the bytes that are ingested, and the connection to
 * the place can be closed meanwhile.
 */
export class FileCopy extends Writable {
  readonly #file: TemporaryFile;
  readonly #maxBytes: number;
  readonly #hash: Hash = createHash('sha256');
  #sha256: string | null = null;

  private constructor(file: TemporaryFile, maxBytes: number) {
    super();
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  static async open({ maxBytes }: { maxBytes: number }): Promise<FileCopy> {
    return new FileCopy(await openTemporary(), maxBytes);
  }

  get sizeBytes(): number {
    return this.#file.sizeBytes;
  }

  /** The hash of all bytes; available at the end. */
  get sha256(): string {
    if (this.#sha256 === null) throw new Error('The hash of a copy is known only at its end');
    return this.#sha256;
  }

  /** Reads from the beginning. Closing the stream does not close the copy. */
  content(): Readable {
    return this.#file.content();
  }

  async forget(): Promise<void> {
    this.destroy();
    await this.#file.close();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.sizeBytes + chunk.length > this.#maxBytes) {
      done(
        adapterFailures.raise.adapter_file_too_large(
          `The file has more than ${this.#maxBytes} bytes, the most allowed`,
          { details: { max_bytes: this.#maxBytes } },
        ),
      );
      return;
    }
    this.#hash.update(chunk);
    this.#file.append(chunk).then(() => done(), done);
  }

  override _final(done: () => void): void {
    this.#sha256 = this.#hash.digest('hex');
    done();
  }
}
