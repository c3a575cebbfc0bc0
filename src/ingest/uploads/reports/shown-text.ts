import type { SluiceError } from '../../../lib/errors.ts';
import { storable } from '../../../lib/well-formed.ts';
import type { FieldProblem } from './types.ts';

/** A cell can be a slice of a large piece of the file, which stays in memory as long as the cell does. */
export const copyOf = (cell: string) => ` ${cell}`.slice(1);

/** PostgreSQL stores no U+0000. */
export const withoutNul = (text: string) => text.replaceAll('\0', '\ufffd');

/** A value, short enough to be shown beside what is wrong with it. */
export function shortened(text: string, maxLength = 200): string {
  const kept = withoutNul(text);
  if (kept.length <= maxLength) return kept;
  // Never cut a surrogate pair: half of it cannot be stored.
  return `${kept.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** How much of a row is needed to show it; the result must not depend on how much of the file was read. */
export const shownLength = 400;

/** An error of the whole file as a problem of one row, with the same code and sentence. */
export function rowProblem(
  error: SluiceError,
  { field = 'row', value }: { field?: string; value: string },
): FieldProblem {
  const code = error.code.replace(/^report_/, '');
  return { field, code, message: error.message, value: shortened(value.slice(0, shownLength)) };
}

const sampledRows = 200;
const samplesPerColumn = 3;
const sampleLength = 80;
/** Samples are stored with every upload, and nobody reads more columns. */
const sampledColumns = 300;

/**
 * A few different values of each column from the first rows, for people who decide what it means. `columns` are
 * positions in a row, so that columns without a header can be left out.
 */
export function sampleColumns(rows: readonly (readonly string[])[], columns: readonly number[]): string[][] {
  return columns.slice(0, sampledColumns).map((at) => {
    const values = new Set<string>();
    for (const cells of rows.slice(0, sampledRows)) {
      const value = copyOf(shortened(storable((cells[at] ?? '').trim()), sampleLength));
      if (value !== '') values.add(value);
      if (values.size === samplesPerColumn) break;
    }
    return [...values];
  });
}
