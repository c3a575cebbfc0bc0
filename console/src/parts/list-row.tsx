import { Skeleton } from '@mantine/core';
import type { Cell, Row as RowModel, TableFeatures } from '@tanstack/react-table';
import type { MouseEvent, ReactNode } from 'react';
import type { Column, Selection } from './list-table.tsx';
import { To, useGo } from './to.tsx';

interface ListRowProps<Features extends TableFeatures, Row extends object> {
  model: RowModel<Features, Row>;
  render: (cell: Cell<Features, Row, unknown>) => ReactNode;
  columns: readonly Column<Row>[];
  href: ((row: Row) => string) | undefined;
  onOpen: ((row: Row) => void) | undefined;
  selection: Selection | undefined;
  isOpen: boolean;
}

export function ListRow<Features extends TableFeatures, Row extends object>(
  props: ListRowProps<Features, Row>,
) {
  const { model, render, columns, href, onOpen, selection } = props;
  const go = useGo();
  const row = model.original;
  const isChosen = selection?.keys.has(model.id) ?? false;
  const open = () => {
    if (onOpen !== undefined) onOpen(row);
    else if (href !== undefined) go(href(row));
  };
  const canOpen = href !== undefined || onOpen !== undefined;
  return (
    <tr
      tabIndex={-1}
      data-row={model.id}
      data-open={props.isOpen || undefined}
      data-chosen={isChosen || undefined}
      data-opens={canOpen || undefined}
      onClick={(event) => (canOpen && isPlainClick(event) ? open() : undefined)}
      onDoubleClick={(event) => event.preventDefault()}
    >
      {selection === undefined ? null : (
        <SelectCell rowId={model.id} selection={selection} isChosen={isChosen} />
      )}
      {model.getAllCells().map((cell, index) => (
        <td key={cell.id} data-align={columns[index]?.align}>
          {index === 0 ? (
            <Opener row={row} href={href} onOpen={onOpen} content={render(cell)} />
          ) : (
            render(cell)
          )}
        </td>
      ))}
    </tr>
  );
}

interface OpenerProps<Row> {
  row: Row;
  href: ((row: Row) => string) | undefined;
  onOpen: ((row: Row) => void) | undefined;
  content: ReactNode;
}

/** The first cell is what a mouse can open in a new tab and a screen reader can find. */
function Opener<Row>({ row, href, onOpen, content }: OpenerProps<Row>) {
  if (href !== undefined) {
    return (
      <To className="row-link" href={href(row)} isRowOpener>
        {content}
      </To>
    );
  }
  if (onOpen === undefined) return content;
  return (
    <button type="button" className="row-link" onClick={() => onOpen(row)} data-row-open>
      {content}
    </button>
  );
}

function SelectCell(props: { rowId: string; selection: Selection; isChosen: boolean }) {
  const { rowId, selection, isChosen } = props;
  const isSelectable = selection.isSelectable?.(rowId) ?? true;
  return (
    <td className="list-select">
      {isSelectable ? (
        <input
          type="checkbox"
          aria-label="Choose this row"
          checked={isChosen}
          onChange={() => selection.change(toggled(selection.keys, rowId))}
        />
      ) : null}
    </td>
  );
}

export function toggled(keys: ReadonlySet<string>, key: string): Set<string> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** A click on a link, a button or a box means that; a marked text is to be copied. */
function isPlainClick(event: MouseEvent): boolean {
  const target = event.target as HTMLElement;
  if (target.closest('a, button, input, label, select') !== null) return false;
  return event.button === 0 && !event.metaKey && !event.ctrlKey && (getSelection()?.isCollapsed ?? true);
}

export function SkeletonRows({ columns }: { columns: number }) {
  return [0, 1, 2, 3, 4, 5].map((row) => (
    <tr key={row}>
      {Array.from({ length: columns }, (_, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: grey boxes never move
        <td key={column}>
          <Skeleton height={10} width={`${45 + ((row * 7 + column * 13) % 40)}%`} />
        </td>
      ))}
    </tr>
  ));
}
