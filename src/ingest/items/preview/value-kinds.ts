import { readExactMembers } from '../../../lib/rows/exact-json.ts';
import type { ParsedRow } from '../../../lib/rows/types.ts';

export const valueKinds = ['empty', 'boolean', 'integer', 'number', 'date', 'url', 'email', 'text'] as const;
export type ValueKind = (typeof valueKinds)[number];

/** What is known about a column after some rows. */
export interface ColumnKind {
  name: string;
  /** The narrowest kind that all its values fit. */
  type: ValueKind;
  /** How many of the rows that were looked at have a value. */
  filled: number;
  samples: string[];
}

const tests: readonly [ValueKind, RegExp][] = [
  ['boolean', /^(?:true|false|yes|no)$/i],
  ['integer', /^[+-]?(?:0|[1-9]\d*)$/],
  ['number', /^(?=.*\d)[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)?(?:[.,]\d+)?(?:[eE][+-]?\d+)?$/],
  [
    'date',
    /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$/,
  ],
  ['url', /^https?:\/\/\S+$/i],
  ['email', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
];

const maxSamples = 3;
const longestSample = 80;

/** Detects the kinds of columns from rows. Looks at a bounded number of them. */
export class ColumnKinds {
  readonly #columns = new Map<string, { fits: Set<ValueKind>; filled: number; samples: Set<string> }>();
  #looked = 0;

  get looked(): number {
    return this.#looked;
  }

  look(row: ParsedRow): void {
    this.#looked += 1;
    for (const [name, value] of readExactMembers(row.inputJson)) {
      if (value === null || value === '') this.#columnOf(name);
      else this.#note(name, typeof value === 'object' ? value.text : String(value));
    }
  }

  /** In the order of the file. */
  describe(columns: readonly string[] | null): ColumnKind[] {
    const names = columns ?? [...this.#columns.keys()];
    return names.map((name) => {
      const known = this.#columns.get(name);
      const type = known === undefined || known.filled === 0 ? 'empty' : firstOf(known.fits);
      return { name, type, filled: known?.filled ?? 0, samples: [...(known?.samples ?? [])] };
    });
  }

  #note(name: string, text: string): void {
    const column = this.#columnOf(name);
    column.filled += 1;
    if (column.samples.size < maxSamples) column.samples.add([...text.slice(0, longestSample)].join(''));
    for (const [kind, pattern] of tests) {
      if (column.fits.has(kind) && !(text.length < 400 && pattern.test(text))) column.fits.delete(kind);
    }
  }

  #columnOf(name: string) {
    const known = this.#columns.get(name);
    if (known) return known;
    const made = {
      fits: new Set<ValueKind>(tests.map(([kind]) => kind)),
      filled: 0,
      samples: new Set<string>(),
    };
    this.#columns.set(name, made);
    return made;
  }
}

function firstOf(fits: ReadonlySet<ValueKind>): ValueKind {
  return tests.find(([kind]) => fits.has(kind))?.[0] ?? 'text';
}
