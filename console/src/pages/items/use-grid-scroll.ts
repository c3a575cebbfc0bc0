import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { placeAfter, type ScrollPlan, scrollPlan, scrollTopOf, topPxFor } from './grid-scroll.ts';

const restMs = 150;

interface GridScroll {
  plan: ScrollPlan;
  topPx: number;
  onScroll: () => void;
  /** Brings a row into view; at the top when it is asked for by its number. */
  showRow: (row: number, isAtTop?: boolean) => void;
}

/** Follows a scrolled box and corrects its bar when scrolling ends. */
export function useGridScroll(
  box: RefObject<HTMLDivElement | null>,
  { rows, rowPx, headPx }: { rows: number; rowPx: number; headPx: number },
): GridScroll {
  const viewPx = Math.max(rowPx, useHeight(box) - headPx);
  const plan = scrollPlan({ rows, rowPx, viewPx });
  const latest = useRef(plan);
  latest.current = plan;
  const place = useRef({ topPx: 0, scrollTop: 0 });
  const [topPx, setTopPx] = useState(0);
  const rest = useRef<ReturnType<typeof setTimeout> | null>(null);
  const align = useCallback(() => {
    if (box.current === null) return;
    const wanted = scrollTopOf(latest.current, place.current.topPx);
    if (Math.abs(wanted - box.current.scrollTop) > 1) box.current.scrollTop = wanted;
    place.current.scrollTop = box.current.scrollTop;
  }, [box]);
  const onScroll = useCallback(() => {
    if (box.current === null) return;
    place.current = placeAfter(latest.current, place.current, box.current.scrollTop);
    setTopPx(place.current.topPx);
    if (rest.current !== null) clearTimeout(rest.current);
    rest.current = setTimeout(align, restMs);
  }, [box, align]);
  const showRow = useCallback(
    (row: number, isAtTop = false) => {
      const { current } = latest;
      const above = isAtTop ? row * rowPx : place.current.topPx;
      place.current.topPx = topPxFor(current, { row, rowPx, topPx: above });
      setTopPx(place.current.topPx);
      align();
    },
    [rowPx, align],
  );
  useEffect(
    () => () => {
      if (rest.current !== null) clearTimeout(rest.current);
    },
    [],
  );
  const most = Math.max(0, plan.contentPx - viewPx);
  return { plan, topPx: Math.min(topPx, most), onScroll, showRow };
}

function useHeight(box: RefObject<HTMLElement | null>): number {
  const [height, setHeight] = useState(480);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    setHeight(element.clientHeight);
    return () => observer.disconnect();
  }, [box]);
  return height;
}
