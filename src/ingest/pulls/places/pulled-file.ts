import { createHash } from 'node:crypto';
import { type Readable, Writable } from 'node:stream';
import { openTemporary, type TemporaryFile } from '../../../lib/formats/spool.ts';
import { pullFailures } from '../errors.ts';

/** What was pulled, on the local disk: it is hashed whole before anything is made of it. */
export class PulledFile extends Writable {
  readonly #file: TemporaryFile;
  readonly #maxBytes: number;
  readonly #hash = createHash('sha256');
  #sha256: string | null = null;

  private constructor(file: TemporaryFile, maxBytes: number) {
    super();
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  static async open({ maxBytes }: { maxBytes: number }): Promise<PulledFile> {
    return new PulledFile(await openTemporary(), maxBytes);
  }

  get sizeBytes(): number {
    return this.#file.sizeBytes;
  }

  /** Known at the end. */
  get sha256(): string {
    if (this.#sha256 === null) throw new Error('The hash of a pulled file is known only at its end');
    return this.#sha256;
  }

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
        pullFailures.raise.pull_too_large(
          `The report has more than ${this.#maxBytes} bytes, the most allowed`,
          {
            details: { max_bytes: this.#maxBytes },
          },
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
