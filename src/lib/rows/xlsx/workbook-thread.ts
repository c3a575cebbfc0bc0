import { type MessagePort, parentPort } from 'node:worker_threads';
import { isSluiceError, messageOf } from '../../errors.ts';
import { giveWay } from '../../threads/give-way.ts';
import type { FileLayout, ParsedRow, RowReader } from '../types.ts';
import { openRowArchive } from './archive-kind.ts';
import { openWorkbookRows, type SheetOptions } from './open-workbook-rows.ts';

// Runs in the thread that reads workbooks; `workbook-readers.ts` starts and watches it. Several are read side by side:
// each gives the others a turn after a few milliseconds.

export type WorkbookRequest = { id: number } & (
  | { type: 'open'; fd: number; sizeBytes: number; options: SheetOptions }
  | { type: 'read'; maxRows: number; maxBytes: number }
  | { type: 'close' }
);

/** What a reader knows besides its rows. */
export interface SheetReport {
  columns: readonly string[] | null;
  notes: RowReader['notes'];
  layout: FileLayout;
}

export type WorkbookAnswer = { id: number } & (
  | { type: 'opened'; report: SheetReport }
  /** The report comes with the end of the rows: repaired rows may have added columns. */
  | { type: 'rows'; rows: ParsedRow[] | null; report: SheetReport | null }
  /** From now on the thread does not use the file any more. */
  | { type: 'closed' }
  | { type: 'failed'; failure: WorkbookFailure }
);

/** `code`: of the catalogue of errors; null for an unexpected one. */
export interface WorkbookFailure {
  code: string | null;
  message: string;
  details: Record<string, unknown>;
}

interface OpenBook {
  reader: Promise<RowReader>;
  closing: AbortController;
}

class ReaderThread {
  readonly #port: MessagePort;
  readonly #books = new Map<number, OpenBook>();

  constructor(port: MessagePort) {
    this.#port = port;
  }

  listen(): void {
    this.#port.on('message', (request: WorkbookRequest) => {
      this.#answer(request).then(
        (answer) => this.#port.postMessage(answer),
        (error: unknown) =>
          this.#port.postMessage({ id: request.id, type: 'failed', failure: failureOf(error) }),
      );
    });
  }

  async #answer(request: WorkbookRequest): Promise<WorkbookAnswer> {
    const { id } = request;
    switch (request.type) {
      case 'open': {
        return { id, type: 'opened', report: reportOf(await this.#open(request)) };
      }
      case 'read': {
        const reader = await this.#books.get(id)?.reader;
        const rows = (await reader?.read(request.maxRows, request.maxBytes)) ?? null;
        return { id, type: 'rows', rows, report: rows === null && reader ? reportOf(reader) : null };
      }
      case 'close':
        await this.#close(id);
        return { id, type: 'closed' };
    }
  }

  #open({ id, fd, sizeBytes, options }: Extract<WorkbookRequest, { type: 'open' }>): Promise<RowReader> {
    const closing = new AbortController();
    const open = async () => {
      const archive = await openRowArchive({ lentFd: fd, sizeBytes }, options.limits);
      return openWorkbookRows(archive, { ...options, signal: closing.signal });
    };
    const reader = open();
    this.#books.set(id, { reader, closing });
    return reader;
  }

  async #close(id: number): Promise<void> {
    const book = this.#books.get(id);
    this.#books.delete(id);
    book?.closing.abort();
    // A workbook that could not be opened has closed itself.
    const reader = await book?.reader.catch(() => null);
    await reader?.close();
  }
}

function reportOf({ columns, notes, layout }: RowReader): SheetReport {
  return { columns, notes, layout };
}

function failureOf(error: unknown): WorkbookFailure {
  const isKnown = isSluiceError(error);
  return {
    code: isKnown ? error.code : null,
    message: messageOf(error),
    details: isKnown ? error.details : {},
  };
}

if (parentPort !== null) {
  giveWay();
  new ReaderThread(parentPort).listen();
}
