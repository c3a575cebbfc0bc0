import type { StagedRow, Upload } from '../../api/types.ts';

/** What a person has typed: by row, then by column. */
export type Drafts = Record<number, Record<string, string>>;

export interface BadCell {
  column: string;
  value: string;
  message: string;
}

/** The cells that a row was refused for; problems without a column of their own cannot be corrected here. */
export function badCells(row: StagedRow, { layout }: Pick<Upload, 'layout'>): BadCell[] {
  const sources = layout?.sources ?? {};
  const cells = new Map<string, BadCell>();
  for (const { field, message } of row.validation_errors ?? []) {
    const column = sources[field];
    if (column === undefined || !Object.hasOwn(row.raw_data, column) || cells.has(column)) continue;
    cells.set(column, { column, value: String(row.raw_data[column] ?? ''), message });
  }
  return [...cells.values()];
}

/** The rows that have a change, as the API takes them. */
export function rowsToSend(drafts: Drafts): { row_index: number; cells: Record<string, string> }[] {
  return Object.entries(drafts).map(([row, cells]) => ({ row_index: Number(row), cells }));
}
