// The thread of the local embedder. Inference blocks, and the main thread with leases and heartbeats must not.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../lib/errors.ts';
import { LocalModel } from './local-model.ts';
import {
  localDimensions,
  type ThreadAnswer,
  type ThreadRequest,
  type ThreadStart,
} from './local-protocol.ts';
import { NativeWork } from './native-work.ts';

/** Calls are interleaved text by text, so that a search does not wait for a whole group of a run. */
class EmbedderThread {
  readonly #model: LocalModel;
  readonly #answer: (answer: ThreadAnswer, transfer?: ArrayBuffer[]) => void;
  readonly #calls = new Map<number, AbortController>();

  constructor(model: LocalModel, answer: (answer: ThreadAnswer, transfer?: ArrayBuffer[]) => void) {
    this.#model = model;
    this.#answer = answer;
  }

  async embed(call: number, texts: readonly string[]): Promise<void> {
    const canceled = new AbortController();
    this.#calls.set(call, canceled);
    try {
      await this.#embedAll({ call, texts, signal: canceled.signal });
    } catch (error) {
      if (!canceled.signal.aborted) this.#answer({ type: 'failed', call, message: messageOf(error) });
    } finally {
      this.#calls.delete(call);
    }
  }

  cancel(call: number): void {
    this.#calls.get(call)?.abort();
  }

  async close(): Promise<void> {
    for (const canceled of this.#calls.values()) canceled.abort();
    await this.#model.release();
  }

  async #embedAll(work: { call: number; texts: readonly string[]; signal: AbortSignal }): Promise<void> {
    const { call, texts, signal } = work;
    const vectors = new Float32Array(texts.length * localDimensions);
    for (const [index, text] of texts.entries()) {
      const vector = await this.#model.embed(text, { signal });
      if (vector === null) {
        this.#answer({
          type: 'refused',
          call,
          message: `Text ${index + 1} of ${texts.length} contains no words`,
        });
        return;
      }
      vectors.set(vector, index * localDimensions);
    }
    this.#answer({ type: 'vectors', call, vectors }, [vectors.buffer]);
  }
}

async function serve(port: MessagePort, start: ThreadStart): Promise<void> {
  // Messages that arrive before the first listener are kept, so nothing is lost while the model loads.
  let thread: EmbedderThread;
  try {
    const model = await LocalModel.load(new NativeWork(start.nativeWork));
    thread = new EmbedderThread(model, (answer, transfer) => port.postMessage(answer, transfer));
  } catch (error) {
    port.postMessage({ type: 'unusable', message: messageOf(error) } satisfies ThreadAnswer);
    port.close();
    return;
  }
  port.on('message', (request: ThreadRequest) => {
    switch (request.type) {
      case 'embed':
        void thread.embed(request.call, request.texts);
        break;
      case 'cancel':
        thread.cancel(request.call);
        break;
      case 'close':
        void thread.close().finally(() => port.close());
        break;
    }
  });
}

if (parentPort !== null) await serve(parentPort, workerData as ThreadStart);
