import { expect, test } from 'vitest';
import { balanced } from './count-parts.ts';

test('parts that do not reach the total get a remainder, so the sum is correct', () => {
  const parts = [{ label: 'done', value: 7, tone: 'done' as const }];
  const sum = balanced(10, parts).reduce((total, { value }) => total + value, 0);
  expect(sum).toBe(10);
  expect(balanced(10, parts).at(-1)?.label).toBe('not counted yet');
  expect(balanced(7, parts)).toEqual(parts);
});
