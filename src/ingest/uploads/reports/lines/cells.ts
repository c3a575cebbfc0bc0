import type { FieldColumn, FieldProblem, LineWarning } from '../types.ts';
import { isNullName } from '../values/numbers.ts';

/** What is noted about a row while it is read. */
export interface LineNotes {
  /** The line of the file where the row begins, from 1. */
  line: number;
  problems: FieldProblem[];
  warnings: LineWarning[];
}

/** Returns the text of a field in a row, or '' when it has none. */
export type CellOf = (cells: readonly string[]) => string;

/** Reads the first non-empty column of a field. Repeated headers and JSON have several columns per field. */
export function cellReader(columns: readonly FieldColumn[] | undefined): CellOf {
  const [first, ...others] = columns ?? [];
  if (first === undefined) return () => '';
  const { index } = first;
  if (others.length === 0) return (cells) => cells[index] ?? '';
  const indexes = [first, ...others].map((column) => column.index);
  return (cells) => {
    for (const at of indexes) {
      const cell = cells[at] ?? '';
      if (!isNullName(cell)) return cell;
    }
    return cells[index] ?? '';
  };
}
