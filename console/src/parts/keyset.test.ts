import { expect, test } from 'vitest';
import { nextCursor, splitNew } from './keyset.ts';

const rowKey = (row: string) => row;

test('both page formats lead to the next page', () => {
  expect(nextCursor({ data: [], has_more: true, next_cursor: 'a' })).toBe('a');
  expect(nextCursor({ data: [], hasMore: true, nextCursor: 'b' })).toBe('b');
  expect(nextCursor({ data: [], has_more: false, next_cursor: null })).toBeUndefined();
});

test('rows that arrive above the reader are held back and counted', () => {
  expect(splitNew(['e', 'd', 'c', 'b'], { topKey: 'c', rowKey })).toEqual({ shown: ['c', 'b'], newCount: 2 });
});

test('nothing is held back before the reader has seen a row, or after that row is gone', () => {
  expect(splitNew(['b', 'a'], { topKey: null, rowKey })).toEqual({ shown: ['b', 'a'], newCount: 0 });
  expect(splitNew(['b', 'a'], { topKey: 'x', rowKey })).toEqual({ shown: ['b', 'a'], newCount: 0 });
});
