import type { LocalModelName } from './local-models.ts';

/** What the thread gets when it starts. */
export interface ThreadStart {
  model: LocalModelName;
  /** Of `NativeWork`. */
  nativeWork: SharedArrayBuffer;
}

/** Messages from the local embedder to its thread. */
export type ThreadRequest =
  | { type: 'embed'; call: number; tenantId: string; texts: readonly string[] }
  | { type: 'cancel'; call: number }
  | { type: 'close' };

/** Messages from the thread. `vectors` holds the vectors of all texts, one after the other. */
export type ThreadAnswer =
  | { type: 'vectors'; call: number; vectors: Float32Array<ArrayBuffer> }
  /** One of the texts cannot be embedded. */
  | { type: 'refused'; call: number; message: string }
  | { type: 'failed'; call: number; message: string }
  /** The model cannot be loaded: the thread ends after this. */
  | { type: 'unusable'; message: string };
