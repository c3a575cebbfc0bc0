import { isSluiceError, type SluiceError } from '../errors.ts';
import type { CsvRows } from './csv-rows.ts';
import { readerErrors } from './errors.ts';
import type { JsonRows } from './json-rows.ts';
import type { RowNotes } from './notes.ts';
import type { RowSource } from './row-reader.ts';
import type { TextSource } from './text-source.ts';

/** Rows from text. `start` is text that was read earlier, to find the delimiter. */
export class TextRows implements RowSource {
  readonly #rows: CsvRows | JsonRows;
  readonly #texts: TextSource;
  readonly #notes: RowNotes | null;
  #start: string | null;
  #hasText = false;

  constructor({
    rows,
    texts,
    start,
    notes = null,
  }: {
    rows: CsvRows | JsonRows;
    texts: TextSource;
    start: string;
    notes?: RowNotes | null;
  }) {
    this.#rows = rows;
    this.#texts = texts;
    this.#start = start;
    this.#notes = notes;
  }

  get columns(): readonly string[] | null {
    return this.#rows.columns;
  }

  async advance(): Promise<boolean> {
    const text = this.#takeStart() ?? (await this.#next());
    if (text === null) {
      this.#rows.finish();
      return false;
    }
    this.#hasText ||= text.trim() !== '';
    this.#rows.feed(text);
    return true;
  }

  whyNoRows(): SluiceError {
    if (!this.#hasText)
      return readerErrors.raise.empty_file('The file is empty: there is not even a header.');
    const count = this.columns?.length;
    return readerErrors.raise.no_rows(
      count === undefined
        ? 'The file is valid JSON, but the list of rows is empty.'
        : `The file has a header of ${count} columns, but no row after it.`,
    );
  }

  close(): Promise<void> {
    return this.#texts.close();
  }

  async #next(): Promise<string | null> {
    const text = await nextText(this.#texts, () => this.#rows.line);
    noteEncoding(this.#texts, { notes: this.#notes, line: this.#rows.line });
    return text;
  }

  #takeStart(): string | null {
    const start = this.#start;
    this.#start = null;
    return start === '' ? null : start;
  }
}

/** The next text. A wrong byte is reported with its line: the text before it was read already. */
export async function nextText(texts: TextSource, lineOf: () => number): Promise<string | null> {
  try {
    return await texts.next();
  } catch (error) {
    if (!isSluiceError(error) || error.code !== 'invalid_encoding') throw error;
    const line = lineOf();
    throw readerErrors.raise.invalid_encoding(`Line ${line}: ${error.message}`, {
      details: { ...error.details, line },
      cause: error,
    });
  }
}

/** Notes that the text is not UTF-8, once that shows. `line`: of the text that was read last. */
export function noteEncoding(
  texts: TextSource,
  { notes, line }: { notes: RowNotes | null; line: number },
): void {
  const change = texts.takeChange();
  if (change === null) return;
  const place = { line: line + lineBreaksIn(change.textBefore), row: null };
  notes?.add(
    'encoding',
    place,
    () => `byte ${change.byteOffset} is not UTF-8; the text was read as Windows-1252`,
  );
}

export function lineBreaksIn(text: string): number {
  return text.split(/\r\n|\n|\r/).length - 1;
}
