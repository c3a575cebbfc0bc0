import type { ReactNode } from 'react';
import { KeysetTable, type KeysetTableProps } from './keyset-table.tsx';
import { Page } from './page.tsx';

interface ListPageProps<Row> extends KeysetTableProps<Row> {
  title: string;
  sentence?: string;
  /** Buttons, the most likely one first. */
  actions?: ReactNode;
  /** Between the title and the filters: what has to be read first, or a place to drop files. */
  notice?: ReactNode;
  filters?: ReactNode;
  /** Below the list: bars for chosen rows, drawers, dialogs, details. */
  children?: ReactNode;
}

/** The frame of every page that is a list: title, notice, filters, table, and what belongs to its rows. */
export function ListPage<Row extends object>(props: ListPageProps<Row>) {
  const { title, sentence, actions, notice, filters, children, ...table } = props;
  return (
    <Page title={title} sentence={sentence} actions={actions}>
      {notice}
      {filters}
      <KeysetTable {...table} />
      {children}
    </Page>
  );
}
