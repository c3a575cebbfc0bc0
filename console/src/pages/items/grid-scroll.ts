/**
 * Where a scrolled box is in a list that may be higher than a browser can draw: they stop at some 18 to 33 million
 * pixels, and a million rows are 36 million. Beyond the limit the box is lower than the list. Small steps (wheel,
 * arrow, page) then move the list by as many pixels as the box, so that reading is the same as ever; large ones (the
 * bar is dragged, End is pressed) move it by share.
 */
export interface ScrollPlan {
  /** Of all rows. */
  contentPx: number;
  /** Of the box that is scrolled. */
  boxPx: number;
  /** Of what is seen of it. */
  viewPx: number;
}

export interface ScrollPlace {
  /** How many px of the list lie above what is seen. */
  topPx: number;
  /** What the box said at that time. */
  scrollTop: number;
}

export const maxBoxPx = 8_000_000;
/** Nearer to an end than this, a box at its end shows the end of the list. */
const snapViews = 30;
const smallStepViews = 4;

export function scrollPlan(size: { rows: number; rowPx: number; viewPx: number }): ScrollPlan {
  const contentPx = size.rows * size.rowPx;
  return { contentPx, boxPx: Math.min(contentPx, maxBoxPx), viewPx: size.viewPx };
}

/** The scroll position of the box while that much of the list is above. */
export function scrollTopOf({ contentPx, boxPx, viewPx }: ScrollPlan, topPx: number): number {
  const [listRange, boxRange] = [contentPx - viewPx, boxPx - viewPx];
  return listRange <= 0 ? 0 : (topPx / listRange) * boxRange;
}

/** How much of the list is above after the box was scrolled. */
export function placeAfter(plan: ScrollPlan, before: ScrollPlace, scrollTop: number): ScrollPlace {
  const { contentPx, boxPx, viewPx } = plan;
  const [listRange, boxRange] = [contentPx - viewPx, boxPx - viewPx];
  if (listRange <= 0) return { topPx: 0, scrollTop };
  if (contentPx === boxPx) return { topPx: clamp(scrollTop, listRange), scrollTop };
  const step = scrollTop - before.scrollTop;
  const byShare = (clamp(scrollTop, boxRange) / boxRange) * listRange;
  if (Math.abs(step) > viewPx * smallStepViews) return { topPx: byShare, scrollTop };
  const topPx = clamp(before.topPx + step, listRange);
  const isAtEnd = scrollTop <= 0 || scrollTop >= boxRange - 1;
  const isNear = Math.abs(byShare - topPx) <= viewPx * snapViews;
  return { topPx: isAtEnd && isNear ? byShare : topPx, scrollTop };
}

/** The visible rows, with a few more on both sides. */
export function rowsInView(
  { viewPx }: ScrollPlan,
  { topPx, rows, rowPx, more }: { topPx: number; rows: number; rowPx: number; more: number },
): { first: number; end: number } {
  const first = Math.max(0, Math.floor(topPx / rowPx) - more);
  return { first, end: Math.min(rows, Math.ceil((topPx + viewPx) / rowPx) + more) };
}

/** The nearest position that shows the whole row. */
export function topPxFor(
  plan: ScrollPlan,
  { row, rowPx, topPx }: { row: number; rowPx: number; topPx: number },
): number {
  const lowest = row * rowPx;
  const highest = lowest + rowPx - plan.viewPx;
  return clamp(Math.max(highest, Math.min(lowest, topPx)), Math.max(0, plan.contentPx - plan.viewPx));
}

function clamp(value: number, max: number): number {
  return Math.min(max, Math.max(0, value));
}
