import { messageOf } from '../../../lib/errors.ts';
import { KeptThread } from '../../../lib/threads/kept-thread.ts';
import { imageFailures } from './errors.ts';
import type { DecodeAnswer, Decoded, DecodeQuestion } from './types.ts';
import { imageLimits } from './types.ts';

interface Asked {
  resolve(decoded: Decoded): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
}

/** Waiting for room and for the library to load adds to the time of one image. */
const marginMs = 2 * imageLimits.decodeMs;

/**
 * Decodes images in a separate thread, a few at once. If the thread dies, the images that it had are retried, and the
 * next image gets a new thread.
 */
export class ImageDecoder {
  readonly #asked = new Map<number, Asked>();
  readonly #waiting: (() => void)[] = [];
  #working = 0;
  #lastId = 0;
  readonly #thread = new KeptThread<DecodeQuestion, DecodeAnswer>({
    file: 'decode-thread',
    onAnswer: ({ id, ...decoded }) => this.#settle(id, decoded),
    onLost: (error) => this.#failAll(messageOf(error)),
  });

  /**
   * `read` is called when the image is next: only as many files are in memory as are decoded at once, however many
   * slices run in this process.
   */
  async decode(read: () => Promise<Uint8Array<ArrayBuffer>>): Promise<Decoded> {
    const leave = await this.#enter();
    try {
      return await this.#ask(await read());
    } finally {
      leave();
    }
  }

  async close(): Promise<void> {
    const ended = this.#thread.end();
    this.#failAll('it was closed');
    await ended;
  }

  #enter(): Promise<() => void> {
    return new Promise((resolve) => {
      const enter = (): void => {
        this.#working += 1;
        resolve(() => this.#leave());
      };
      if (this.#working < imageLimits.decodedAtOnce) enter();
      else this.#waiting.push(enter);
    });
  }

  #leave(): void {
    this.#working -= 1;
    const next = this.#waiting.shift();
    if (next !== undefined) next();
    else if (this.#working === 0) this.#thread.rest();
  }

  #ask(bytes: Uint8Array<ArrayBuffer>): Promise<Decoded> {
    this.#lastId += 1;
    const question: DecodeQuestion = { id: this.#lastId, bytes };
    return new Promise((resolve, reject) => {
      this.#thread.ask(question, bytes);
      // The library has a limit of its own; this one is for a thread that does not come back from it.
      const giveUp = () => {
        void this.#thread.end();
        this.#failAll('it stopped responding');
      };
      const timer = setTimeout(giveUp, imageLimits.decodeMs + marginMs);
      this.#asked.set(question.id, { resolve, reject, timer });
    });
  }

  #settle(id: number, decoded: Decoded): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    clearTimeout(asked.timer);
    this.#asked.delete(id);
    asked.resolve(decoded);
  }

  #failAll(why: string): void {
    for (const [id, { reject, timer }] of this.#asked) {
      clearTimeout(timer);
      this.#asked.delete(id);
      reject(imageFailures.raise.image_decoder_failed(`The image decoder failed: ${why}`));
    }
  }
}
