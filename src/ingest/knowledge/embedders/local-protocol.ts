export const localDimensions = 512;

/** What the thread gets when it is started. */
export interface ThreadStart {
  /** Of `NativeWork`. */
  nativeWork: SharedArrayBuffer;
}

/** What the local embedder says to its thread. */
export type ThreadRequest =
  | { type: 'embed'; call: number; texts: readonly string[] }
  | { type: 'cancel'; call: number }
  | { type: 'close' };

/** What the thread says back. `vectors` are those of all texts, one behind the other. */
export type ThreadAnswer =
  | { type: 'vectors'; call: number; vectors: Float32Array<ArrayBuffer> }
  /** One of the texts cannot be embedded. */
  | { type: 'refused'; call: number; message: string }
  | { type: 'failed'; call: number; message: string }
  /** The model cannot be loaded: the thread ends after this. */
  | { type: 'unusable'; message: string };
