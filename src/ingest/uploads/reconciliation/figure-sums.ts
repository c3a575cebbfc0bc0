import { type AdditiveField, type AdditiveFigures, additiveFields } from '../reports/types.ts';
import { ExactSum } from '../reports/values/exact-sum.ts';

/** A row of the file that is the sum of others, as the platform wrote it. */
export interface TotalRow {
  label: string;
  line: number;
  figures: AdditiveFigures;
}

/** What the lines of a file add up to. Plain JSON, saved with the checkpoint. */
export interface FileSums {
  /** Over all data lines, as far as their figures could be read. */
  lines: AdditiveFigures;
  /** Over those of them that validation refused. */
  invalid: AdditiveFigures;
  /** Figures that could not be read, so no sum contains them. */
  unreadable: Partial<Record<AdditiveField, number>>;
  totals: TotalRow[];
}

export const noAdditive: AdditiveFigures = {
  impressions: null,
  clicks: null,
  link_clicks: null,
  spend: null,
  conversions: null,
  conversion_value: null,
};

export const noSums: FileSums = { lines: noAdditive, invalid: noAdditive, unreadable: {}, totals: [] };

/** Files have a handful of total rows; more are no totals. */
const maxTotals = 20;

/** Adds up while lines are read, before anything is stored: what is stored is compared with it at the end. */
export class FigureSums {
  readonly #lines: ExactSum[];
  readonly #invalid: ExactSum[];
  readonly #unreadable: FileSums['unreadable'];
  readonly #totals: TotalRow[];

  constructor({ lines, invalid, unreadable, totals }: FileSums) {
    this.#lines = additiveFields.map((field) => new ExactSum(lines[field] ?? null));
    this.#invalid = additiveFields.map((field) => new ExactSum(invalid[field] ?? null));
    this.#unreadable = { ...unreadable };
    this.#totals = [...totals];
  }

  addLine(figures: AdditiveFigures): void {
    for (let at = 0; at < additiveFields.length; at += 1) {
      const figure = figures[additiveFields[at] as AdditiveField];
      if (figure !== null) this.#lines[at]?.add(figure);
    }
  }

  addInvalid(figures: AdditiveFigures | null, problemFields: readonly string[]): void {
    for (const [at, field] of additiveFields.entries()) {
      const figure = figures?.[field] ?? null;
      this.#lines[at]?.add(figure);
      this.#invalid[at]?.add(figure);
      // A row that cannot be split into cells has no figure that could be read.
      if (figures === null || problemFields.includes(field)) {
        this.#unreadable[field] = (this.#unreadable[field] ?? 0) + 1;
      }
    }
  }

  addTotal(total: TotalRow): void {
    if (this.#totals.length < maxTotals) this.#totals.push(total);
  }

  toJSON(): FileSums {
    const record = (sums: ExactSum[]) =>
      Object.fromEntries(
        additiveFields.map((field, at) => [field, sums[at]?.text() ?? null]),
      ) as AdditiveFigures;
    return {
      lines: record(this.#lines),
      invalid: record(this.#invalid),
      unreadable: { ...this.#unreadable },
      totals: [...this.#totals],
    };
  }
}
