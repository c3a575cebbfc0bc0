/**
 * Pulls up to `depth` items ahead, so that the next ones are made while the current ones are processed. Waiting and
 * taking are separate: a consumer that stops waiting loses nothing and may come back later.
 */
export class LoadAhead<T> {
  readonly #iterator: AsyncIterator<T>;
  readonly #depth: number;
  readonly #buffer: T[] = [];
  #failure: { error: unknown } | null = null;
  #hasEnded = false;
  #isPulling = false;
  #wake: (() => void)[] = [];

  constructor(items: AsyncIterable<T>, { depth }: { depth: number }) {
    this.#iterator = items[Symbol.asyncIterator]();
    this.#depth = depth;
  }

  /** Resolves when `take` has an item or the end. */
  ready(): Promise<void> {
    void this.#pull();
    if (this.#buffer.length > 0 || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  /** The next item; null if none is ready, or none is left. An error is thrown after the last item. */
  take(): T | null {
    const item = this.#buffer.shift();
    if (item === undefined && this.#failure) throw this.#failure.error;
    void this.#pull();
    return item ?? null;
  }

  isOver(): boolean {
    return this.#hasEnded && this.#buffer.length === 0 && this.#failure === null;
  }

  /** Takes items until the gate closes; the rest stays for later. */
  async *until(gate: { isClosed(): boolean; whenClosed: Promise<void> }): AsyncGenerator<T> {
    while (!gate.isClosed()) {
      await Promise.race([this.ready(), gate.whenClosed]);
      if (gate.isClosed() || this.isOver()) return;
      const item = this.take();
      if (item !== null) yield item;
    }
  }

  /** Does not wait for the source, which may hang. */
  close(): void {
    this.#hasEnded = true;
    this.#buffer.length = 0;
    this.#wakeAll();
    this.#iterator.return?.().catch(() => {});
  }

  async #pull(): Promise<void> {
    if (this.#isPulling) return;
    this.#isPulling = true;
    try {
      while (!this.#hasEnded && this.#buffer.length < this.#depth) {
        const next = await this.#iterator.next();
        if (this.#hasEnded) break;
        if (next.done) this.#hasEnded = true;
        else this.#buffer.push(next.value);
        this.#wakeAll();
      }
    } catch (error) {
      if (!this.#hasEnded) this.#failure = { error };
      this.#hasEnded = true;
      this.#wakeAll();
    } finally {
      this.#isPulling = false;
    }
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}

/**
 * Processes up to `limit` items at the same time; the results come in the order of the items. If one fails, the results
 * before it have been yielded.
 */
export async function* mapInOrder<T, U>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<U>,
): AsyncGenerator<U> {
  const iterator = items[Symbol.asyncIterator]();
  const window: Promise<U>[] = [];
  let coming: Promise<IteratorResult<T>> | null = null;
  let isOver = false;
  const admit = (next: IteratorResult<T>): void => {
    coming = null;
    if (next.done) {
      isOver = true;
      return;
    }
    const result = work(next.value);
    // Its failure is handled when it is awaited, which may be never.
    result.catch(() => {});
    window.push(result);
  };
  try {
    for (;;) {
      if (!isOver && window.length < limit) coming ??= iterator.next();
      const [head] = window;
      if (head === undefined) {
        if (coming === null) return;
        admit(await coming);
      } else if (coming !== null && (await comesFirst(coming, head))) {
        admit(await coming);
      } else {
        yield await head;
        window.shift();
      }
    }
  } finally {
    iterator.return?.().catch(() => {});
  }
}

/** Whether the next item comes before the head of the window is done; a failure to get it can wait. */
function comesFirst(coming: Promise<unknown>, head: Promise<unknown>): Promise<boolean> {
  const isFirst = () => true;
  const isNot = () => false;
  return Promise.race([coming.then(isFirst, isNot), head.then(isNot, isNot)]);
}
