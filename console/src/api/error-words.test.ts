import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseErrorCatalogue } from './error-words.ts';

const catalogue = parseErrorCatalogue(
  readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8'),
);

test('every error code of the server has a sentence and a next step', () => {
  expect(catalogue.size).toBeGreaterThan(80);
  expect(
    [...catalogue].filter(([code, { title, next }]) => !/^[a-z0-9_]+$/.test(code) || !title || !next),
  ).toEqual([]);
});

test('a title is read without its status, and the last code of a chapter without the next heading', () => {
  expect(catalogue.get('worker_crashed')?.title).toMatch(/^The worker process died .*[^)]$/);
  expect([...catalogue.values()].filter(({ next }) => next.includes('#'))).toEqual([]);
});
