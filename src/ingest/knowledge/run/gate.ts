import type { Slice } from '../../../kernel/jobs/types.ts';

const lookEveryMs = 25;

/**
 * Whether a slice may take on more work. It closes when the job was paused, when the worker drains, and when the
 * slice has worked long enough. What is under way when it closes is brought to its end.
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

  /** Looks whether it has to close, and closes it then. */
  isClosed(): boolean {
    const mustClose = this.#slice.shouldYield() || performance.now() >= this.#deadlineMs;
    if (mustClose) this.close();
    return this.#isClosed;
  }

  /** Whether it was closed because the job is paused. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * The time of a slice counts from its first commit: what comes before, such as reading a book again, would be for
   * nothing if the slice ended without one.
   */
  noteCommit(): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, performance.now() + this.#sliceMs);
  }

  /** A commit has seen it: the worker hears of it with its next heartbeat, which may be many groups later. */
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
