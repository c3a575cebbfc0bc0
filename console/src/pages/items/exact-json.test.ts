import { expect, test } from 'vitest';
import { cellText, memberOf, parseExact } from './exact-json.ts';

const canKeep = 'rawJSON' in JSON;

test('numbers of any length are shown as they were written, where the browser can', () => {
  const row = parseExact('{"long":12345678901234567890,"price":1.50,"plain":7,"deep":{"at":[1.0]}}');
  expect(cellText(memberOf(row, 'plain'))).toBe('7');
  expect(cellText(memberOf(row, 'long'))).toBe(canKeep ? '12345678901234567890' : '12345678901234567000');
  expect(cellText(memberOf(row, 'price'))).toBe(canKeep ? '1.50' : '1.5');
  expect(cellText(memberOf(row, 'deep'))).toBe(canKeep ? '{"at":[1.0]}' : '{"at":[1]}');
});

test('a member may have any name, and a missing member is undefined', () => {
  const row = parseExact('{"__proto__":"own","constructor":null}');
  expect(cellText(memberOf(row, '__proto__'))).toBe('own');
  expect(cellText(memberOf(row, 'toString'))).toBe('');
  expect(cellText(memberOf('text', 'length'))).toBe('');
  expect(cellText(memberOf(row, 'constructor'))).toBe('');
});
