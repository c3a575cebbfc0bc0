import type { SluiceError } from '../errors.ts';
import type { CsvRows } from './csv-rows.ts';
import { readerErrors } from './errors.ts';
import type { JsonRows } from './json-rows.ts';
import type { RowSource } from './row-reader.ts';
import type { TextSource } from './text-source.ts';

/** Rows from text. `start` is text that was read earlier, to find the delimiter. */
export class TextRows implements RowSource {
  readonly #rows: CsvRows | JsonRows;
  readonly #texts: TextSource;
  #start: string | null;
  #hasText = false;

  constructor({ rows, texts, start }: { rows: CsvRows | JsonRows; texts: TextSource; start: string }) {
    this.#rows = rows;
    this.#texts = texts;
    this.#start = start;
  }

  get columns(): readonly string[] | null {
    return this.#rows.columns;
  }

  async advance(): Promise<boolean> {
    const text = this.#takeStart() ?? (await this.#texts.next());
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

  #takeStart(): string | null {
    const start = this.#start;
    this.#start = null;
    return start === '' ? null : start;
  }
}
