import { setMaxListeners } from 'node:events';
import { fetchErrors } from './errors.ts';

/** One time limit for a whole exchange, body included: a server that trickles one byte a second is cut off too. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #timeoutMs: number;
  #isOver = false;

  constructor({ timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal }) {
    this.#timeoutMs = timeoutMs;
    this.#caller = signal;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#controller.abort();
    }, timeoutMs);
    // Not AbortSignal.any: on Node 20 it keeps every derived signal of a long-lived one.
    if (signal?.aborted) this.#controller.abort();
    // One signal stops all calls of a turn, and Node warns of a leak from the eleventh on.
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What ended the exchange early: the caller's own reason, a timeout, or null when neither did. */
  findReason(host: string): unknown {
    if (this.#isOver) {
      return fetchErrors.raise.fetch_timeout(
        `${host} had not sent its whole response after ${this.#timeoutMs} ms`,
      );
    }
    return this.#caller?.aborted ? this.#caller.reason : null;
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = () => this.#controller.abort();
}
