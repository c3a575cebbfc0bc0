import { type MouseEvent, memo } from 'react';
import { count } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { type GridColumn, textIn } from './grid-columns.ts';
import { GridThumbnail } from './item-image.tsx';
import { isEnded } from './item-status.ts';
import type { GridRow } from './rows-api.ts';
import { WaitsFor } from './waits-for.tsx';

interface RowLineProps {
  index: number;
  row: GridRow | undefined;
  rowNo: number | null;
  columns: readonly GridColumn[];
  hasSelection: boolean;
  isChosen: boolean;
  toggle: ((row: GridRow) => void) | undefined;
  isOpen: boolean;
  onOpen: (row: GridRow) => void;
}

/** Rendered again only when its data changed, not on scrolling. */
export const RowLine = memo(function RowLine(props: RowLineProps) {
  const { index, row, rowNo, columns, hasSelection, isChosen, toggle, isOpen, onOpen } = props;
  if (row === undefined) {
    return (
      <tr data-index={index} aria-rowindex={index + 2} tabIndex={-1} className="grid-coming">
        {hasSelection ? <td /> : null}
        <td className="num dim">{rowNo === null ? '…' : count(rowNo)}</td>
        <td colSpan={Math.max(1, columns.length)}>
          <span className="grid-ghost" />
        </td>
      </tr>
    );
  }
  return (
    <tr
      data-index={index}
      aria-rowindex={index + 2}
      tabIndex={-1}
      data-chosen={isChosen || undefined}
      data-open={isOpen || undefined}
      onClick={(event) => (isPlain(event) ? onOpen(row) : undefined)}
    >
      {hasSelection ? (
        <td className="grid-select">
          {isEnded(row.status) ? (
            <input
              type="checkbox"
              aria-label={`Choose row ${row.rowNo}`}
              checked={isChosen}
              onChange={() => toggle?.(row)}
            />
          ) : null}
        </td>
      ) : null}
      <td className="num">
        <button
          type="button"
          className="row-link"
          onClick={() => onOpen(row)}
          aria-label={`Open row ${count(row.rowNo)}`}
        >
          {count(row.rowNo)}
        </button>
      </td>
      {columns.map((column) => (
        <GridCell key={column.id} row={row} column={column} />
      ))}
    </tr>
  );
});

function GridCell({ row, column }: { row: GridRow; column: GridColumn }) {
  switch (column.id) {
    case 'image':
      return (
        <td className="grid-image">
          <GridThumbnail row={row} jobId={column.jobId ?? ''} />
        </td>
      );
    case 'status':
      return (
        <td>
          <StatusChip status={row.status} />
        </td>
      );
    case 'attempts':
      return <td className="num">{row.attempts}</td>;
    case 'locked':
      return <td title={row.lockedBy ?? ''}>{row.lockedBy === null ? '' : row.lockedBy.slice(-8)}</td>;
    case 'updated':
      return (
        <td>
          <Ago at={row.updatedAt} />
        </td>
      );
    case 'error':
      return (
        <td title={row.lastError ?? ''}>
          {row.nextAttemptAt === null ? null : (
            <span className="dim">
              <WaitsFor row={row} /> ·{' '}
            </span>
          )}
          {row.lastError}
        </td>
      );
    default: {
      const text = textIn(row, column);
      return <td title={text.length > 20 ? text : undefined}>{text}</td>;
    }
  }
}

/** A click on a button or a checkbox, or on selected text, does not open the row. */
function isPlain(event: MouseEvent): boolean {
  if ((event.target as HTMLElement).closest('a, button, input') !== null) return false;
  return event.button === 0 && !event.metaKey && !event.ctrlKey && (getSelection()?.isCollapsed ?? true);
}
