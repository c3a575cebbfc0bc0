import { expect, test } from 'vitest';
import { maxBoxPx, placeAfter, rowsInView, scrollPlan, scrollTopOf, topPxFor } from './grid-scroll.ts';

const rowPx = 36;
const viewPx = 500;
const million = scrollPlan({ rows: 1_000_000, rowPx, viewPx });
const thousand = scrollPlan({ rows: 1_000, rowPx, viewPx });
const last = million.contentPx - viewPx;

test('a short list has its full height and scrolls natively', () => {
  expect(thousand.boxPx).toBe(36_000);
  expect(placeAfter(thousand, { topPx: 0, scrollTop: 0 }, 20_000).topPx).toBe(20_000);
  expect(scrollTopOf(thousand, 777)).toBeCloseTo(777);
});

test('a box stays below the browser’s height limit, and its ends are the ends of the list', () => {
  expect(million.boxPx).toBe(maxBoxPx);
  expect(placeAfter(million, { topPx: 0, scrollTop: 0 }, maxBoxPx - viewPx).topPx).toBeCloseTo(last);
  expect(placeAfter(million, { topPx: last, scrollTop: maxBoxPx - viewPx }, 0).topPx).toBe(0);
  expect(scrollTopOf(million, last)).toBeCloseTo(maxBoxPx - viewPx);
});

test('one turn of the wheel moves a million rows as far as ten rows', () => {
  const at = { topPx: 18_000_000, scrollTop: scrollTopOf(million, 18_000_000) };
  expect(placeAfter(million, at, at.scrollTop + 120).topPx).toBe(18_000_120);
  expect(placeAfter(million, at, at.scrollTop - 120).topPx).toBe(17_999_880);
});

test('dragging the scroll bar goes to its position', () => {
  const at = { topPx: 0, scrollTop: 0 };
  expect(placeAfter(million, at, (maxBoxPx - viewPx) / 2).topPx).toBeCloseTo(last / 2);
});

test('turning the wheel up to the end of the box does not skip the rows before the end of the list', () => {
  const far = { topPx: last - 200_000, scrollTop: maxBoxPx - viewPx - 100 };
  expect(placeAfter(million, far, maxBoxPx - viewPx).topPx).toBe(far.topPx + 100);
  const near = { topPx: last - 900, scrollTop: maxBoxPx - viewPx - 100 };
  expect(placeAfter(million, near, maxBoxPx - viewPx).topPx).toBeCloseTo(last);
});

test('only visible rows are drawn, and a row is scrolled into view by the shortest way', () => {
  expect(rowsInView(million, { topPx: 36_000, rows: 1_000_000, rowPx, more: 5 })).toEqual({
    first: 995,
    end: 1_019,
  });
  expect(rowsInView(thousand, { topPx: 0, rows: 3, rowPx, more: 5 })).toEqual({ first: 0, end: 3 });
  expect(topPxFor(million, { row: 1_005, rowPx, topPx: 36_000 })).toBe(36_000);
  expect(topPxFor(million, { row: 999, rowPx, topPx: 36_000 })).toBe(999 * rowPx);
  expect(topPxFor(million, { row: 999_999, rowPx, topPx: 0 })).toBe(last);
});
