const size = 2;
const inside = 0;
const isClosed = 1;

/**
 * Guards native code, shared by two threads. If a process ends while native code runs in another thread, that code
 * cannot return its result, and the process aborts with a core dump instead of its exit code.
 */
export class NativeWork {
  readonly buffer: SharedArrayBuffer;
  readonly #state: Int32Array<SharedArrayBuffer>;

  constructor(buffer = new SharedArrayBuffer(size * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#state = new Int32Array(buffer);
  }

  /** Called on the working thread. Throws once the guard is closed. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    Atomics.add(this.#state, inside, 1);
    try {
      if (Atomics.load(this.#state, isClosed) === 1) throw new Error('The process is ending');
      return await work();
    } finally {
      Atomics.sub(this.#state, inside, 1);
      Atomics.notify(this.#state, inside);
    }
  }

  /**
   * Called on the other thread: blocks until no work is running, or the time is up. Returns whether none is running.
   */
  closeAndWait(limitMs: number): boolean {
    Atomics.store(this.#state, isClosed, 1);
    const untilMs = performance.now() + limitMs;
    for (;;) {
      const working = Atomics.load(this.#state, inside);
      const leftMs = untilMs - performance.now();
      if (working === 0 || leftMs <= 0) return working === 0;
      Atomics.wait(this.#state, inside, working, leftMs);
    }
  }
}
