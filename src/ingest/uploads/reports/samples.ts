import { storable } from '../../../lib/well-formed.ts';
import { copyOf } from './copied-text.ts';

/** Rows from the beginning that are looked at, and what is shown of them. */
const maxRows = 200;
const maxValues = 3;
const maxLength = 80;
/** Nobody looks through more columns, and a layout is kept with every upload. */
const maxColumns = 300;

/**
 * A few different values of each column, for people who decide what it is. `columns` are the places in a row, so that
 * headers without a name can be left out.
 */
export function sampleColumns(rows: readonly (readonly string[])[], columns: readonly number[]): string[][] {
  return columns.slice(0, maxColumns).map((at) => {
    const values = new Set<string>();
    for (const cells of rows.slice(0, maxRows)) {
      const value = shown(cells[at] ?? '');
      if (value !== '') values.add(value);
      if (values.size === maxValues) break;
    }
    return [...values];
  });
}

function shown(cell: string): string {
  const text = cell.trim();
  if (text.length <= maxLength) return copyOf(storable(text));
  // Not in the middle of a pair.
  return storable(`${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`);
}
