import { type MessagePort, parentPort } from 'node:worker_threads';
import { isSluiceError, messageOf } from '../../errors.ts';
import type { ParsedRow, ReaderLimits, RowReader } from '../types.ts';
import { openRowArchive } from './archive-kind.ts';
import { openWorkbookRows } from './open-workbook-rows.ts';

// Runs in the thread that reads workbooks; `workbook-readers.ts` starts and watches it. Several are read side by side:
// each gives the others a turn after a few milliseconds.

export type WorkbookRequest = { id: number } & (
  | { type: 'open'; fd: number; sizeBytes: number; sheet: string | undefined; limits: ReaderLimits }
  | { type: 'read'; maxRows: number; maxBytes: number }
  | { type: 'close' }
);

export type WorkbookAnswer = { id: number } & (
  | { type: 'opened'; columns: readonly string[] | null }
  | { type: 'rows'; rows: ParsedRow[] | null }
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
        const { columns } = await this.#open(request);
        return { id, type: 'opened', columns };
      }
      case 'read': {
        const reader = await this.#books.get(id)?.reader;
        return { id, type: 'rows', rows: (await reader?.read(request.maxRows, request.maxBytes)) ?? null };
      }
      case 'close':
        await this.#close(id);
        return { id, type: 'closed' };
    }
  }

  #open({
    id,
    fd,
    sizeBytes,
    sheet,
    limits,
  }: Extract<WorkbookRequest, { type: 'open' }>): Promise<RowReader> {
    const closing = new AbortController();
    const open = async () => {
      const archive = await openRowArchive({ lentFd: fd, sizeBytes }, limits);
      return openWorkbookRows(archive, { sheet, limits, signal: closing.signal });
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

function failureOf(error: unknown): WorkbookFailure {
  const isKnown = isSluiceError(error);
  return {
    code: isKnown ? error.code : null,
    message: messageOf(error),
    details: isKnown ? error.details : {},
  };
}

if (parentPort !== null) new ReaderThread(parentPort).listen();
