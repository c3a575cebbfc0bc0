import { type RefObject, useRef } from 'react';
import { useKeys } from './keys.ts';
import { toggled } from './list-row.tsx';
import type { Selection } from './list-table.tsx';

interface RowKeysOptions {
  scroller: RefObject<HTMLElement | null>;
  keys: readonly string[];
  selection: Selection | undefined;
  scrollTo: (index: number) => void;
}

/** j and k move the focus over rows, Enter opens the one in focus, x chooses it. */
export function useRowKeys({ scroller, keys, selection, scrollTo }: RowKeysOptions): void {
  // Keys may come faster than rows are rendered: they apply to the row that will get the focus.
  const onItsWay = useRef<string | null>(null);
  const current = () => onItsWay.current ?? focusedRow(scroller.current);
  const move = (step: number) => {
    const key = current();
    const index = key === null ? (step > 0 ? 0 : keys.length - 1) : keys.indexOf(key) + step;
    const next = keys[index];
    if (next === undefined) return;
    scrollTo(index);
    onItsWay.current = next;
    // A row that was out of view is drawn by then.
    requestAnimationFrame(() => {
      if (onItsWay.current === next) onItsWay.current = null;
      rowElement(scroller.current, next)?.focus();
    });
  };
  const choose = () => {
    const key = current();
    if (key === null || selection === undefined || selection.isSelectable?.(key) === false) return;
    selection.change(toggled(selection.keys, key));
  };
  const open = () => {
    const key = current();
    // On a link or a button inside the row, Enter is the browser's.
    const isOnRow = onItsWay.current !== null || document.activeElement?.hasAttribute('data-row');
    if (key === null || !isOnRow) return false;
    rowElement(scroller.current, key)?.querySelector<HTMLElement>('[data-row-open]')?.click();
    return true;
  };
  useKeys({ j: () => move(1), k: () => move(-1), x: choose, Enter: open });
}

function focusedRow(scroller: HTMLElement | null): string | null {
  const row = document.activeElement?.closest<HTMLElement>('[data-row]') ?? null;
  return row !== null && scroller?.contains(row) ? (row.dataset.row ?? null) : null;
}

function rowElement(scroller: HTMLElement | null, key: string): HTMLElement | null {
  return scroller?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`) ?? null;
}
