import type { ResourceLimits } from 'node:worker_threads';
import { KeptThread } from './kept-thread.ts';

export interface ThreadPoolOptions {
  file: `${string}-thread`;
  threads: number;
  resourceLimits?: ResourceLimits;
  /** A thread that takes longer for one question is ended: a question is small, so it hangs. */
  answerMs?: number;
}

export type PoolRequest<Question> = { id: number; question: Question };
export type PoolAnswer<Answer> = { id: number } & ({ answer: Answer } | { failure: string });

interface Asked<Question, Answer> {
  question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

const usualAnswerMs = 60_000;

/**
 * A few threads for work that would block the event loop. Each does one question after the other. Tenants take turns:
 * whoever asks a lot waits behind its own questions, and never behind more than one of each other tenant.
 */
export class ThreadPool<Question, Answer> {
  readonly #threads: PoolThread<Question, Answer>[];
  /** Only tenants that wait. Their order is that of the turns: whoever had one goes to the end. */
  readonly #waiting = new Map<string, Asked<Question, Answer>[]>();

  constructor(options: ThreadPoolOptions) {
    this.#threads = Array.from(
      { length: options.threads },
      () => new PoolThread<Question, Answer>(options, () => this.#next()),
    );
  }

  ask(question: Question, { tenantId }: { tenantId: string }): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const asked = { question, resolve, reject };
      this.#waiting.set(tenantId, [...(this.#waiting.get(tenantId) ?? []), asked]);
      this.#next();
    });
  }

  async close(): Promise<void> {
    for (const { reject } of [...this.#waiting.values()].flat()) reject(new Error('The threads were closed'));
    this.#waiting.clear();
    await Promise.all(this.#threads.map((thread) => thread.end('it was closed')));
  }

  #next(): void {
    for (const thread of this.#threads) {
      if (thread.isBusy) continue;
      const asked = this.#takeTurn();
      if (asked === null) return;
      thread.ask(asked);
    }
  }

  #takeTurn(): Asked<Question, Answer> | null {
    for (const [tenantId, [asked, ...others]] of this.#waiting) {
      this.#waiting.delete(tenantId);
      if (others.length > 0) this.#waiting.set(tenantId, others);
      if (asked) return asked;
    }
    return null;
  }
}

class PoolThread<Question, Answer> {
  readonly #thread: KeptThread<PoolRequest<Question>, PoolAnswer<Answer>>;
  readonly #answerMs: number;
  readonly #onFree: () => void;
  #current: Asked<Question, Answer> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor({ file, resourceLimits, answerMs = usualAnswerMs }: ThreadPoolOptions, onFree: () => void) {
    this.#answerMs = answerMs;
    this.#onFree = onFree;
    this.#thread = new KeptThread({
      file,
      ...(resourceLimits ? { resourceLimits } : {}),
      onAnswer: (answer) => answer.id === this.#lastId && this.#hear(answer),
      onLost: (error) => this.#finish(({ reject }) => reject(error)),
    });
  }

  get isBusy(): boolean {
    return this.#current !== null;
  }

  ask(asked: Asked<Question, Answer>): void {
    this.#current = asked;
    this.#lastId += 1;
    const giveUp = () => void this.end(`it took more than ${this.#answerMs / 1_000} s`);
    this.#timer = setTimeout(giveUp, this.#answerMs);
    try {
      this.#thread.ask({ id: this.#lastId, question: asked.question });
    } catch (error) {
      this.#finish(({ reject }) => reject(error));
    }
  }

  async end(why: string): Promise<void> {
    const ended = this.#thread.end();
    this.#finish(({ reject }) => reject(new Error(`The thread was ended: ${why}`)));
    await ended;
  }

  #hear(answer: PoolAnswer<Answer>): void {
    this.#finish(({ resolve, reject }) => {
      if ('answer' in answer) resolve(answer.answer);
      else reject(new Error(answer.failure));
    });
  }

  #finish(act: (asked: Asked<Question, Answer>) => void): void {
    const asked = this.#current;
    clearTimeout(this.#timer);
    this.#current = null;
    if (asked !== null) act(asked);
    this.#onFree();
    if (!this.isBusy) this.#thread.rest();
  }
}
