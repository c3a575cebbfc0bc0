/** Both of the API's ways to page: connectors, uploads, … and items. */
export type KeysetPage<Row> =
  | { data: Row[]; has_more: boolean; next_cursor: string | null }
  | { data: Row[]; hasMore: boolean; nextCursor: string | null };

export function nextCursor(page: KeysetPage<unknown>): string | undefined {
  const [hasMore, cursor] =
    'has_more' in page ? [page.has_more, page.next_cursor] : [page.hasMore, page.nextCursor];
  return hasMore && cursor !== null ? cursor : undefined;
}

/**
 * Rows above the one that was first when the reader came are held back and counted. When that row is gone (deleted, or
 * it no longer matches the filter) nothing can be held back against it, and all rows are shown.
 */
export function splitNew<Row>(
  rows: readonly Row[],
  { topKey, rowKey }: { topKey: string | null; rowKey: (row: Row) => string },
): { shown: readonly Row[]; newCount: number } {
  const index = topKey === null ? -1 : rows.findIndex((row) => rowKey(row) === topKey);
  return index <= 0 ? { shown: rows, newCount: 0 } : { shown: rows.slice(index), newCount: index };
}
