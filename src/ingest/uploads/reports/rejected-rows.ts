import { unguardFormula } from '../../../kernel/formats/csv-cells.ts';
import type { RawRow } from './types.ts';

/**
 * The column that we put behind the refused rows; a file that has one was written by us. Records of JSON come as a
 * table too, and are read by the rules of JSON again: under which of several names a figure stands differs from one
 * to the next, and numbers have the decimal point.
 */
export const rejectionHeaders = { delimited: 'Rejection reason', json: 'Rejection reason (record)' } as const;

const all: readonly string[] = Object.values(rejectionHeaders);

export const isRejectionHeader = (header: string): boolean => all.includes(header.trim());

export const areRejectedRecords = (headers: readonly string[]): boolean =>
  headers.some((header) => header.trim() === rejectionHeaders.json);

/** In a file that we wrote, apostrophes guard against spreadsheets and are no part of the values. */
export function unguarding(headers: readonly string[]): (row: RawRow) => RawRow {
  const isOurs = headers.some(isRejectionHeader);
  return isOurs ? (row) => ({ ...row, cells: row.cells.map(unguardFormula) }) : (row) => row;
}
