import { expect, test } from 'vitest';
import { mappedColumns, mappingJson, mappingProblem } from './column-mapping.ts';

const columns = ['Article', 'Price', 'Internal'];

test('a mapping that changes nothing is not sent', () => {
  expect(mappingJson({})).toBeNull();
  expect(mappingJson({ Price: 'Price' })).toBeNull();
  expect(mappingJson({ Article: 'sku', Internal: null })).toBe('{"Article":"sku","Internal":null}');
});

test('columns are renamed in place and left out', () => {
  expect(mappedColumns(columns, { Article: 'sku', Internal: null })).toEqual(['sku', 'Price']);
});

test('two columns with one name, no name and no column are problems', () => {
  expect(mappingProblem(columns, { Article: 'Price' })).toMatch(/Two columns are named Price/);
  expect(mappingProblem(columns, { Article: ' ' })).toMatch(/a name/);
  expect(mappingProblem(columns, { Article: null, Price: null, Internal: null })).toMatch(/at least one/);
  expect(mappingProblem(columns, {})).toBeNull();
});
