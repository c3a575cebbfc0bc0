import { type ErrorFactory, messageOf } from '../../errors.ts';
import { contentErrors } from '../../formats/errors.ts';
import type { Spool } from '../../formats/spool.ts';
import { KeptThread } from '../../threads/kept-thread.ts';
import { readerErrors } from '../errors.ts';
import { type FileLayout, type ParsedRow, plainLayout, type RowReader } from '../types.ts';
import type { SheetOptions } from './open-workbook-rows.ts';
import type { SheetReport, WorkbookAnswer, WorkbookFailure, WorkbookRequest } from './workbook-thread.ts';

/** Opens a workbook; takes over its file. */
export type OpenWorkbook = (file: Spool, options: SheetOptions) => Promise<RowReader>;

/** One workbook keeps up to 40 MB, however large it is: long tables of texts go to a file. */
const heapMb = 512;

interface Asked {
  resolve(answer: WorkbookAnswer): void;
  reject(error: unknown): void;
}

/**
 * Reads workbooks in a thread of their own: parsing XML keeps a thread busy for seconds. The thread works only when
 * rows are requested, and stops when the reader is closed or its signal aborts.
 */
export class WorkbookReaders {
  readonly #open = new Map<number, ThreadReader>();
  #lastId = 0;
  readonly #thread = new KeptThread<WorkbookRequest, WorkbookAnswer>({
    file: 'workbook-thread',
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    onAnswer: (answer) => this.#open.get(answer.id)?.hear(answer),
    onLost: (error) => this.#loseAll(error),
  });

  /** Takes over the file, also if it fails. */
  async open(
    file: Spool,
    { signal, ...options }: SheetOptions & { signal: AbortSignal },
  ): Promise<RowReader> {
    this.#lastId += 1;
    const id = this.#lastId;
    const reader = new ThreadReader(id, {
      signal,
      ask: (request) => this.#thread.ask(request),
      onClosed: async () => {
        this.#open.delete(id);
        if (this.#open.size === 0) this.#thread.rest();
        await file.close();
      },
    });
    this.#open.set(id, reader);
    try {
      await reader.open({ fd: file.fd, sizeBytes: file.sizeBytes, options });
      return reader;
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#thread.end();
    this.#loseAll(new Error('it was closed'));
  }

  #loseAll(error: unknown): void {
    for (const reader of [...this.#open.values()]) reader.lose(error);
  }
}

interface ThreadReaderParts {
  signal: AbortSignal;
  ask(request: WorkbookRequest): void;
  /** The thread does not use the file any more. */
  onClosed(): Promise<void>;
}

class ThreadReader implements RowReader {
  readonly format = 'xlsx';
  readonly delimiter = null;
  readonly #id: number;
  readonly #parts: ThreadReaderParts;
  #report: SheetReport = { columns: null, notes: [], layout: plainLayout };
  #asked: Asked | null = null;
  #closing: Promise<void> | null = null;
  #lost: { error: unknown } | null = null;
  readonly #onAbort = (): void => this.#fail(this.#parts.signal.reason);

  constructor(id: number, parts: ThreadReaderParts) {
    this.#id = id;
    this.#parts = parts;
    parts.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get columns(): readonly string[] | null {
    return this.#report.columns;
  }

  get layout(): FileLayout {
    return this.#report.layout;
  }

  get notes(): RowReader['notes'] {
    return this.#report.notes;
  }

  async open(question: Omit<Extract<WorkbookRequest, { type: 'open' }>, 'id' | 'type'>): Promise<void> {
    const answer = await this.#ask({ id: this.#id, type: 'open', ...question });
    if (answer.type === 'opened') this.#report = answer.report;
  }

  async read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null> {
    const answer = await this.#ask({ id: this.#id, type: 'read', maxRows, maxBytes });
    if (answer.type !== 'rows') return null;
    this.#report = answer.report ?? this.#report;
    return answer.rows;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  hear(answer: WorkbookAnswer): void {
    // An answer that nobody waits for belongs to a read that was aborted.
    if (this.#closing !== null && answer.type !== 'closed') return;
    const asked = this.#asked;
    this.#asked = null;
    if (answer.type === 'failed') asked?.reject(errorOf(answer.failure));
    else asked?.resolve(answer);
  }

  lose(error: unknown): void {
    this.#lost = { error: threadFailed(error) };
    this.#fail(this.#lost.error);
  }

  async #close(): Promise<void> {
    this.#parts.signal.removeEventListener('abort', this.#onAbort);
    this.#fail(new Error('The workbook was closed while it was read'));
    // A thread that has ended uses nothing any more.
    if (this.#lost === null) await this.#send({ id: this.#id, type: 'close' }).catch(() => {});
    await this.#parts.onClosed();
  }

  async #ask(request: WorkbookRequest): Promise<WorkbookAnswer> {
    this.#parts.signal.throwIfAborted();
    if (this.#lost !== null) throw this.#lost.error;
    if (this.#closing !== null) throw new Error('The workbook was read after it was closed');
    return this.#send(request);
  }

  #send(request: WorkbookRequest): Promise<WorkbookAnswer> {
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
      this.#parts.ask(request);
    });
  }

  #fail(error: unknown): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.reject(error);
  }
}

/** The same error as if it had been thrown here. */
function errorOf({ code, message, details }: WorkbookFailure): Error {
  const factories: Record<string, ErrorFactory> = { ...readerErrors.raise, ...contentErrors.raise };
  const raise = code === null ? undefined : factories[code];
  return raise ? raise(message, { details }) : threadFailed(new Error(message));
}

function threadFailed(error: unknown): Error {
  return readerErrors.raise.workbook_reader_failed(`The workbook could not be read: ${messageOf(error)}`, {
    cause: error,
  });
}
