import { expect, test } from 'vitest';
import { bytes, count, plural, rate, share } from './number.ts';

test('counts have separators and agree with their noun', () => {
  expect(count(1_234_567)).toBe('1,234,567');
  expect(plural(1, 'dead letter')).toBe('1 dead letter');
  expect(plural(37, 'dead letter')).toBe('37 dead letters');
  expect(plural(0, 'retry', 'retries')).toBe('0 retries');
});

test('a share is never rounded to all or to nothing', () => {
  expect(share(999_999, 1_000_000)).toBe('>99.9%');
  expect(share(1, 1_000_000)).toBe('<0.1%');
  expect(share(1_000_000, 1_000_000)).toBe('100%');
  expect(share(0, 10)).toBe('0%');
  expect(share(1, 0)).toBe('–');
});

test('bytes change their unit before they are rounded to a thousand', () => {
  expect([0, 999, 1_000, 50_000_000, 999_960_000].map(bytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 KB',
    '50.0 MB',
    '1.0 GB',
  ]);
});

test('a rate is given in a readable unit', () => {
  expect([1_234.4, 12.34, 0.5, 0.001, 0, Number.NaN].map(rate)).toEqual([
    '1,234/s',
    '12.3/s',
    '30.0/min',
    '3.6/h',
    '0/s',
    '0/s',
  ]);
});
