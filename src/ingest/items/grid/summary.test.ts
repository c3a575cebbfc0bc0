import { expect, test } from 'vitest';
import { normalizedFields } from '../../../kernel/rows/normalized-fields.ts';
import { inputSummary } from './summary.ts';

const summaryOf = (row: object) => inputSummary(JSON.stringify(row));
const nothing = { title: null, brand: null, sku: null, first: [] };

test('title, brand and sku are found whatever their case', () => {
  const row = { id: '1', Title: 'Chair', BRAND: 'Acme', Sku: 'A-1' };
  const expected = { title: 'Chair', brand: 'Acme', sku: 'A-1', first: [] };
  expect(summaryOf(row)).toEqual(expected);
});

test('a name stands in for a title that is missing or empty', () => {
  expect(summaryOf({ name: 'Chair' })).toMatchObject({ title: 'Chair' });
  expect(summaryOf({ name: 'Chair', title: ' ' })).toMatchObject({ title: 'Chair' });
  expect(summaryOf({ name: 'Chair', title: 'Armchair' })).toMatchObject({ title: 'Armchair' });
});

test('a row without any of them is shown by its first columns that have a value', () => {
  const text =
    '{"__proto__":"x","empty":"","none":null,"constructor":{"a":[1]},"id":1234567890123456789,"d":4}';
  expect(inputSummary(text)).toEqual({
    ...nothing,
    first: [
      { name: '__proto__', value: 'x' },
      { name: 'constructor', value: '{"a":[1]}' },
      { name: 'id', value: '1234567890123456789' },
    ],
  });
});

test('long values are cut at 200 characters, between whole characters', () => {
  const { title } = summaryOf({ title: `${'x'.repeat(198)}\u{1f600}${'y'.repeat(50)}` });
  expect(title).toBe(`${'x'.repeat(198)}…`);
  expect(summaryOf({ title: 'x'.repeat(200) }).title).toHaveLength(200);
  expect(summaryOf({ ['k'.repeat(500)]: 'v'.repeat(500) }).first).toEqual([
    { name: `${'k'.repeat(199)}…`, value: `${'v'.repeat(199)}…` },
  ]);
});

test('a row without values has an empty summary', () => {
  expect(inputSummary('{}')).toEqual(nothing);
  expect(summaryOf({ a: null, b: '' })).toEqual(nothing);
});

test('the summary of a row shows what the normalized fields hold', () => {
  const row = '{"Product Name":" Cafe\u0301 ","manufacturer":"Acme","Article-Number":"A-1"}';
  const { title, brand, sku } = normalizedFields(row);
  expect(inputSummary(row)).toEqual({ title, brand, sku, first: [] });
  expect(title).toBe('Café');
});
