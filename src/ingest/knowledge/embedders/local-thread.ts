// The thread of the local embedder. Inference blocks, and the main thread with leases and heartbeats must not.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { TenantSlots } from '../../../kernel/limits/tenant-slots.ts';
import { messageOf } from '../../../lib/errors.ts';
import { LocalModel } from './local-model.ts';
import { localModels } from './local-models.ts';
import type { ThreadAnswer, ThreadRequest, ThreadStart } from './local-protocol.ts';
import { NativeWork } from './native-work.ts';

type EmbedRequest = Extract<ThreadRequest, { type: 'embed' }>;

/** In milliseconds, the longest that a timer can wait: whoever waits for the thread has a limit of its own. */
const foreverMs = 2 ** 31 - 1;

/**
 * Calls are interleaved window by window, so that a search does not wait for a whole group of a run, and tenants take
 * turns, so that it does not wait for another tenant's forty searches.
 */
class EmbedderThread {
  readonly #model: LocalModel;
  readonly #answer: (answer: ThreadAnswer, transfer?: ArrayBuffer[]) => void;
  readonly #calls = new Map<number, AbortController>();
  readonly #turns = new TenantSlots({
    what: 'texts',
    setting: 'TENANT_CONCURRENT_SEARCHES',
    perTenant: 1,
    total: 1,
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWaitMs: foreverMs,
  });

  constructor(model: LocalModel, answer: (answer: ThreadAnswer, transfer?: ArrayBuffer[]) => void) {
    this.#model = model;
    this.#answer = answer;
  }

  async embed({ call, tenantId, texts }: EmbedRequest): Promise<void> {
    const canceled = new AbortController();
    this.#calls.set(call, canceled);
    try {
      await this.#embedAll({ call, tenantId, texts, signal: canceled.signal });
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

  async #embedAll(asked: Omit<EmbedRequest, 'type'> & { signal: AbortSignal }): Promise<void> {
    const { call, tenantId, texts, signal } = asked;
    const turn = <T>(work: () => Promise<T>) => this.#turns.run(tenantId, work, signal);
    const vectors = new Float32Array(texts.length * this.#model.dimensions);
    for (const [index, text] of texts.entries()) {
      const vector = await this.#model.embed(text, { signal, turn });
      if (vector === null) {
        this.#answer({
          type: 'refused',
          call,
          message: `Text ${index + 1} of ${texts.length} contains no words`,
        });
        return;
      }
      vectors.set(vector, index * this.#model.dimensions);
    }
    this.#answer({ type: 'vectors', call, vectors }, [vectors.buffer]);
  }
}

async function serve(port: MessagePort, start: ThreadStart): Promise<void> {
  // Messages that arrive before the first listener are kept, so nothing is lost while the model loads.
  let thread: EmbedderThread;
  try {
    const model = await LocalModel.load(localModels[start.model], new NativeWork(start.nativeWork));
    thread = new EmbedderThread(model, (answer, transfer) => port.postMessage(answer, transfer));
  } catch (error) {
    port.postMessage({ type: 'unusable', message: messageOf(error) } satisfies ThreadAnswer);
    port.close();
    return;
  }
  port.on('message', (request: ThreadRequest) => {
    switch (request.type) {
      case 'embed':
        void thread.embed(request);
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
