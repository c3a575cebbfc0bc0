import { useVirtualizer } from '@tanstack/react-virtual';
import type { RefObject } from 'react';

/** Short lists are drawn whole: find-in-page works, and screen readers see every row. */
const virtualFrom = 80;

interface VirtualRowsOptions {
  scroller: RefObject<HTMLElement | null>;
  count: number;
  rowHeightPx: number;
}

/** Which rows to draw, and how high the gaps before and after them are. */
export function useVirtualRows({ scroller, count, rowHeightPx }: VirtualRowsOptions) {
  const isVirtual = count >= virtualFrom;
  const virtualizer = useVirtualizer({
    count,
    enabled: isVirtual,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeightPx,
    overscan: 12,
  });
  const drawn = isVirtual ? virtualizer.getVirtualItems() : [];
  const first = drawn[0];
  const last = drawn.at(-1);
  const scrollTo = (index: number) => (isVirtual ? virtualizer.scrollToIndex(index) : undefined);
  if (!isVirtual || first === undefined || last === undefined) {
    return {
      start: 0,
      end: isVirtual ? 0 : count,
      before: 0,
      after: isVirtual ? count * rowHeightPx : 0,
      scrollTo,
    };
  }
  return {
    start: first.index,
    end: last.index + 1,
    before: first.start,
    after: virtualizer.getTotalSize() - last.end,
    scrollTo,
  };
}
