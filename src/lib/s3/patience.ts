import { Readable } from 'node:stream';
import { s3Errors } from './errors.ts';

/** Aborts an exchange in which nothing happens: a hanging server would keep its connections open forever. */
export class Patience {
  readonly #controller = new AbortController();
  readonly #silenceMs: number;

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
  }

  /** For the exchange. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async waitFor<T>(something: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      const words = `The server has sent nothing for ${this.#silenceMs} ms`;
      this.#controller.abort(s3Errors.raise.s3_unavailable(words));
    }, this.#silenceMs);
    try {
      return await something;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The body. Time that its reader takes between two pieces does not count. */
  watch(body: Readable): Readable {
    const watched = Readable.from(this.#pieces(body), { objectMode: false });
    return watched.once('close', () => body.destroy());
  }

  async *#pieces(body: Readable): AsyncGenerator<Buffer> {
    const pieces = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.waitFor(pieces.next());
      if (next.done) return;
      yield next.value;
    }
  }
}
