import { expect, test } from 'vitest';
import {
  flag,
  isoDay,
  oneOf,
  readSearch,
  searchParser,
  someOf,
  text,
  wholeNumber,
  writeSearch,
} from './list-state.ts';

const parser = searchParser<{
  status: 'a' | 'b';
  all: ('x' | 'y')[];
  q: string;
  page: number;
  held: true;
  day: string;
}>({
  status: oneOf(['a', 'b']),
  all: someOf(['x', 'y']),
  q: text(),
  page: wholeNumber({ min: 1, max: 9 }),
  held: flag(),
  day: isoDay(),
});

test('a state written to the address is read back unchanged', () => {
  const state = {
    status: 'b',
    all: ['x', 'y'],
    q: 'ä & ?=1',
    page: 3,
    held: true,
    day: '2026-03-12',
  } as const;
  expect(parser(readSearch(writeSearch(state)))).toEqual(state);
});

test('a damaged address loses the unreadable parameters and keeps the rest', () => {
  expect(
    parser({ status: 'c', all: 'z', q: '', page: '0', held: 'no', day: '2026-13-99', other: '1' }),
  ).toEqual({});
  expect(parser({ status: 'a', page: '1e9' })).toEqual({ status: 'a' });
  expect(parser({ q: 'x'.repeat(501) })).toEqual({});
});

test('text that looks like a number stays text', () => {
  expect(writeSearch({ q: '123' })).toBe('?q=123');
  expect(parser(readSearch('?q=123')).q).toBe('123');
});

test('unset values are not in the address', () => {
  expect(writeSearch({ a: undefined, b: null, c: '', d: false })).toBe('');
});
