import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExactNumber, type ExactValue, exactNumber } from '../../../lib/rows/exact-json.ts';
import { createRowProjector, exportColumns, resultKeysOf } from './rows.ts';

function project(resultJson: string | null, keys = resultKeysOf(resultJson)): ExactValue[] {
  return createRowProjector(exportColumns([], keys))({ rowNo: 7, status: 'DONE', resultJson }).slice(2);
}

describe('columns', () => {
  test('are row_no and status, then declared ones that results have, then new ones in order of appearance', () => {
    const { header, keys } = exportColumns(['sku', 'title', 'unused'], ['price', 'title', 'sku', 'url']);
    expect(header).toEqual(['row_no', 'status', 'sku', 'title', 'price', 'url']);
    expect(keys).toEqual(['sku', 'title', 'price', 'url']);
  });

  test('added by Sluice are renamed when a result has a column of the same name', () => {
    expect(exportColumns([], ['status', 'item_status', 'row_no']).header).toEqual([
      'item_row_no',
      'item_item_status',
      'status',
      'item_status',
      'row_no',
    ]);
  });

  test('keys come in the order of the text, also __proto__ and those that look like integers', () => {
    expect(resultKeysOf('{"b": 1, "__proto__": 2, "10": 3, "2": 4}')).toEqual(['b', '__proto__', '10', '2']);
    expect(resultKeysOf(null)).toEqual([]);
    expect(resultKeysOf('[1]')).toEqual(['result']);
  });
});

describe('values', () => {
  test('a missing key, a null and no result are null; inherited names are not values', () => {
    const keys = ['__proto__', 'constructor', 'toString', 'a'];
    expect(project('{"a": null}', keys)).toEqual([null, null, null, null]);
    expect(project('{"__proto__": "p", "constructor": "c", "toString": "t"}', keys)).toEqual([
      'p',
      'c',
      't',
      null,
    ]);
    expect(project(null, keys)).toEqual([null, null, null, null]);
    expect(project('null', keys)).toEqual([null, null, null, null]);
  });

  test('nested values are compact JSON text with their keys in order and their digits kept', () => {
    const json = '{"a": {"10": [1, 2.50, 12345678901234567890], "2": " a , b "}, "b": [ ], "c": "x"}';
    expect(project(json)).toEqual(['{"10":[1,2.50,12345678901234567890],"2":" a , b "}', '[]', 'x']);
  });

  test('a number that a double cannot hold keeps its text', () => {
    expect(project('{"id": 1234567890123456789, "small": 5}')).toEqual([
      new ExactNumber('1234567890123456789'),
      5,
    ]);
    expect(project('{"x": 1e400}')).toEqual([new ExactNumber('1e400')]);
    expect(project('{"x": 0.10000000000000000001}')).toEqual([new ExactNumber('0.10000000000000000001')]);
  });

  test.each([
    ['1.50', 1.5],
    ['1e3', 1000],
    ['9007199254740993.0e0', null],
    ['0.0', 0],
    ['100', 100],
    ['5e-324', 5e-324],
  ])('the number %s is a double if the double says the same', (text, expected) => {
    expect(exactNumber(text)).toEqual(expected ?? new ExactNumber(text));
  });

  test('a result that is not an object is a column of its own', () => {
    expect(project('"text"')).toEqual(['text']);
    expect(project('[1, 2]')).toEqual(['[1,2]']);
  });

  test('a result with a key that has no column is an error, not a lost value', () => {
    expect(() => project('{"a": 1, "late": 2}', ['a'])).toThrow('Row 7 has the result columns "late"');
    expect(() => project('{"a": [1], "late": 2}', ['a'])).toThrow('Row 7 has the result columns "late"');
  });

  test('any flat result gives its values, whatever white space PostgreSQL puts in', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    const members = fc.uniqueArray(
      fc.tuple(fc.oneof(fc.string(), fc.constantFrom('__proto__', '1')), value),
      {
        selector: ([key]) => key,
      },
    );
    fc.assert(
      fc.property(members, fc.constantFrom('', ' ', '\n'), (pairs, space) => {
        const texts = pairs.map(([key, of]) => `${JSON.stringify(key)}:${space}${JSON.stringify(of)}`);
        const json = `{${space}${texts.join(`,${space}`)}${space}}`;
        expect(resultKeysOf(json)).toEqual(pairs.map(([key]) => key));
        expect(project(json)).toEqual(pairs.map(([, of]) => (of === 0 ? 0 : of)));
      }),
    );
  });

  test('a row of texts in the order of the columns comes out as any other way of writing it does', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom('', '\\', '"', '{', ','),
    );
    const cells = fc.uniqueArray(fc.tuple(texts, texts), {
      selector: ([key]) => key,
      minLength: 1,
      maxLength: 5,
    });
    const seen = { cut: 0 };
    fc.assert(
      fc.property(cells, (pairs) => {
        const inOrder = `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`;
        const otherwise = inOrder.replace('{', '{ ');
        if (!inOrder.includes('\\')) seen.cut += 1;
        const keys = pairs.map(([key]) => key);
        expect(project(inOrder, keys)).toEqual(project(otherwise, keys));
        expect(project(inOrder, keys)).toEqual(pairs.map(([, value]) => value));
      }),
      { numRuns: 1_000 },
    );
    expect(seen.cut).toBeGreaterThan(100);
  });
});
