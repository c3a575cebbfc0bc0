/** One of the first rows of a file, as far as the search for the header needs it. */
export interface SampleRow {
  /** The line of a text file, or the row of a sheet. */
  line: number;
  /** All of its cells, also empty ones at the end. */
  cells: number;
  /** Up to the last cell with a value. */
  width: number;
  /** Cells with a value. */
  filled: number;
  /** A blank line or row comes before it. */
  isAfterBlank: boolean;
}

export const mostSampleRows = 30;
const mostPreambleRows = 20;
/** A few long rows are mistakes; this many at the start mean that the header is not the header. */
const fewLongRows = 3;

/** `at`: the position of the header among the rows. `narrow`: most rows after it are wider than it is. */
export interface TableStart {
  at: number;
  narrow: { header: number; rows: number } | null;
}

/**
 * Finds the header below lines such as a title or the date of a report. A line is above the table if at most half as
 * many of its cells have values as the table has columns, and the table has three or more; or if it is narrower than
 * the table and a blank line separates the two.
 */
export function findTableStart(rows: readonly SampleRow[]): TableStart {
  const width = usualWidth(rows);
  const at = width < 2 ? 0 : headerPosition(rows, width);
  const header = rows[at]?.cells ?? 0;
  const after = rows.slice(at + 1);
  const wider = after.filter((row) => row.width > header).length;
  const isNarrow = wider >= fewLongRows && wider * 2 > after.length;
  return { at, narrow: isNarrow ? { header, rows: width } : null };
}

function headerPosition(rows: readonly SampleRow[], width: number): number {
  const limit = Math.min(rows.length, mostPreambleRows + 1);
  for (let at = 0; at < limit; at += 1) {
    const row = rows[at];
    if (row === undefined) break;
    if (row.filled * 2 <= width && width >= 3) continue;
    const next = rows.slice(at + 1, limit).findIndex(({ isAfterBlank }) => isAfterBlank);
    const isCutOff = next !== -1 && rows.slice(0, at + 1 + next).every((one) => one.width < width);
    if (!isCutOff) return hasTable(rows, at, width) ? at : 0;
    at += next;
  }
  return 0;
}

/** The header is not narrower than the table, and something follows it. */
function hasTable(rows: readonly SampleRow[], at: number, width: number): boolean {
  return at === 0 || (at + 1 < rows.length && (rows[at]?.width ?? 0) >= width);
}

/** The most frequent width; of two, the larger. */
function usualWidth(rows: readonly SampleRow[]): number {
  const counts = new Map<number, number>();
  for (const { width } of rows) counts.set(width, (counts.get(width) ?? 0) + 1);
  const [best] = [...counts].sort(([a, m], [b, n]) => n - m || b - a);
  return best?.[0] ?? 0;
}
