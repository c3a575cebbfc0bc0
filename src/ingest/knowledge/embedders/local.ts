import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../lib/errors.ts';
import { threadFile } from '../../../lib/threads/thread-file.ts';
import { finishedWithin } from '../../../lib/timing/closing.ts';
import type { Embedder, EmbedderLimits, EmbedOptions } from './embedder.ts';
import { embedderErrors } from './errors.ts';
import { keepRuntimeQuiet } from './inference-runtime.ts';
import { currentModel, type LocalModelName, localModels } from './local-models.ts';
import type { ThreadAnswer, ThreadRequest, ThreadStart } from './local-protocol.ts';
import { NativeWork } from './native-work.ts';

export interface LocalEmbedderSettings {
  model?: LocalModelName;
  /** For tests; default: the built thread. */
  startThread?: (start: ThreadStart) => Worker;
  /** How long an idle thread is kept: the model takes some hundred megabytes. */
  idleMs?: number;
}

interface Call {
  texts: number;
  resolve(vectors: Float32Array[]): void;
  reject(error: unknown): void;
}

const defaultIdleMs = 10 * 60_000;
const closeLimitMs = 5_000;
/** How long the end of the process waits for native work; a window takes about 15 ms. */
const exitLimitMs = 1_000;
/** About 230 windows, which take some seconds. */
const maxTextLength = 100_000;

/**
 * The built-in embedder: nothing is downloaded and nothing leaves the machine. English only. It runs in its own thread.
 * The first call starts the thread, which ends when it is idle and is started again if it dies.
 */
export class LocalEmbedder implements Embedder {
  readonly provider = 'local';
  readonly model: LocalModelName;
  readonly dimensions: number;
  readonly pricePerMillionTokens = 0;
  readonly limits: EmbedderLimits;

  readonly #startThread: (start: ThreadStart) => Worker;
  readonly #idleMs: number;
  readonly #calls = new Map<number, Call>();
  #lastCall = 0;
  #thread: Worker | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(settings: LocalEmbedderSettings = {}) {
    const { model = currentModel, startThread = startOwnThread, idleMs = defaultIdleMs } = settings;
    const { dimensions, windowTokens } = localModels[model];
    this.model = model;
    this.dimensions = dimensions;
    this.limits = {
      textsPerCall: 64,
      tokensPerCall: 64 * windowTokens,
      // Longer texts are embedded in windows.
      tokensPerText: windowTokens,
      // The second call waits at the thread while the result of the first is stored.
      callsInFlight: 2,
    };
    this.#startThread = startThread;
    this.#idleMs = idleMs;
  }

  async embed(texts: readonly string[], { signal, tenantId = '' }: EmbedOptions): Promise<Float32Array[]> {
    signal.throwIfAborted();
    if (texts.length === 0) return [];
    assertLengths(texts);
    if (this.#isClosed) throw embedderErrors.raise.embedder_stopped('The local embedder is closed');
    const thread = this.#workingThread();
    this.#lastCall += 1;
    const call = this.#lastCall;
    const giveUp = () => {
      thread.postMessage({ type: 'cancel', call } satisfies ThreadRequest);
      this.#finish(call, ({ reject }) => reject(signal.reason));
    };
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await new Promise<Float32Array[]>((resolve, reject) => {
        this.#calls.set(call, { texts: texts.length, resolve, reject });
        thread.postMessage({ type: 'embed', call, tenantId, texts } satisfies ThreadRequest);
      });
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#endThread();
  }

  /** Keeps the process alive only while a call is waiting. */
  #workingThread(): Worker {
    clearTimeout(this.#idleTimer);
    const thread = this.#thread ?? this.#openThread();
    this.#thread = thread;
    thread.ref();
    return thread;
  }

  #openThread(): Worker {
    const nativeWork = new NativeWork();
    const thread = this.#start(nativeWork);
    const atProcessExit = () => void nativeWork.closeAndWait(exitLimitMs);
    process.on('exit', atProcessExit);
    let reason = 'it ended by itself';
    thread.on('message', (answer: ThreadAnswer) => {
      if (answer.type !== 'unusable') return this.#take(answer);
      this.#failAll(thread, embedderErrors.raise.embedder_unavailable(answer.message));
    });
    thread.on('error', (error) => {
      reason = messageOf(error);
    });
    thread.on('exit', () => {
      process.off('exit', atProcessExit);
      const message = `The thread of the local embedder ended: ${reason}`;
      this.#failAll(thread, embedderErrors.raise.embedder_stopped(message));
    });
    return thread;
  }

  #start(nativeWork: NativeWork): Worker {
    keepRuntimeQuiet();
    try {
      return this.#startThread({ model: this.model, nativeWork: nativeWork.buffer });
    } catch (error) {
      throw embedderErrors.raise.embedder_unavailable(messageOf(error), { cause: error });
    }
  }

  #take(answer: Exclude<ThreadAnswer, { type: 'unusable' }>): void {
    this.#finish(answer.call, ({ texts, resolve, reject }) => {
      switch (answer.type) {
        case 'vectors':
          return resolve(splitVectors(answer.vectors, { count: texts, dimensions: this.dimensions }));
        case 'refused':
          return reject(embedderErrors.raise.embedder_refused(answer.message));
        case 'failed':
          return reject(embedderErrors.raise.embedder_failed(`The local embedder failed: ${answer.message}`));
      }
    });
  }

  /** Does nothing for a call that was aborted. */
  #finish(call: number, end: (call: Call) => void): void {
    const waiting = this.#calls.get(call);
    if (!waiting) return;
    this.#calls.delete(call);
    end(waiting);
    if (this.#calls.size === 0) this.#rest();
  }

  #rest(): void {
    clearTimeout(this.#idleTimer);
    if (this.#thread === null) return;
    this.#thread.unref();
    this.#idleTimer = setTimeout(() => void this.#endThread(), this.#idleMs).unref();
  }

  #failAll(thread: Worker, error: Error): void {
    // If the thread has been replaced, the calls belong to its successor.
    if (this.#thread !== thread) return;
    this.#thread = null;
    for (const call of [...this.#calls.keys()]) this.#finish(call, ({ reject }) => reject(error));
  }

  /** Asks the thread to end, so that the model is released properly; a thread that hangs is terminated. */
  async #endThread(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const thread = this.#thread;
    if (thread === null) return;
    this.#failAll(
      thread,
      embedderErrors.raise.embedder_stopped('The local embedder was closed during the call'),
    );
    const isGone = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage({ type: 'close' } satisfies ThreadRequest);
    if (!(await finishedWithin(isGone, closeLimitMs))) await thread.terminate();
  }
}

function assertLengths(texts: readonly string[]): void {
  for (const [index, { length }] of texts.entries()) {
    if (length <= maxTextLength) continue;
    throw embedderErrors.raise.embedder_text_too_long(
      `Text ${index + 1} of ${texts.length} has ${length} characters; at most ${maxTextLength} are allowed`,
    );
  }
}

function splitVectors(
  vectors: Float32Array,
  { count, dimensions }: { count: number; dimensions: number },
): Float32Array[] {
  return Array.from({ length: count }, (_, index) =>
    vectors.slice(index * dimensions, (index + 1) * dimensions),
  );
}

function startOwnThread(workerData: ThreadStart): Worker {
  const file = threadFile('local-thread');
  return new Worker(file, { name: 'embedder', execArgv: [], workerData });
}
