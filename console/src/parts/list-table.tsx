import { type ColumnDef, tableFeatures, useTable } from '@tanstack/react-table';
import { type ReactNode, useMemo, useRef } from 'react';
import { ListRow, SkeletonRows } from './list-row.tsx';
import { useRowKeys } from './row-keys.ts';
import { useVirtualRows } from './virtual-rows.ts';

export interface Column<Row> {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** In px; without it the column takes what is left. */
  width?: number;
  /** Numbers stand to the right. */
  align?: 'end';
}

export interface Selection {
  keys: ReadonlySet<string>;
  change: (keys: Set<string>) => void;
  /** Rows that cannot be chosen have no box. */
  isSelectable?: (key: string) => boolean;
}

export interface ListTableProps<Row> {
  /** What the rows are, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** Where a row leads: the first cell becomes a link, and Enter or a click on the row goes there. */
  href?: (row: Row) => string;
  /** Instead of a link, such as a drawer. */
  onOpen?: (row: Row) => void;
  selection?: Selection;
  isLoading?: boolean;
  /** Instead of rows when there are none. */
  empty?: ReactNode;
  /** Below the last row: `<MoreRows …/>`. */
  footer?: ReactNode;
  /** Of the scrolling box; without it as high as the window allows. */
  maxHeight?: string;
  /** The row that a drawer shows, for its mark. */
  openKey?: string | undefined;
}

const features = tableFeatures({});
const rowHeightPx = 36;

/** Compact rows with a sticky header; scrolls inside itself both ways; j, k, Enter and x work on its rows. */
export function ListTable<Row extends object>(props: ListTableProps<Row>) {
  const { columns, rows, rowKey, selection, empty, footer, isLoading = false } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const definitions = useMemo(() => columns.map((column) => definitionOf(column)), [columns]);
  const table = useTable({ features, columns: definitions, data: rows as Row[], getRowId: rowKey });
  const models = table.getRowModel().rows;
  const virtual = useVirtualRows({ scroller, count: models.length, rowHeightPx });
  const keys = useMemo(() => rows.map(rowKey), [rows, rowKey]);
  useRowKeys({ scroller, keys, selection, scrollTo: virtual.scrollTo });
  const columnCount = columns.length + (selection === undefined ? 0 : 1);
  if (rows.length === 0 && !isLoading && empty !== undefined)
    return <div className="list-empty">{empty}</div>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <div className="list" ref={scroller} style={{ maxHeight: props.maxHeight }} tabIndex={0}>
      <table
        style={{ minWidth: leastWidth(columns as readonly Column<never>[]) }}
        aria-label={props.label}
        aria-rowcount={rows.length}
        aria-busy={isLoading}
      >
        <ListHead columns={columns} keys={keys} selection={selection} />
        <tbody>
          {isLoading && rows.length === 0 ? <SkeletonRows columns={columnCount} /> : null}
          {virtual.before > 0 ? <Spacer height={virtual.before} columns={columnCount} /> : null}
          {models.slice(virtual.start, virtual.end).map((model) => (
            <ListRow
              key={model.id}
              model={model}
              render={(cell) => <table.FlexRender cell={cell} />}
              columns={columns}
              href={props.href}
              onOpen={props.onOpen}
              selection={selection}
              isOpen={props.openKey === model.id}
            />
          ))}
          {virtual.after > 0 ? <Spacer height={virtual.after} columns={columnCount} /> : null}
        </tbody>
      </table>
      {footer}
    </div>
  );
}

const leastColumnPx = 150;

/** Narrower than this the box scrolls sideways instead of squeezing words. */
function leastWidth(columns: readonly Column<never>[]): number {
  return columns.reduce((sum, { width }) => sum + (width ?? leastColumnPx), 0);
}

function definitionOf<Row extends object>({
  id,
  header,
  cell,
}: Column<Row>): ColumnDef<typeof features, Row> {
  return { id, header, cell: ({ row }: { row: { original: Row } }) => cell(row.original) };
}

interface ListHeadProps<Row> {
  columns: readonly Column<Row>[];
  keys: readonly string[];
  selection: Selection | undefined;
}

function ListHead<Row>({ columns, keys, selection }: ListHeadProps<Row>) {
  return (
    <thead>
      <tr>
        {selection === undefined ? null : <SelectAll keys={keys} selection={selection} />}
        {columns.map(({ id, header, width, align }) => (
          <th key={id} scope="col" data-align={align} style={width === undefined ? {} : { width }}>
            {header}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SelectAll({ keys, selection }: { keys: readonly string[]; selection: Selection }) {
  const choosable = keys.filter((key) => selection.isSelectable?.(key) ?? true);
  const chosen = choosable.filter((key) => selection.keys.has(key)).length;
  const isAll = chosen > 0 && chosen === choosable.length;
  return (
    <th scope="col" className="list-select">
      <input
        type="checkbox"
        aria-label={isAll ? 'Clear selection' : `Choose all ${choosable.length} rows shown`}
        checked={isAll}
        disabled={choosable.length === 0}
        ref={(box) => {
          if (box !== null) box.indeterminate = chosen > 0 && !isAll;
        }}
        onChange={() => selection.change(new Set(isAll ? [] : choosable))}
      />
    </th>
  );
}

function Spacer({ height, columns }: { height: number; columns: number }) {
  return (
    <tr className="list-spacer">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}
