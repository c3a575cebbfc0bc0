import type { RawRow } from '../reports/types.ts';
import type { CorrectedCells, Correction } from './types.ts';

export function correctedCells(corrections: readonly Correction[]): CorrectedCells {
  const rows = new Map<number, Map<number, string>>();
  for (const { rowIndex, columnIndex, newValue } of corrections) {
    const cells = rows.get(rowIndex) ?? new Map<number, string>();
    rows.set(rowIndex, cells.set(columnIndex, newValue));
  }
  return rows;
}

/** The rows as people corrected them. A row that is broken as a whole stays as it is. */
export function applyCorrections(rows: RawRow[], corrected: CorrectedCells): RawRow[] {
  if (corrected.size === 0) return rows;
  return rows.map((row) => {
    const changes = corrected.get(row.rowIndex);
    if (changes === undefined) return row;
    const width = Math.max(row.cells.length, ...[...changes.keys()].map((at) => at + 1));
    const cells = Array.from({ length: width }, (_, at) => changes.get(at) ?? row.cells[at] ?? '');
    return { ...row, cells };
  });
}
