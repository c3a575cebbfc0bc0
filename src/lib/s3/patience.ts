import { Readable } from 'node:stream';
import { s3Errors } from './errors.ts';

/** Aborts an exchange in which nothing happens: a hanging server would keep its connections open forever. */
export class Patience {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #silenceMs: number;

  constructor({ silenceMs, signal }: { silenceMs: number; signal?: AbortSignal }) {
    this.#silenceMs = silenceMs;
    this.#caller = signal;
    // Not AbortSignal.any: on Node 20 it keeps every derived signal of a long-lived one.
    if (signal?.aborted) this.#follow();
    signal?.addEventListener('abort', this.#follow, { once: true });
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
    return watched.once('close', () => {
      this.release();
      body.destroy();
    });
  }

  release(): void {
    this.#caller?.removeEventListener('abort', this.#follow);
  }

  async *#pieces(body: Readable): AsyncGenerator<Buffer> {
    const pieces = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.waitFor(pieces.next());
      if (next.done) return;
      yield next.value;
    }
  }

  readonly #follow = () => this.#controller.abort(this.#caller?.reason);
}
