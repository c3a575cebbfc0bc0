import { ByteSource } from '../../../kernel/formats/byte-source.ts';
import { CsvRows } from './csv-rows.ts';
import { type Delimiter, delimiters, detectDelimiter, headerEnd } from './delimiter.ts';
import { type Declaration, type Detected, detect, sniffBytes } from './detect.ts';
import { readerErrors } from './errors.ts';
import { JsonRows } from './json-rows.ts';
import { RowQueue } from './row-queue.ts';
import { TextSource } from './text-source.ts';
import { defaultReaderLimits, type ParsedRow, type ReaderLimits, type RowReader } from './types.ts';

export interface OpenRowsOptions extends Declaration {
  /** Instead of the one that the header shows. Ignored for JSON. */
  delimiter?: Delimiter | undefined;
  limits?: Partial<ReaderLimits> | undefined;
}

/**
 * Opens a file of rows: looks at the first bytes to see what it is, reads the header, and leaves the rest to `read`.
 * The source is read only as far as rows are asked for. After an error the caller closes the reader, or the source
 * itself when opening failed; an HTTP request may have to be drained before it can be answered.
 */
export async function openRows(
  source: AsyncIterable<Uint8Array | string>,
  options: OpenRowsOptions = {},
): Promise<RowReader> {
  const limits = { ...defaultReaderLimits, ...options.limits };
  const bytes = new ByteSource(source, limits.pieceBytes);
  const detected = detect(await bytes.peek(sniffBytes), options);
  const texts = new TextSource(bytes, detected);
  const queue = new RowQueue(limits);
  if (detected.content !== 'delimited') {
    const rows = new JsonRows({ isArray: detected.content === 'json', limits, queue });
    return new OpenRowReader({ format: detected.content, delimiter: null, rows, texts, queue });
  }
  const start = await readHeaderText(texts);
  const delimiter = chooseDelimiter(start.header, { delimiter: options.delimiter, detected });
  const rows = new CsvRows({ delimiter, limits, queue });
  const format = delimiter === '\t' ? 'tsv' : 'csv';
  const reader = new OpenRowReader({ format, delimiter, rows, texts, queue });
  await reader.readHeader(start.text);
  return reader;
}

/** Text from the start that holds the header, and the header itself. */
async function readHeaderText(texts: TextSource): Promise<{ text: string; header: string }> {
  let text = '';
  for (;;) {
    const next = await texts.next();
    if (next === null) return { text, header: text };
    text += next;
    const end = headerEnd(text);
    if (end !== -1) return { text, header: text.slice(0, end) };
  }
}

function chooseDelimiter(
  header: string,
  { delimiter, detected }: { delimiter: Delimiter | undefined; detected: Detected },
): Delimiter {
  if (delimiter !== undefined) return delimiter;
  const found = detectDelimiter(header);
  if (!detected.isDeclaredTsv || found === '\t') return found;
  if (!delimiters.some((one) => header.includes(one))) return '\t';
  throw readerErrors.raise.content_mismatch(
    `The file is declared as TSV, but its header is divided by ${JSON.stringify(found)} and not by tabs.`,
    { details: { declared: 'tsv', detected: 'csv', delimiter: found } },
  );
}

type Rows = CsvRows | JsonRows;

class OpenRowReader implements RowReader {
  readonly format: RowReader['format'];
  readonly delimiter: string | null;
  readonly #rows: Rows;
  readonly #texts: TextSource;
  readonly #queue: RowQueue;
  #hasText = false;
  #hasEnded = false;
  #failure: { error: unknown } | null = null;

  constructor(parts: {
    format: RowReader['format'];
    delimiter: string | null;
    rows: Rows;
    texts: TextSource;
    queue: RowQueue;
  }) {
    this.format = parts.format;
    this.delimiter = parts.delimiter;
    this.#rows = parts.rows;
    this.#texts = parts.texts;
    this.#queue = parts.queue;
  }

  get columns(): readonly string[] | null {
    return this.#rows.columns;
  }

  /** Reads on until the header is whole, beginning with text that was read to find the delimiter. */
  async readHeader(start: string): Promise<void> {
    this.#feed(start);
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
    return this.#texts.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ParsedRow[]> {
    try {
      for (;;) {
        const rows = await this.read(1_000, 1024 * 1024);
        if (rows === null) return;
        yield rows;
      }
    } finally {
      await this.close();
    }
  }

  async #advance(): Promise<void> {
    const text = await this.#texts.next();
    if (text !== null) {
      this.#feed(text);
      return;
    }
    this.#rows.finish();
    this.#hasEnded = true;
    if (this.#queue.total > 0) return;
    if (!this.#hasText) throw readerErrors.raise.empty_file('The file is empty: there is not even a header.');
    throw readerErrors.raise.no_rows(this.#noRowsMessage());
  }

  #feed(text: string): void {
    this.#hasText ||= text.trim() !== '';
    this.#rows.feed(text);
  }

  #noRowsMessage(): string {
    const count = this.columns?.length;
    if (count === undefined) return 'The file is valid JSON, but the list of rows is empty.';
    return `The file has a header of ${count} columns, but no row after it.`;
  }
}
