import type { FieldColumn, FieldProblem, LineWarning } from '../types.ts';
import { isNullName } from '../values/numbers.ts';

/** What one row says and what is wrong with it, while it is being read. */
export interface LineNotes {
  /** From 1: where in the file the row begins. */
  line: number;
  problems: FieldProblem[];
  warnings: LineWarning[];
}

/** The text of a field in a row; '' when it has none. */
export type CellOf = (cells: readonly string[]) => string;

/** The first of a field's columns that holds something; doubles and JSON have several. */
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
