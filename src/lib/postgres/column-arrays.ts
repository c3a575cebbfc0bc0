/**
 * Collects rows as one array literal per column, for `insert … select from unnest(…)`. Elements come as PostgreSQL's
 * array format has them: `arrayText` makes one of a text, numbers and dates can be given as they are.
 */
export class ColumnArrays {
  readonly #open: string[];
  #packed: Buffer[][];
  #rows = 0;
  #rowsInOpen = 0;

  constructor(columns: number) {
    this.#open = Array.from({ length: columns }, () => '');
    this.#packed = this.#open.map(() => []);
  }

  get isEmpty(): boolean {
    return this.#rows === 0;
  }

  add(elements: readonly string[]): void {
    for (let column = 0; column < this.#open.length; column += 1) {
      this.#open[column] += `${elements[column]},`;
    }
    this.#rows += 1;
    this.#rowsInOpen += 1;
    if (this.#rowsInOpen >= rowsPerPack) this.#pack();
  }

  /** Returns the rows since the last call: one array literal per column. */
  take(): string[] {
    this.#pack();
    const columns = this.#packed.map((parts) => {
      // The last comma has nothing behind it.
      const text = Buffer.concat(parts).toString();
      return `{${text.slice(0, -1)}}`;
    });
    this.#packed = this.#open.map(() => []);
    this.#rows = 0;
    return columns;
  }

  /** Bytes live outside the heap; many small strings would stay in it until the rows are sent. */
  #pack(): void {
    this.#open.forEach((text, column) => {
      this.#packed[column]?.push(Buffer.from(text));
      this.#open[column] = '';
    });
    this.#rowsInOpen = 0;
  }
}

const rowsPerPack = 200;

/** An element of an array literal. */
export function arrayText(value: string | null): string {
  if (value === null) return 'NULL';
  return mustEscape.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
}

const mustEscape = /["\\]/;
