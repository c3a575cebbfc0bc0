import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import { Icon } from '../../parts/icons.tsx';
import { useKeys } from '../../parts/keys.ts';
import type { GridColumn } from './grid-columns.ts';
import { RowLine } from './grid-row.tsx';
import { rowsInView } from './grid-scroll.ts';
import type { GridSource } from './grid-source.ts';
import type { RowSelection } from './row-selection.ts';
import type { GridRow } from './rows-api.ts';
import { useGridScroll } from './use-grid-scroll.ts';

const rowPx = 36;
const headPx = 33;
const selectPx = 36;
const rowNoPx = 84;
const moreRows = 6;

interface RowGridProps {
  label: string;
  source: GridSource;
  columns: readonly GridColumn[];
  selection: RowSelection | undefined;
  openId: string | undefined;
  onOpen: (row: GridRow) => void;
  /** A row to scroll to; a new object scrolls again. */
  goTo: { index: number } | null;
  /** Without it the rows have one order only. */
  sort?: { isDescending: boolean; flip: () => void };
  footer: ReactNode;
}

/** Any number of rows: only those in view are there, and the box is scrolled by share where it would be too high. */
export function RowGrid(props: RowGridProps) {
  const { source, columns, selection, goTo } = props;
  const box = useRef<HTMLDivElement>(null);
  const { plan, topPx, onScroll, showRow } = useGridScroll(box, { rows: source.count, rowPx, headPx });
  const { first, end } = rowsInView(plan, { topPx, rows: source.count, rowPx, more: moreRows });
  const { look } = source;
  useEffect(() => look(first, end), [look, first, end]);
  // Keys may come faster than rows are rendered: they apply to the row that will get the focus.
  const onItsWay = useRef<number | null>(null);
  const focusRow = useCallback(
    (index: number, isAtTop = false) => {
      showRow(index, isAtTop);
      onItsWay.current = index;
      // Drawn by then.
      requestAnimationFrame(() => {
        if (onItsWay.current === index) onItsWay.current = null;
        lineAt(box.current, index)?.focus({ preventScroll: true });
      });
    },
    [showRow],
  );
  useEffect(() => {
    if (goTo !== null) focusRow(goTo.index, true);
  }, [goTo, focusRow]);
  useGridKeys({ ...props, box, first, focusRow, onItsWay });
  const width = columns.reduce((sum, column) => sum + column.width, selectPx + rowNoPx);
  const bodyPx = Math.min(plan.viewPx, plan.contentPx);
  return (
    <div className="grid-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <div className="grid-box" ref={box} onScroll={onScroll} tabIndex={0}>
        <div className="grid-room" style={{ height: plan.boxPx + headPx, minWidth: width }}>
          <div className="grid-window" style={{ height: bodyPx + headPx }}>
            <table aria-label={props.label} aria-rowcount={source.count + 1} aria-busy={source.isLoading}>
              <GridHead columns={columns} hasSelection={selection !== undefined} sort={props.sort} />
              <tbody style={{ transform: `translateY(${first * rowPx - topPx}px)` }}>
                {Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at).map((index) => (
                  <Line key={index} index={index} {...props} />
                ))}
              </tbody>
            </table>
          </div>
        </div>
      </div>
      {props.footer}
    </div>
  );
}

function Line({ index, source, columns, selection, openId, onOpen }: RowGridProps & { index: number }) {
  const row = source.rowAt(index);
  return (
    <RowLine
      index={index}
      row={row}
      rowNo={row?.rowNo ?? source.rowNoAt(index)}
      columns={columns}
      hasSelection={selection !== undefined}
      isChosen={row !== undefined && (selection?.chosen.has(row.id) ?? false)}
      toggle={selection?.toggle}
      isOpen={row !== undefined && row.id === openId}
      onOpen={onOpen}
    />
  );
}

interface GridHeadProps {
  columns: readonly GridColumn[];
  hasSelection: boolean;
  sort: RowGridProps['sort'];
}

function GridHead({ columns, hasSelection, sort }: GridHeadProps) {
  const direction = sort?.isDescending ? 'descending' : 'ascending';
  return (
    <thead>
      <tr aria-rowindex={1} style={{ height: headPx }}>
        {hasSelection ? (
          <th scope="col" style={{ width: selectPx }}>
            <span className="grid-hidden">Chosen</span>
          </th>
        ) : null}
        <th scope="col" style={{ width: rowNoPx }} aria-sort={direction}>
          {sort === undefined ? (
            'Row'
          ) : (
            <button
              type="button"
              className="grid-sort"
              onClick={sort.flip}
              title={sort.isDescending ? 'Last row first' : 'First row first'}
            >
              Row
              <span data-descending={sort.isDescending || undefined}>
                <Icon name="chevronDown" size={12} />
              </span>
            </button>
          )}
        </th>
        {columns.map(({ id, header, width, from }, index) => (
          // The last one takes what is left.
          <th key={id} scope="col" style={index === columns.length - 1 ? {} : { width }} title={header}>
            {from === 'input' ? <span className="dim">in · </span> : null}
            {header}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface GridKeys extends Pick<RowGridProps, 'source' | 'selection' | 'onOpen'> {
  box: { current: HTMLDivElement | null };
  first: number;
  focusRow: (index: number) => void;
  onItsWay: { current: number | null };
}

/** j and k move the focus over rows, Enter opens the one in focus, x chooses it; as in every list. */
function useGridKeys({ box, source, selection, onOpen, first, focusRow, onItsWay }: GridKeys): void {
  const current = () => {
    if (onItsWay.current !== null) return onItsWay.current;
    const line = document.activeElement?.closest<HTMLElement>('[data-index]') ?? null;
    return line !== null && box.current?.contains(line) ? Number(line.dataset.index) : null;
  };
  const move = (step: number) => {
    const index = current();
    const next = index === null ? (first === 0 ? 0 : first + moreRows) : index + step;
    if (next >= 0 && next < source.count) focusRow(next);
  };
  const withRow = (act: (row: GridRow) => void) => () => {
    const index = current();
    const row = index === null ? undefined : source.rowAt(index);
    if (row === undefined) return false;
    act(row);
    return true;
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: withRow((row) => selection?.toggle(row)),
    Enter: () => {
      const isOnRow = onItsWay.current !== null || document.activeElement?.hasAttribute('data-index');
      return isOnRow ? withRow(onOpen)() : false;
    },
  });
}

function lineAt(box: HTMLElement | null, index: number): HTMLElement | null {
  return box?.querySelector<HTMLElement>(`[data-index="${index}"]`) ?? null;
}
