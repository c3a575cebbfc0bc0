import { messageOf, type SluiceError } from '../../../lib/errors.ts';
import { KeptThread } from '../../../lib/threads/kept-thread.ts';
import { unreadable } from './convert.ts';
import type { ThreadAnswer, ThreadQuestion } from './document-thread.ts';
import { documentErrors } from './errors.ts';
import { titleOfName } from './safe-text.ts';
import type { ReadResult } from './types.ts';

export type ReaderQuestion = Omit<ThreadQuestion, 'id'>;

interface Asked {
  question: ThreadQuestion;
  resolve(result: ReadResult): void;
  reject(reason: unknown): void;
  signal: AbortSignal;
  onAbort(): void;
}

const defaultHeapMb = 512;

/**
 * Reads documents in a separate thread, one after the other. A document that takes too long or too much memory ends its
 * thread and nothing else: the next document gets a new thread.
 */
export class DocumentReader {
  readonly #heapMb: number;
  readonly #thread: KeptThread<ThreadQuestion, ThreadAnswer>;
  readonly #waiting: Asked[] = [];
  #current: Asked | null = null;
  #timers: NodeJS.Timeout[] = [];
  #lastId = 0;

  constructor({ heapMb = defaultHeapMb }: { heapMb?: number } = {}) {
    this.#heapMb = heapMb;
    this.#thread = new KeptThread({
      file: 'document-thread',
      resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: 4 },
      onAnswer: (answer) => this.#hear(answer),
      onLost: (error) => this.#lose(error),
    });
  }

  /** Rejects only if the signal is aborted. The bytes are transferred, not copied. */
  read(question: ReaderQuestion, signal: AbortSignal): Promise<ReadResult> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      this.#lastId += 1;
      const onAbort = () => this.#abort(asked);
      const asked: Asked = { question: { ...question, id: this.#lastId }, resolve, reject, signal, onAbort };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(asked);
      this.#next();
    });
  }

  /** Other callers may still be waiting: then their documents are read first, and the thread ends when idle. */
  async closeIfIdle(): Promise<void> {
    if (this.#current === null) await this.close();
  }

  /** Ends the thread; a later document starts another one. */
  async close(): Promise<void> {
    const ended = this.#thread.end();
    const closed = documentErrors.raise.document_reader_failed('The reader was closed');
    for (const { question, resolve } of this.#waiting.splice(0)) {
      resolve(unreadable(closed, titleOfName(question.name)));
    }
    this.#failCurrent(closed);
    await ended;
  }

  #next(): void {
    if (this.#current !== null) return;
    const asked = this.#waiting.shift();
    if (asked === undefined) {
      this.#thread.rest();
      return;
    }
    this.#current = asked;
    this.#watch(asked.question);
    try {
      this.#thread.ask(asked.question, asked.question.bytes);
    } catch (error) {
      this.#failCurrent(error);
    }
  }

  #hear(answer: ThreadAnswer): void {
    if (answer.id !== this.#current?.question.id) return;
    if (answer.type === 'progress') {
      this.#timers[1]?.refresh();
      // Each page that is recognised may take as long as a whole document otherwise.
      if (answer.isRecognising) this.#timers[0]?.refresh();
    } else this.#finish((asked) => asked.resolve(answer.result));
  }

  /** Limits the time of the whole document and of each piece. A busy thread cannot do so itself. */
  #watch({ limits }: ThreadQuestion): void {
    const giveUp = (what: string, ms: number) => () =>
      this.#kill(
        documentErrors.raise.document_takes_too_long(`${what} took more than ${ms / 1_000} s to read`),
      );
    this.#timers = [
      setTimeout(giveUp('The document', limits.documentMs), limits.documentMs),
      setTimeout(giveUp('A page or a piece of the document', limits.pieceMs), limits.pieceMs),
    ];
  }

  #lose(error: unknown): void {
    const { code } = error as NodeJS.ErrnoException;
    this.#failCurrent(
      code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? documentErrors.raise.document_needs_too_much_memory(
            `The document needs more than ${this.#heapMb} MB of memory to be read`,
          )
        : documentErrors.raise.document_reader_failed(`The reader ended: ${messageOf(error)}`),
    );
  }

  #kill(reason: SluiceError): void {
    void this.#thread.end();
    this.#failCurrent(reason);
  }

  #failCurrent(error: unknown): void {
    this.#finish((asked) => asked.resolve(unreadable(error, titleOfName(asked.question.name))));
  }

  #abort(asked: Asked): void {
    const at = this.#waiting.indexOf(asked);
    if (at >= 0) {
      this.#waiting.splice(at, 1);
      asked.reject(asked.signal.reason);
      return;
    }
    if (asked !== this.#current) return;
    void this.#thread.end();
    this.#finish(() => asked.reject(asked.signal.reason));
  }

  #finish(act: (asked: Asked) => void): void {
    const asked = this.#current;
    if (asked === null) return;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
    asked.signal.removeEventListener('abort', asked.onAbort);
    this.#current = null;
    act(asked);
    this.#next();
  }
}
