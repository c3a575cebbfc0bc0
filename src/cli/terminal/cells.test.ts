import { expect, test } from 'vitest';
import { shortDuration, shortText, shortTime } from './cells.ts';

test('a time of today shows the clock, an older one its day, and one of another year only the date', () => {
  const now = new Date(2026, 4, 20, 15, 0, 0);
  const at = (...parts: [number, number, number, number, number, number]) => new Date(...parts).toISOString();
  expect(shortTime(at(2026, 4, 20, 9, 5, 7), now)).toBe('09:05:07');
  expect(shortTime(at(2026, 4, 19, 9, 5, 7), now)).toBe('05-19 09:05');
  expect(shortTime(at(2026, 3, 20, 9, 5, 7), now)).toBe('04-20 09:05');
  expect(shortTime(at(2025, 4, 20, 9, 5, 7), now)).toBe('2025-05-20');
  expect([shortTime(null, now), shortTime('garbage', now)]).toEqual(['-', '-']);
});

test('foreign text cannot control the terminal, break a line, or exceed its column', () => {
  expect(shortText('a\u001b[2Jb\r\nc\u202ed', 40)).toBe('a [2Jb c d');
  expect(shortText('😀'.repeat(50), 10)).toBe(`${'😀'.repeat(9)}…`);
  expect([shortText(null, 9), shortText('', 9), shortText('exactly 10', 10)]).toEqual([
    '-',
    '-',
    'exactly 10',
  ]);
});

test('durations are short', () => {
  expect([950, 1_234, 75_400].map(shortDuration)).toEqual(['950 ms', '1.2 s', '75 s']);
});
