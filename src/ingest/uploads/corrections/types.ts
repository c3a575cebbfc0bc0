/** A cell that a person corrected during review. */
export interface Correction {
  rowIndex: number;
  columnIndex: number;
  /** The line of the file; null for rows that older versions staged. */
  line: number | null;
  header: string;
  oldValue: string;
  newValue: string;
  userId: string;
  createdAt: Date;
}

/** By row, then by column: what to read instead of the file's cells. */
export type CorrectedCells = ReadonlyMap<number, ReadonlyMap<number, string>>;

/** Reading the file again keeps all of them in memory. */
export const maxCorrections = 10_000;
