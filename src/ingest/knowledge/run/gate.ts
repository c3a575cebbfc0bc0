import type { Slice } from '../../../kernel/jobs/types.ts';

const lookEveryMs = 25;

/**
 * Whether a slice may start more work. It closes when the job is paused, when the worker drains, and when the slice has
 * worked long enough. Work that has started is finished.
 */
export class Gate {
  readonly #slice: Pick<Slice, 'shouldYield' | 'signal'>;
  readonly #sliceMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly whenClosed: Promise<void>;
  #onClose: () => void = () => {};
  #deadlineMs = Number.POSITIVE_INFINITY;
  #isClosed = false;
  #isPaused = false;

  constructor(slice: Pick<Slice, 'shouldYield' | 'signal'>, { sliceMs }: { sliceMs: number }) {
    this.#slice = slice;
    this.#sliceMs = sliceMs;
    this.whenClosed = new Promise((resolve) => {
      this.#onClose = resolve;
    });
    this.#timer = setInterval(() => this.isClosed(), lookEveryMs);
    this.#timer.unref();
  }

  /** Closes the gate if it is time to. */
  isClosed(): boolean {
    const mustClose = this.#slice.shouldYield() || performance.now() >= this.#deadlineMs;
    if (mustClose) this.close();
    return this.#isClosed;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * The time of a slice counts from its first commit. A slice that ended before it would lose its work, such as reading
   * a large document.
   */
  noteCommit(): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, performance.now() + this.#sliceMs);
  }

  /** Called when a commit sees the pause: the worker's next heartbeat may come many groups later. */
  pause(): void {
    this.#isPaused = true;
    this.close();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#onClose();
  }
}
