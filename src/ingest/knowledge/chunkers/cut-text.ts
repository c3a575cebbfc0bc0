import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../lib/errors.ts';
import { threadFile } from '../../../lib/threads/thread-file.ts';
import { storable } from '../../../lib/well-formed.ts';
import type { Chunk, Chunker, ChunkerSettings } from './chunker.ts';
import type { CuttingAnswer, CuttingRequest, CuttingStart } from './cutting-thread.ts';

/** How long cutting may block the main thread. */
const turnMs = 8;
/**
 * Between two chunks the end of a whole line, list or table is searched: 290 ms for one line of 20 MB. Up to this
 * length that takes a few milliseconds. Longer texts are cut in a separate thread, which takes about 100 ms to start.
 */
const longUnits = 128 * 1024;
/** How much text is sent to the thread at once. */
const pieceUnits = 1024 * 1024;
const threadHeapMb = 512;

/** Cuts a text of any length without blocking the main thread. */
export async function* cutText(chunker: Chunker, text: string): AsyncGenerator<Chunk> {
  yield* text.length > longUnits ? cutAside(chunker.settings, text) : cutHere(chunker, text);
}

async function* cutHere(chunker: Chunker, text: string): AsyncGenerator<Chunk> {
  let turnStartedAtMs = performance.now();
  for (const chunk of chunker.chunks(storable(text))) {
    if (performance.now() - turnStartedAtMs > turnMs) {
      await nextTurn();
      turnStartedAtMs = performance.now();
    }
    yield chunk;
  }
}

async function* cutAside(settings: ChunkerSettings, text: string): AsyncGenerator<Chunk> {
  const thread = new CuttingThread(settings);
  try {
    for (let from = 0; from < text.length; from += pieceUnits) {
      thread.give(text.slice(from, from + pieceUnits));
      await nextTurn();
    }
    let coming = thread.next();
    for (;;) {
      const { chunks, isLast } = await coming;
      // The next chunks are cut while these are used.
      if (!isLast) coming = thread.next();
      yield* chunks;
      if (isLast) return;
    }
  } finally {
    await thread.end();
  }
}

class CuttingThread {
  readonly #thread: Worker;
  #waiting: { resolve(answer: CuttingAnswer): void; reject(error: Error): void } | null = null;
  #failure: Error | null = null;

  constructor(settings: ChunkerSettings) {
    this.#thread = new Worker(threadFile('cutting-thread'), {
      name: 'cutter',
      workerData: { settings } satisfies CuttingStart,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
      // The thread needs neither the server's secrets nor its flags.
      env: {},
      execArgv: [],
    });
    this.#thread.on('message', (answer: CuttingAnswer) => this.#waiting?.resolve(answer));
    this.#thread.on('error', (error) => this.#fail(messageOf(error)));
    this.#thread.on('exit', (code) => this.#fail(`it ended with code ${code}`));
  }

  give(text: string): void {
    this.#ask({ type: 'text', text });
  }

  next(): Promise<CuttingAnswer> {
    const answer = new Promise<CuttingAnswer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    // Its failure is handled when it is awaited, which may be never.
    answer.catch(() => {});
    if (this.#failure) this.#waiting?.reject(this.#failure);
    else this.#ask({ type: 'next' });
    return answer;
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
  }

  #ask(request: CuttingRequest): void {
    this.#thread.postMessage(request);
  }

  #fail(reason: string): void {
    this.#failure ??= new Error(`The thread that cuts a long text ended: ${reason}`);
    this.#waiting?.reject(this.#failure);
  }
}
