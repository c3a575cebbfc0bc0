import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactly } from './exact-json.ts';

test('a number that a double cannot hold becomes the text that was written', () => {
  const json = '{"id":1234567890123456789,"deep":[{"x":-0.12345678901234567890}],"huge":1e400}';
  expect(parseExactly(json)).toEqual({
    id: '1234567890123456789',
    deep: [{ x: '-0.12345678901234567890' }],
    huge: '1e400',
  });
});

test('a number that a double holds stays a number, however it is written', () => {
  expect(parseExactly('[9007199254740991, 1.50000000000000000000, 1e100, 1000000000000000000000]')).toEqual([
    9007199254740991, 1.5, 1e100, 1e21,
  ]);
});

test('digits inside texts are left alone, even after escapes', () => {
  const value = { 'k"1234567890123456789': 'a\\" 1234567890123456789, 1e400' };
  expect(parseExactly(JSON.stringify(value))).toEqual(value);
});

test('everything that loses no digit is read like JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      expect(parseExactly(json)).toEqual(JSON.parse(json));
    }),
  );
});

test('invalid JSON is refused as JSON.parse refuses it', () => {
  for (const text of ['', '{', '12345678901234567890.', '[1234567890123456789-]', '"1234567890123456789'])
    expect(() => parseExactly(text), text).toThrow(SyntaxError);
});
