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

test('digits inside of texts are left alone, also behind escapes', () => {
  const value = { 'k"1234567890123456789': 'a\\" 1234567890123456789, 1e400' };
  expect(parseExactly(JSON.stringify(value))).toEqual(value);
});

test('what no digit is lost of is what JSON.parse makes of it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      expect(parseExactly(json)).toEqual(JSON.parse(json));
    }),
  );
});

test('what is no JSON is refused as it is by JSON.parse', () => {
  for (const text of ['', '{', '12345678901234567890.', '[1234567890123456789-]', '"1234567890123456789'])
    expect(() => parseExactly(text), text).toThrow(SyntaxError);
});
