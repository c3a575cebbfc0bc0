import { expect, test } from 'vitest';
import { axisTicks, filledSeries, nearest } from './scale.ts';

test('an axis begins at zero, has round steps and reaches the highest value', () => {
  expect(axisTicks(0)).toEqual([0, 1]);
  expect(axisTicks(7)).toEqual([0, 2, 4, 6, 8]);
  expect(axisTicks(211_100)).toEqual([0, 100_000, 200_000, 300_000]);
  for (const max of [0.003, 1, 13, 999, 1_000_001]) {
    const ticks = axisTicks(max);
    expect(ticks[0]).toBe(0);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(max);
    expect(ticks.length).toBeLessThanOrEqual(6);
  }
});

test('an hour without events is a zero and not a gap', () => {
  const filled = filledSeries(
    [
      { at: 0, value: 2 },
      { at: 5, value: 1 },
      { at: 25, value: 4 },
    ],
    { from: 0, to: 30, stepMs: 10 },
  );
  expect(filled.map(({ value }) => value)).toEqual([3, 0, 4]);
});

test('pointing between two points reads the nearer one', () => {
  const points = [
    { at: 0, value: 1 },
    { at: 10, value: 2 },
  ];
  expect(nearest(points, 6)?.value).toBe(2);
  expect(nearest([], 6)).toBeNull();
});
