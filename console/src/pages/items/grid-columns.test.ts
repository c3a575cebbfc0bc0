import { expect, test } from 'vitest';
import { allColumns, chosenColumns, readColumns, resultKeys, textIn, writeColumns } from './grid-columns.ts';
import type { GridRow } from './rows-api.ts';

const job = { columns: ['sku', 'title'], resultColumns: ['stock', 'title'], failedItems: 0 };
const ids = (columns: { id: string }[]) => columns.map(({ id }) => id);

test('result columns have the order of the exports: columns of the file first, then new ones', () => {
  expect(resultKeys(job)).toEqual(['title', 'stock']);
  expect(ids(allColumns(job)).slice(5)).toEqual(['r:title', 'r:stock', 'i:sku', 'i:title']);
});

test('the default shows results, the file before there are results, and reasons where rows failed', () => {
  expect(ids(chosenColumns(job, undefined))).toEqual(['status', 'r:title', 'r:stock', 'updated']);
  expect(ids(chosenColumns({ ...job, resultColumns: [] }, undefined))).toContain('i:sku');
  expect(ids(chosenColumns({ ...job, failedItems: 1 }, undefined))).toContain('error');
});

test('a choice is remembered by column name, and names that no longer exist are left out', () => {
  const odd = { ...job, columns: ['a,b', '100%2C', 'plain'] };
  const chosen = ['status', 'i:a,b', 'i:100%2C'];
  expect(readColumns(writeColumns(chosen))).toEqual(chosen);
  expect(ids(chosenColumns(odd, writeColumns([...chosen, 'r:gone'])))).toEqual(chosen);
});

test('a value is read from the result or the input, and a result that is not an object has one column', () => {
  const row = { result: { a: 1 }, input: { a: 'x' } } as unknown as GridRow;
  expect(textIn(row, { id: 'r:a', from: 'result' })).toBe('1');
  expect(textIn(row, { id: 'i:a', from: 'input' })).toBe('x');
  expect(textIn({ ...row, result: [1, 2] }, { id: 'r:result', from: 'result' })).toBe('[1,2]');
  expect(textIn({ ...row, result: [1, 2] }, { id: 'r:a', from: 'result' })).toBe('');
});
