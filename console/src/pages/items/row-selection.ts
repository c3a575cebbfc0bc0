import { useCallback, useMemo, useState } from 'react';
import { type ItemStatus, isEnded } from './item-status.ts';

interface Choosable {
  id: string;
  status: ItemStatus;
}

export interface RowSelection {
  /** By the id of the row. */
  chosen: ReadonlyMap<string, Choosable>;
  toggle: (row: Choosable) => void;
  clear: () => void;
}

/** What the API takes at once. */
const mostChosen = 10_000;

/** Chosen rows stay chosen while scrolling: they are kept by id, not by position. */
export function useRowSelection(): RowSelection {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Choosable>>(new Map());
  const toggle = useCallback((row: Choosable) => {
    if (!isEnded(row.status)) return;
    setChosen((before) => {
      const next = new Map(before);
      if (!next.delete(row.id) && next.size < mostChosen) next.set(row.id, row);
      return next;
    });
  }, []);
  const clear = useCallback(() => setChosen(new Map()), []);
  return useMemo(() => ({ chosen, toggle, clear }), [chosen, toggle, clear]);
}
