import type { useKeysetList } from './keyset-list.tsx';
import { MoreRows } from './keyset-list.tsx';
import { ListTable, type ListTableProps } from './list-table.tsx';
import { NewRows } from './new-rows.tsx';
import { Problem } from './problem.tsx';

export interface KeysetTableProps<Row> extends Omit<ListTableProps<Row>, 'isLoading' | 'footer'> {
  /** The list that the rows come from; a page may narrow the rows down or add to them. */
  list: Omit<ReturnType<typeof useKeysetList<object>>, 'isStale' | 'updatedAt'>;
  /** What the rows are, for the line below the last one. */
  noun: string;
}

/**
 * A list by keyset with everything around its rows: what went wrong, "12 new", the empty state and "Show more". A list
 * that cannot be read shows its error alone; older rows stay and are marked.
 */
export function KeysetTable<Row extends object>({ list, noun, ...table }: KeysetTableProps<Row>) {
  const isUnread = list.error !== null && list.rows.length === 0;
  return (
    <>
      {list.error === null ? null : (
        <Problem error={list.error} retry={list.refetch} isStale={list.rows.length > 0} />
      )}
      {isUnread ? null : (
        <div>
          <NewRows count={list.newCount} onShow={list.showNew} />
          <ListTable {...table} isLoading={list.isLoading} footer={<MoreRows list={list} noun={noun} />} />
        </div>
      )}
    </>
  );
}
