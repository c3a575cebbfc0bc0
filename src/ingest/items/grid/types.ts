import type { ItemStatus } from '../types.ts';

export const sortColumns = [
  'rowNo',
  'status',
  'updatedAt',
  'attempts',
  'errorCode',
  'nextAttemptAt',
] as const;
export type SortColumn = (typeof sortColumns)[number];
export const sorts = sortColumns.flatMap((column) => [column, `-${column}` as const]);
export type Sort = (typeof sorts)[number];

/** Rows in the order of one column, which has an index for these statuses. */
export interface Order {
  column: SortColumn;
  descending: boolean;
  statuses: ItemStatus[];
  /** Only rows with at least so many tries. */
  minAttempts: number | null;
  errorCode: string | null;
}
