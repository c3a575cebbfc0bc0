import { expect, test } from 'vitest';
import { agoText, clockText, durationText } from './moments.ts';

test('durations have at most two units and no empty one', () => {
  const seconds = [0, 0.04, 0.4, 1, 59.6, 60, 61, 3_600, 3_661, 90_000, 950_400];
  expect(seconds.map((value) => durationText(value * 1_000))).toEqual([
    '0 s',
    '0 s',
    '0.4 s',
    '1 s',
    '1 min',
    '1 min',
    '1 min 1 s',
    '1 h',
    '1 h 1 min',
    '1 d 1 h',
    '11 d',
  ]);
});

test('a clock that runs a little ahead of the server never makes a negative duration', () => {
  expect(durationText(-5_000)).toBe('0 s');
});

test('moments are described relative to now, in the past and in the future', () => {
  const now = Date.parse('2026-03-12T14:00:00Z');
  expect(agoText(now - 1_000, now)).toBe('just now');
  expect(agoText(now + 1_000, now)).toBe('in a moment');
  expect(agoText(now - 200_000, now)).toBe('3 min ago');
  expect(agoText(now + 7_300_000, now)).toBe('in 2 h');
});

test('a time on another day shows its day', () => {
  const now = new Date(2026, 2, 12, 14, 0);
  expect(clockText(new Date(2026, 2, 12, 9, 5), now)).toBe('09:05');
  expect(clockText(new Date(2026, 2, 11, 9, 5), now)).toBe('11 Mar 09:05');
});
