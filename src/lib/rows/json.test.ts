import { describe, expect, test } from 'vitest';
import { readRows, refusalOf } from '../../../test/generators/read-rows.ts';

describe('rows of JSON', () => {
  test('keep numbers, nesting, escapes and the order of keys as they were written', async () => {
    const rows = [
      '{"id":1234567890123456789,"price":1.50,"tiny":1E-7,"zero":-0}',
      '{"__proto__":{"x":[1,{"y":null}]},"constructor":"\\u00e4\\ud83d\\ude00\\/","7":true,"0":false}',
      '{ "spaced" : [ ] }',
      '{}',
    ];
    expect((await readRows(`[${rows.join(',')}]`)).rows).toEqual(rows);
    expect((await readRows(rows.join('\r\n'))).rows).toEqual(rows);
  });

  test('may hold brackets and quotes in strings', async () => {
    const row = '{"a":"}]{[\\"\\\\","b":"\\\\"}';
    expect((await readRows(`[${row} , ${row}]\n`)).rows).toEqual([row, row]);
  });

  test('are one line each, however many lines they were written on', async () => {
    const written = '{\n  "a": [1,\r\n 2],\r  "b": "\\n"\n}';
    const row = '{   "a": [1,   2],   "b": "\\n" }';
    expect((await readRows(`[${written},\n${written}]`)).rows).toEqual([row, row]);
    expect((await readRows(`${written}\n${written}`)).rows).toEqual([row, row]);
  });

  test('have no common columns', async () => {
    expect((await readRows('[{"a":1},{"b":2}]')).columns).toBeNull();
  });
});

const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

describe('a file is refused', () => {
  test.each([
    ['empty_file', '', { declaredType: 'application/json' }, /0 bytes/],
    ['no_rows', '[]', {}, /list of rows is empty/],
    ['row_not_an_object', '[{"a":1},\n[2]]', {}, /Row 2 \(line 2\) is an array/],
    ['row_not_an_object', '["a"]', {}, /Row 1 \(line 1\) is a string/],
    ['row_not_an_object', '[null]', {}, /a number, true, false or null/],
    ['row_not_an_object', '{"a":1}\n17\n', {}, /Row 2 \(line 2\)/],
    ['truncated_file', '[{"a":1},{"b":', {}, /Row 2 \(line 1\) is not closed/],
    ['truncated_file', '[{"a":1}', {}, /line 1 .*"," or "\]"/],
    ['truncated_file', '[{"a":1},', {}, /an object should be/],
    ['truncated_file', '[', { fileName: 'x.json' }, /an object or "\]"/],
    ['truncated_file', '{"a":1}\n{"b":"x', {}, /Row 2 \(line 2\) is not closed/],
    ['malformed_json', '[{"a":1},]', {}, /"\]" on line 1, where an object/],
    ['malformed_json', '[{"a":1}]\n]', {}, /the end of the file should be/],
    ['malformed_json', '[{"a":1}{"a":2}]', {}, /"{" on line 1, where "," or "\]"/],
    ['malformed_json', '{"a":1} {"a":2}', {}, /where a line break should be/],
    ['malformed_json', '{"a":1},\n{"a":2}', {}, /"," on line 1/],
    ['malformed_json', '{"a":"x\n"}', {}, /Row 1 .* control character in a string/],
    ['malformed_json', '[{"a":1},\n{"a":[1}]', {}, /Row 2 \(line 2\) has "}" on line 2, where "\]"/],
    ['malformed_json', '[{"a":01}]', {}, /Row 1 \(line 1\) is not valid JSON/],
    ['malformed_json', "[{'a':1}]", {}, /Row 1 \(line 1\) is not valid JSON/],
    ['duplicate_key', '[{"a":1,"b":2,"a":3}]', {}, /Row 1 \(line 1\)/],
    ['duplicate_key', '[{"a":{"b":1,"\\u0062":2}}]', {}, /Row 1 \(line 1\)/],
    ['empty_header', '[{"":1}]', {}, /A column of Row 1/],
    ['header_too_long', `[{"${'x'.repeat(201)}":1}]`, {}, /201 characters/],
    ['nul_character', '[{"a":1},{"b":{"c":["x\\u0000"]}}]', {}, /Row 2 \(line 1\), column "b"/],
    ['nul_character', '[{"b":{"\\u0000":1}}]', {}, /Row 1 \(line 1\), column "b"/],
    ['lone_surrogate', '[{"a":"\\ud83dx"}]', {}, /Row 1 \(line 1\), column "a"/],
    ['lone_surrogate', '[{"a\\udc00":"x"}]', {}, /Row 1 \(line 1\)/],
    ['number_out_of_range', '[{"a":1e99999}]', {}, /1e99999/],
    ['number_out_of_range', `[{"a":${'9'.repeat(500)}}]`, {}, /99999…/],
    ['json_too_deep', `[${deep(65)}]`, {}, /Row 1 \(line 1\) has more than 64 levels/],
  ])('%s: %s', async (code, text, options, message) => {
    const refusal = await refusalOf(text, options);
    expect(refusal.code).toBe(code);
    expect(refusal.message).toMatch(message);
  });

  test('only for these problems: the closest valid inputs are read', async () => {
    const rows = [
      deep(20),
      '{"a":"\\ud83d\\ude00","b":"\\\\u0000","c":"1e99999"}',
      `{"a":1e400,"b":${'9'.repeat(400)}}`,
      `{"${'x'.repeat(200)}":{"":1}}`,
      '{"a":{"b":1},"b":2,"c":[{"b":1},{"b":2}]}',
    ];
    expect((await readRows(`[${rows.join(',')}]`)).rows).toEqual(rows);
  });
});
