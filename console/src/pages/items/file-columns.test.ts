import { expect, test } from 'vitest';
import { columnsOf } from './file-columns.ts';

test('columns are read from the beginning of a file in every format', () => {
  expect(columnsOf('sku,"title, long",price\n1,a,2\n')).toEqual(['sku', 'title, long', 'price']);
  expect(columnsOf('sku\ttitle\r\n1\tx')).toEqual(['sku', 'title']);
  expect(columnsOf('{"sku":1,"a \\"b\\" }":{"c":2}}\n{"sku":2}')).toEqual(['sku', 'a "b" }']);
  expect(columnsOf(' [ {"sku": 1, "tags": ["{"]}, {"x": 1}]')).toEqual(['sku', 'tags']);
});

test('a beginning without columns offers none', () => {
  expect(columnsOf('')).toEqual([]);
  expect(columnsOf('[{"sku": "cut he')).toEqual([]);
  expect(columnsOf('PK\u0003\u0004\u0014\u0000,[Content_Types].xml')).toEqual([]);
});
