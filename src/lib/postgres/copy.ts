import type pg from 'pg';

/** What of the driver's connection COPY needs; its types do not have it. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** `copy … from stdin` of bytes that are all there already. */
class CopyFrom {
  /** The driver calls this when the connection dies while the statement runs. */
  callback: (error: Error | null) => void;
  readonly #text: string;
  readonly #chunks: readonly Buffer[];
  #error: Error | null = null;

  constructor(text: string, chunks: readonly Buffer[], callback: (error: Error | null) => void) {
    this.#text = text;
    this.#chunks = chunks;
    this.callback = callback;
  }

  submit(connection: CopyConnection): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (const chunk of this.#chunks) connection.sendCopyFromChunk(chunk);
    connection.endCopyFrom();
  }

  handleError(error: Error): void {
    this.#error ??= error;
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (this.#error === null) this.callback(null);
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
}

/**
 * Copies rows in PostgreSQL's text format into a table. COPY is refused on tables with row-level security, so the
 * target is a temporary one.
 */
export function copyFrom(client: pg.ClientBase, text: string, chunks: readonly Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const copy = new CopyFrom(text, chunks, (error) => {
      if (isOver) return;
      isOver = true;
      if (error) reject(error);
      else resolve();
    });
    client.query(copy as unknown as pg.Submittable);
  });
}

/** A value as the text format of COPY has it; `null` is `\N`. */
export function copyText(value: string | null): string {
  if (value === null) return '\\N';
  return mustEscape.test(value) ? value.replace(/[\\\t\n\r]/g, (one) => escapes[one] ?? one) : value;
}

const mustEscape = /[\\\t\n\r]/;
const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
