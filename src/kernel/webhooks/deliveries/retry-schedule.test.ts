import { expect, test } from 'vitest';
import { maxTries } from '../types.ts';
import { retryDelayMs } from './retry-schedule.ts';

const exactly = () => 0.5;
const hourMs = 3_600_000;

test('ten tries stretch over three days, each wait longer than the one before', () => {
  const waits = Array.from({ length: maxTries - 1 }, (_, at) =>
    retryDelayMs({ tries: at + 1, baseMs: 5_000 }, exactly),
  );
  expect(waits[0]).toBe(5_000);
  expect(waits).toEqual([...waits].sort((one, other) => one - other));
  const hours = waits.reduce((sum, wait) => sum + wait, 0) / hourMs;
  expect(hours).toBeGreaterThan(71);
  expect(hours).toBeLessThan(73);
});

test('a wait differs by up to a tenth, so that receivers are not hit by all at once', () => {
  expect(retryDelayMs({ tries: 1, baseMs: 5_000 }, () => 0)).toBe(4_500);
  expect(retryDelayMs({ tries: 1, baseMs: 5_000 }, () => 0.999_999)).toBe(5_500);
});

test('the base scales all waits', () => {
  expect(retryDelayMs({ tries: 9, baseMs: 5 }, exactly)).toBe(
    retryDelayMs({ tries: 9, baseMs: 5_000 }, exactly) / 1000,
  );
});

test('a Retry-After makes a wait longer, never shorter, and at most a day', () => {
  expect(retryDelayMs({ tries: 1, baseMs: 5_000, retryAfterMs: 60_000 }, exactly)).toBe(60_000);
  expect(retryDelayMs({ tries: 1, baseMs: 5_000, retryAfterMs: 1_000 }, exactly)).toBe(5_000);
  expect(retryDelayMs({ tries: 1, baseMs: 5_000, retryAfterMs: 1e12 }, exactly)).toBe(24 * hourMs);
});
