/** Where a row is, for messages. */
export interface RowPlace {
  /** From 1; 0 is the header. */
  rowNo: number;
  /** The line on which the row begins, from 1. */
  line: number;
}

export function placeWords({ rowNo, line }: RowPlace): string {
  return rowNo === 0 ? `The header (line ${line})` : `Row ${rowNo} (line ${line})`;
}

export function placeDetails({ rowNo, line }: RowPlace): { row: number; line: number } {
  return { row: rowNo, line };
}
