import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../lib/errors.ts';
import { threadFile } from '../../../lib/thread-file.ts';
import { imageFailures } from './errors.ts';
import type { DecodeAnswer, Decoded, DecodeQuestion } from './types.ts';
import { imageLimits } from './types.ts';

interface Asked {
  resolve(decoded: Decoded): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
}

/** An idle thread keeps libvips in memory, about 30 MB. */
const idleMs = 60_000;
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
  #thread: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

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
    clearTimeout(this.#idle);
    const thread = this.#thread;
    this.#thread = null;
    this.#failAll('it was closed');
    await thread?.terminate();
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
    else if (this.#working === 0) this.#rest();
  }

  #ask(bytes: Uint8Array<ArrayBuffer>): Promise<Decoded> {
    this.#lastId += 1;
    const question: DecodeQuestion = { id: this.#lastId, bytes };
    return new Promise((resolve, reject) => {
      clearTimeout(this.#idle);
      const thread = this.#thread ?? this.#start();
      this.#thread = thread;
      thread.ref();
      // The library has a limit of its own; this one is for a thread that does not come back from it.
      const giveUp = () => this.#lose(thread, new Error('it stopped responding'));
      const timer = setTimeout(giveUp, imageLimits.decodeMs + marginMs);
      this.#asked.set(question.id, { resolve, reject, timer });
      thread.postMessage(question, [bytes.buffer]);
    });
  }

  #start(): Worker {
    const thread = new Worker(threadFile('decode-thread'), {
      // A decoder needs neither the server's secrets nor its terminal.
      env: {},
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
    });
    thread.stdout.resume();
    thread.stderr.resume();
    thread.on('message', ({ id, ...decoded }: DecodeAnswer) => this.#settle(id, decoded));
    thread.on('error', (error) => this.#lose(thread, error));
    thread.on('exit', (code) => this.#lose(thread, new Error(`its thread ended with code ${code}`)));
    return thread;
  }

  #settle(id: number, decoded: Decoded): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    clearTimeout(asked.timer);
    this.#asked.delete(id);
    asked.resolve(decoded);
  }

  #lose(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    // Nobody listens to it any more, whatever happens to it.
    thread.terminate().catch(() => {});
    this.#failAll(messageOf(error));
  }

  #failAll(why: string): void {
    for (const [id, { reject, timer }] of this.#asked) {
      clearTimeout(timer);
      this.#asked.delete(id);
      reject(imageFailures.raise.image_decoder_failed(`The image decoder failed: ${why}`));
    }
  }

  /** An idle thread does not keep the process alive, and after a while frees its memory. */
  #rest(): void {
    this.#thread?.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      const thread = this.#thread;
      if (this.#working > 0 || thread === null) return;
      this.#thread = null;
      thread.terminate().catch(() => {});
    }, idleMs);
    this.#idle.unref();
  }
}
