import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseErrorCatalogue } from './error-words.ts';

const catalogue = parseErrorCatalogue(
  readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8'),
);

test('every code of the server’s catalogue has a sentence and something to do', () => {
  expect(catalogue.size).toBeGreaterThan(80);
  expect(
    [...catalogue].filter(([code, { title, next }]) => !/^[a-z0-9_]+$/.test(code) || !title || !next),
  ).toEqual([]);
});

test('a title comes without its status, and the last code of a chapter without the next chapter', () => {
  expect(catalogue.get('worker_crashed')?.title).toMatch(/^The worker process died .*[^)]$/);
  expect([...catalogue.values()].filter(({ next }) => next.includes('#'))).toEqual([]);
});
