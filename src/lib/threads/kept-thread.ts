import { type ResourceLimits, Worker } from 'node:worker_threads';
import { threadFile } from './thread-file.ts';

export interface KeptThreadOptions<Answer> {
  file: `${string}-thread`;
  resourceLimits?: ResourceLimits;
  onAnswer(answer: Answer): void;
  /** The thread has died, and all that it was asked is lost. */
  onLost(error: unknown): void;
}

/** Idle threads keep their libraries in memory: 30 MB for images, 60 MB for documents. */
const idleMs = 60_000;

/** A thread that starts with the first request and ends when idle; if it dies, the next request starts another. */
export class KeptThread<Request, Answer> {
  readonly #options: KeptThreadOptions<Answer>;
  #thread: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: KeptThreadOptions<Answer>) {
    this.#options = options;
  }

  /** Bytes of the request that are named here are transferred, not copied. */
  ask(request: Request, bytes?: Uint8Array<ArrayBuffer>): void {
    clearTimeout(this.#idle);
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(request, bytes ? [bytes.buffer] : []);
  }

  /** An idle thread does not keep the process alive, and ends after a while to free its memory. */
  rest(): void {
    this.#thread?.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.end(), idleMs).unref();
  }

  /** Without a call of `onLost`. */
  async end(): Promise<void> {
    clearTimeout(this.#idle);
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }

  #start(): Worker {
    const { file, resourceLimits, onAnswer } = this.#options;
    const thread = new Worker(threadFile(file), {
      ...(resourceLimits ? { resourceLimits } : {}),
      // A parser needs neither the server's secrets nor its terminal.
      env: {},
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
    });
    thread.stdout.resume();
    thread.stderr.resume();
    // A thread that was ended or replaced has nothing more to say.
    thread.on('message', (answer: Answer) => thread === this.#thread && onAnswer(answer));
    thread.on('error', (error) => this.#lose(thread, error));
    thread.on('exit', (code) => this.#lose(thread, new Error(`its thread ended with code ${code}`)));
    return thread;
  }

  #lose(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    this.#options.onLost(error);
  }
}
