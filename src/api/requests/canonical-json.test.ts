import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

/** As it was written before it came in pieces: hashes that are stored must stay the same. */
const atOnce = (value: unknown) =>
  JSON.stringify(value, (_, part: unknown) => {
    if (part === null || typeof part !== 'object' || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
const text = 'a text "with" \\ signs € '.repeat(400);

test.each([
  ['a small value', { b: [1, { d: null, c: 'x' }], a: true }],
  ['large lists', { z: Array.from({ length: 30 }, (_, at) => ({ text, at, inner: [text, at] })), a: [] }],
  ['names like numbers', { b: text, 10: text, 9: text, a: text, '-1': text, '01': text }],
  ['a name that changes objects', JSON.parse(`{"b":${JSON.stringify(text.repeat(9))},"__proto__":{"a":1}}`)],
  ['nothing', null],
])('%s has the same canonical JSON in pieces as at once', (_what, value) => {
  const pieces = [...canonicalJson(value)];
  expect(pieces.join('') === atOnce(value)).toBe(true);
});

test('no piece of a large value is much longer than a piece', () => {
  const value = { rows: Array.from({ length: 500 }, (_, at) => ({ at, words: 'word '.repeat(1_000) })) };
  const lengths = [...canonicalJson(value)].map(({ length }) => length);
  expect(lengths.length).toBeGreaterThan(500);
  expect(Math.max(...lengths)).toBeLessThan(100_000);
});
