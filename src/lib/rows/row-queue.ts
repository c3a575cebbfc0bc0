import { readerErrors } from './errors.ts';
import type { ParsedRow, ReaderLimits } from './types.ts';

/** Rows that are parsed and not yet taken. Counts all rows, for the limit and for row numbers. */
export class RowQueue {
  readonly #limits: ReaderLimits;
  #rows: ParsedRow[] = [];
  #head = 0;
  #bytes = 0;
  #total = 0;

  constructor(limits: ReaderLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  put(inputJson: string): void {
    if (this.#total === this.#limits.rows) {
      const most = this.#limits.rows;
      throw readerErrors.raise.too_many_rows(`The file has more than ${most} rows, the most allowed.`, {
        details: { max_rows: most },
      });
    }
    const sizeBytes = Buffer.byteLength(inputJson);
    this.#total += 1;
    this.#bytes += sizeBytes;
    this.#rows.push({ rowNo: this.#total, inputJson, sizeBytes });
  }

  /** Whether a batch of this size can be taken without waiting for more. */
  holds(maxRows: number, maxBytes: number): boolean {
    return this.#rows.length - this.#head >= maxRows || this.#bytes >= maxBytes;
  }

  /** At least one row if there is any, then as many as fit the limits. */
  take(maxRows: number, maxBytes: number): ParsedRow[] {
    const first = this.#head;
    let bytes = 0;
    let end = first;
    for (; end < this.#rows.length && (end === first || end - first < maxRows); end += 1) {
      const size = this.#rows[end]?.sizeBytes ?? 0;
      if (end > first && bytes + size > maxBytes) break;
      bytes += size;
    }
    const taken = this.#rows.slice(first, end);
    this.#bytes -= bytes;
    this.#head = end;
    if (this.#head * 2 >= this.#rows.length) {
      this.#rows.splice(0, this.#head);
      this.#head = 0;
    }
    return taken;
  }
}
