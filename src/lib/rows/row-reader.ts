import type { SluiceError } from '../errors.ts';
import type { RowNotes } from './notes.ts';
import type { RowQueue } from './row-queue.ts';
import type { FileLayout, ParsedRow, RowReader } from './types.ts';

/** Where rows come from: text that is cut into them, or a sheet. */
export interface RowSource {
  /** Null until they are known, or where each row names its own. */
  readonly columns: readonly string[] | null;
  /** Parses the next piece into the queue; false at the end. */
  advance(): Promise<boolean>;
  /** The error for a source that has ended without a row. */
  whyNoRows(): SluiceError;
  close(): Promise<void>;
}

interface OpenRowReaderParts {
  format: RowReader['format'];
  delimiter: string | null;
  source: RowSource;
  queue: RowQueue;
  layout: () => FileLayout;
  notes: RowNotes | null;
}

export class OpenRowReader implements RowReader {
  readonly format: RowReader['format'];
  readonly delimiter: string | null;
  readonly #source: RowSource;
  readonly #queue: RowQueue;
  readonly #layout: () => FileLayout;
  readonly #notes: RowNotes | null;
  #hasEnded = false;
  #failure: { error: unknown } | null = null;

  constructor({ format, delimiter, source, queue, layout, notes }: OpenRowReaderParts) {
    this.format = format;
    this.delimiter = delimiter;
    this.#source = source;
    this.#queue = queue;
    this.#layout = layout;
    this.#notes = notes;
  }

  get columns(): readonly string[] | null {
    return this.#source.columns;
  }

  get layout(): FileLayout {
    return this.#layout();
  }

  get notes(): RowReader['notes'] {
    return this.#notes?.all ?? [];
  }

  /** Reads on until the header is whole. */
  async readHeader(): Promise<void> {
    while (this.columns === null && !this.#hasEnded) await this.#advance();
  }

  async read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null> {
    if (this.#failure !== null) throw this.#failure.error;
    try {
      while (!this.#hasEnded && !this.#queue.holds(maxRows, maxBytes)) await this.#advance();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    const rows = this.#queue.take(maxRows, maxBytes);
    return rows.length === 0 ? null : rows;
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  async #advance(): Promise<void> {
    if (await this.#source.advance()) return;
    this.#hasEnded = true;
    if (this.#queue.total === 0) throw this.#source.whyNoRows();
  }
}
