import { unguardFormula } from '../../../../lib/formats/csv-cells.ts';
import type { RawRow } from '../types.ts';
import type { DateOrder } from '../values/dates.ts';
import type { DecimalMark } from '../values/numbers.ts';

/**
 * The column that is added to refused rows; a file that has it was written by us. JSON records are written as a table
 * too, and are read by the rules of JSON again: a figure may be under different names in different records, and numbers
 * have the decimal point.
 */
export const rejectionHeaders = { delimited: 'Rejection reason', json: 'Rejection reason (record)' } as const;

/** The column that says what was corrected in a row that is refused all the same. */
export const correctionHeader = 'Corrected by hand';

/** How the cells of a file are to be read, as far as known. */
export interface Declared {
  decimalMark: DecimalMark | null;
  dateOrder: DateOrder | null;
}

const markWords: Record<DecimalMark, string> = { '.': 'decimal point', ',': 'decimal comma' };
const orderWords: Record<DateOrder, string> = {
  dmy: 'dates as day/month/year',
  mdy: 'dates as month/day/year',
};
const declares = 'Read with ';

/**
 * The header of a column that declares how the refused rows were read: the few rows that come back may no longer prove
 * it. It is a header because people remove, add and sort rows. Null when there is nothing to declare.
 */
export function declaringHeader({ decimalMark, dateOrder }: Declared): string | null {
  const words = [decimalMark && markWords[decimalMark], dateOrder && orderWords[dateOrder]];
  const said = words.filter((word) => word !== null);
  return said.length === 0 ? null : declares + said.join(', ');
}

/** What such a header declares; nothing for files that were not written by us. */
export function declaredConventions(headers: readonly string[]): Declared {
  const said = headers.map(wordsOf).find((words) => words.length > 0) ?? [];
  const marks = Object.keys(markWords) as DecimalMark[];
  const orders = Object.keys(orderWords) as DateOrder[];
  return {
    decimalMark: marks.find((mark) => said.includes(markWords[mark])) ?? null,
    dateOrder: orders.find((order) => said.includes(orderWords[order])) ?? null,
  };
}

/** Whether a column was added by us and is not part of the report. */
export const isAddedHeader = (header: string): boolean =>
  isRejectionHeader(header) || header.trim() === correctionHeader || wordsOf(header).length > 0;

export const areRejectedRecords = (headers: readonly string[]): boolean =>
  headers.some((header) => header.trim() === rejectionHeaders.json);

/** In a file written by us, apostrophes protect cells from spreadsheets and are not part of the values. */
export function unguarding(headers: readonly string[]): (row: RawRow) => RawRow {
  const isOurs = headers.some(isRejectionHeader);
  return isOurs ? (row) => ({ ...row, cells: row.cells.map(unguardFormula) }) : (row) => row;
}

const rejections: readonly string[] = Object.values(rejectionHeaders);

const isRejectionHeader = (header: string): boolean => rejections.includes(header.trim());

const allWords = [...Object.values(markWords), ...Object.values(orderWords)];

/** The words of a declaring header; empty when the header says anything else. */
function wordsOf(header: string): string[] {
  const text = header.trim();
  const words = text.startsWith(declares) ? text.slice(declares.length).split(', ') : [];
  return words.every((word) => allWords.includes(word)) ? words : [];
}
