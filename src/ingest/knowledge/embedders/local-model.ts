import type { InferenceSession } from 'onnxruntime-node';
import { toUnitLength } from './embedder.ts';
import { type InferenceRuntime, loadInferenceRuntime } from './inference-runtime.ts';
import { loadPieces, type Pieces, readAsset } from './local-assets.ts';
import type { LocalModelSpec } from './local-models.ts';
import { windowsOf } from './local-windows.ts';
import type { NativeWork } from './native-work.ts';

interface Parts {
  runtime: InferenceRuntime;
  session: InferenceSession;
  pieces: Pieces;
  spec: LocalModelSpec;
  nativeWork: NativeWork;
}

export interface ModelOptions {
  signal: AbortSignal;
  turn<T>(work: () => Promise<T>): Promise<T>;
}

/** The loaded sentence encoder. It blocks its thread for about 10 ms per window. */
export class LocalModel {
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async load(spec: LocalModelSpec, nativeWork: NativeWork): Promise<LocalModel> {
    const pieces = await loadPieces(spec);
    const bytes = await readAsset(spec.files.model);
    // Counted as native work too: the import loads a native library.
    const runtime = await nativeWork.run(loadInferenceRuntime);
    // One core: the others are for the workers and the database.
    const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 } as const;
    const session = await nativeWork.run(() => runtime.InferenceSession.create(bytes, options));
    return new LocalModel({ runtime, session, pieces, spec, nativeWork });
  }

  get dimensions(): number {
    return this.#parts.spec.dimensions;
  }

  /** Null for a text without any known piece. Each window waits for its turn. */
  async embed(text: string, { signal, turn }: ModelOptions): Promise<Float32Array | null> {
    const { pieces, spec } = this.#parts;
    const sum = new Float32Array(spec.dimensions);
    for (const window of windowsOf(pieces.encode(text), spec.windowTokens)) {
      signal.throwIfAborted();
      const vector = await turn(() => this.#run(pieces.framed(window)));
      for (const [index, value] of vector.entries()) sum[index] = (sum[index] ?? 0) + value * window.length;
    }
    return toUnitLength(sum);
  }

  async release(): Promise<void> {
    await this.#parts.session.release();
  }

  /**
   * One window at a time. Batches are hardly faster (484 instead of 410 sentences, 98 instead of 105 chunks a second).
   * The model rounds by the largest number of a batch, so a text's vector would also depend on its neighbours.
   */
  async #run(window: readonly number[]): Promise<Float32Array> {
    const { runtime, session, nativeWork } = this.#parts;
    const ids = new runtime.Tensor('int32', Int32Array.from(window), [1, window.length]);
    const { vectors } = await nativeWork.run(() => session.run({ ids }));
    return vectors?.data as Float32Array;
  }
}
