import { expect, test } from 'vitest';
import { asidePath, isWanted, matches } from './file-names.ts';

test('hidden files and files with names of unfinished downloads are ignored', () => {
  for (const name of ['.x.csv', 'a.csv.part', 'a.TMP', 'a.filepart', 'a.csv.crdownload', 'a\nb.csv', '']) {
    expect(isWanted(name, null), name).toBe(name === '');
  }
  expect(isWanted('part.csv', null)).toBe(true);
});

test('a pattern matches whole names, with stars and question marks, in any case', () => {
  expect(matches('orders-01.CSV', '*.csv')).toBe(true);
  expect(matches('orders-01.csv.gz', '*.csv')).toBe(false);
  expect(matches('a1b', 'a?b')).toBe(true);
  expect(matches('ab', 'a?b')).toBe(false);
  expect(matches('anything', '*')).toBe(true);
  expect(matches('x[1].csv', 'x[1].*')).toBe(true);
  expect(matches('', '?')).toBe(false);
});

test('a hostile pattern does not take long', () => {
  const startedMs = performance.now();
  expect(matches('a'.repeat(1_000), `${'*a'.repeat(100)}b`)).toBe(false);
  // A naive matcher would practically never finish.
  expect(performance.now() - startedMs).toBeLessThan(60_000);
});

test('a name that is taken gets part of the file’s id before its extension', () => {
  const fileId = '0199a000-0000-7000-8000-0123456789ab';
  expect(asidePath('a.csv', { folder: 'done', fileId, isTaken: false })).toBe('done/a.csv');
  expect(asidePath('a.csv', { folder: 'failed', fileId, isTaken: true })).toBe('failed/a.0123456789ab.csv');
  expect(asidePath('a', { folder: 'done', fileId, isTaken: true })).toBe('done/a.0123456789ab');
});
