import { expect, test } from 'vitest';
import { isJsonLonger } from './json-length.ts';

test.each([
  [[]],
  [{}],
  ['text'],
  [[1, [2, { a: 3, b: [] }], 'x']],
  [{ a: { b: { c: [1, 2, 3] } }, d: null, e: true }],
])(
  'the JSON of %j is longer than less than half of its characters, and not longer than all of them',
  (value) => {
    const { length } = JSON.stringify(value);
    expect(isJsonLonger(value, length)).toBe(false);
    expect(isJsonLonger(value, Math.floor(length / 2) - 2)).toBe(true);
  },
);

test('a value that is far too long is not walked to its end', () => {
  let reads = 0;
  const all = new Proxy(new Array(1_000_000).fill('text'), {
    get: (target, name, receiver) => {
      reads += 1;
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  expect(isJsonLonger(all, 1_000)).toBe(true);
  expect(reads).toBeLessThan(2_000);
});
