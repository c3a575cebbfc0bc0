import { describe, expect, test } from 'vitest';
import { readReport, recordsOf, reportRefusal } from '../../../../../test/generators/report-documents.ts';

const recordsIn = async (text: string) => recordsOf(await readReport(text));

describe('the shapes of JSON reports', () => {
  const record = '{"id":"1","spend":"5339.5"}';
  test.each([
    ['array', `[${record}, ${record}]`],
    ['array', ` \n[\n${record}\n,\n${record}\n]\n`],
    ['ndjson', `${record}\n${record}\n`],
    ['ndjson', `${record}\r\n\r\n${record}`],
    ['meta', `{"data":[${record},${record}],"paging":{"cursors":{"before":"a","after":"b"}}}`],
    ['meta', `{"paging":{"next":"https://example.com/{x}"},"data":[${record},${record}]}`],
    ['meta', `{"data":[${record}]}\n{"data":[${record}]}`],
    ['google', `[{"results":[${record}],"fieldMask":"a.b","requestId":"r"},{"results":[${record}]}]`],
    ['google', `{"results":[${record},${record}],"fieldMask":"a.b"}`],
    ['google', `[{"fieldMask":"a.b","results":[]},{"results":[${record},${record}]}]`],
    [
      'tiktok',
      `{"code":0,"message":"OK","request_id":"1","data":{"list":[${record},${record}],"page_info":{"page":1}}}`,
    ],
    ['tiktok', `{"data":{"page_info":{"page":1},"list":[${record},${record}]},"code":0,"message":"OK"}`],
  ])('%s: %s', async (shape, text) => {
    const report = await readReport(text);
    expect(report.layout).toMatchObject({ format: 'json', shape });
    expect(recordsOf(report)).toEqual([
      { id: '1', spend: '5339.5' },
      { id: '1', spend: '5339.5' },
    ]);
    expect(report.rows.map(({ rowIndex, line }) => [rowIndex, line])).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  test('give no rows when they have no records', async () => {
    for (const text of ['[]', '{"data":[]}', '[{"results":[]}]', '{"code":0,"message":"OK","data":{}}']) {
      expect((await readReport(text)).rows, text).toEqual([]);
    }
  });

  test('are not confused with a record that has a field of that name', async () => {
    const { layout } = await readReport('[{"campaign_id":"1","results":[{"indicator":"x"}]}]');
    expect(layout).toMatchObject({ shape: 'array', headers: ['campaign_id', 'results'] });
  });

  test('are found when the file is larger than the part that is examined', async () => {
    const many = Array(20_000).fill(record).join(',');
    const { layout, rows } = await readReport(`[{"results":[${many}],"fieldMask":"a"}]`);
    expect(layout).toMatchObject({ shape: 'google' });
    expect(rows).toHaveLength(20_000);
  });
});

describe('the fields of a record', () => {
  test('are paths, and numbers are kept as written', async () => {
    const text = `[{"campaign":{"id":1202000000000000001,"name":"A \\"B\\" \\u00e9\\n"},
      "segments":{"date":"2026-03-27"},"on":true,"off":false,"no":null,
      "metrics":{"costMicros":"2500000000","ctr":103606.770,"zero":-0.00,"big":1.2E+17}}]`;
    expect(await recordsIn(text)).toEqual([
      {
        'campaign.id': '1202000000000000001',
        'campaign.name': 'A "B" é\n',
        'segments.date': '2026-03-27',
        'metrics.costMicros': '2500000000',
        'metrics.ctr': '103606.770',
        'metrics.zero': '-0.00',
        'metrics.big': '1.2E+17',
        on: 'true',
        off: 'false',
        no: '',
      },
    ]);
  });

  test('are one per type for a list of actions', async () => {
    const text = `{"data":[{"ad_id":"1","actions":[{"action_type":"purchase","value":"3"},
      {"value":4,"1d_click":"1","action_type":"link_click"}],"action_values":[]}]}`;
    expect(await recordsIn(text)).toEqual([
      { ad_id: '1', 'actions.purchase': '3', 'actions.link_click': '4' },
    ]);
  });

  test.each([
    ['of numbers', '[1, 2.50]'],
    ['of other objects', '[{"a":[1]},{"b":"]"}]'],
    [
      'of actions that names one type twice',
      '[{"action_type":"a","value":"1"},{"action_type":"a","value":"2"}]',
    ],
  ])('are the text of a list %s', async (_, list) => {
    expect(await recordsIn(`[{"list":${list}}]`)).toEqual([{ list }]);
  });

  test('are appended when they first appear later, and are empty in the rows before', async () => {
    const { layout, rows, resumes } = await readReport('[{"a":1},{"b":2,"a":3},{"c":4}]', { batchRows: 2 });
    expect(layout.headers).toEqual(['a', 'b', 'c']);
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['1', ''],
      ['3', '2'],
      ['', '', '4'],
    ]);
    // A checkpoint contains only what was read until then.
    expect(resumes.map(({ layout }) => layout.headers)).toEqual([
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]);
  });

  test('may end with backslashes and contain quotes and brackets', async () => {
    expect(await recordsIn('[{"a":"x\\\\","b":"\\\\\\"}]","c":"\\""}]')).toEqual([
      { a: 'x\\', b: '\\"}]', c: '"' },
    ]);
  });

  test('do not change the checkpoint when they are new after a resumption', async () => {
    const text = '[{"a":1},{"b":2}]';
    const [resume] = (await readReport(text, { batchRows: 1 })).resumes;
    const rest = await readReport(text, { resume });
    expect(rest.rows).toEqual([{ rowIndex: 1, line: 2, cells: ['', '2'] }]);
    expect(resume?.layout.headers).toEqual(['a']);
  });

  test('may have any name', async () => {
    const text = '[{"__proto__":1,"constructor":{"prototype":2},"":3,"a.b":4,"a":{"b":5}}]';
    const { layout, rows } = await readReport(text);
    expect(layout.headers).toEqual(['__proto__', 'constructor.prototype', '', 'a.b']);
    expect(rows[0]?.cells).toEqual(['1', '2', '3', '5']);
  });

  test('contain no lone surrogates', async () => {
    expect(await recordsIn('[{"a":"x\\ud83dy","b":"\\ud83d\\ude00"}]')).toEqual([{ a: 'x\ufffdy', b: '😀' }]);
  });
});

describe('a response that is an error', () => {
  test.each([
    [
      '{"code":40105,"message":"Access token is incorrect","request_id":"1","data":{}}',
      'Access token',
      '40105',
    ],
    ['{"code":40105,"message":"Access token is incorrect"}', 'Access token', '40105'],
    ['{"data":{"list":[{"a":1}]},"code":"50000","message":"System error"}', 'System error', '50000'],
    [
      '{"error":{"message":"Invalid OAuth token","type":"OAuthException","code":190}}',
      'Invalid OAuth',
      '190',
    ],
    ['[{"error":{"code":403,"message":"The caller does not have permission"}}]', 'caller does not', '403'],
  ])('is refused with the message of the platform: %s', async (text, words, platformCode) => {
    const error = await reportRefusal(text);
    expect(error).toMatchObject({ code: 'report_platform_error', details: { platform_code: platformCode } });
    expect(error.message).toContain(words);
  });
});

describe('a broken record is a row with its problem, and the others are read', () => {
  const good = (n: number) => `{"a":${n}}`;
  test.each([
    ['a line that is cut off in a string', '{"a":1,"b":"x', 'json_malformed'],
    ['a line that is cut off before a value', '{"a":1,"b":', 'json_malformed'],
    ['a line that is cut off behind a comma', '{"a":1,', 'json_malformed'],
    ['a line that is cut off in a list', '{"a":[1,', 'json_malformed'],
    ['a line that is cut off in an object', '{"a":{', 'json_malformed'],
    ['a line that is no JSON', 'not json at all', 'record_not_an_object'],
    ['a line that is a number', '3', 'record_not_an_object'],
    ['a line that is not valid', '{"a":tru}', 'json_malformed'],
    ['a line that is too deep', `{"a":${'['.repeat(64)}1${']'.repeat(64)}}`, 'json_too_deep'],
    ['a line that is too long', `{"a":[${'1,'.repeat(600_000)}1]}`, 'row_too_large'],
    ['a value that is too long', `{"a":"${'x'.repeat(150_000)}"}`, 'cell_too_large'],
  ])('%s', async (_, bad, code) => {
    const lines = [good(1), bad, good(2), '', bad, bad, good(3)];
    const { rows } = await readReport(lines.join('\r\n'), { batchRows: 2 });
    expect(rows.map(({ cells, problem }) => problem?.code ?? cells[0])).toEqual([
      ...['1', code, '2', code, code, '3'],
    ]);
    const problem = rows[1]?.problem;
    expect(problem).toMatchObject({ field: 'row', message: expect.stringContaining('Record 2') });
    expect(bad.startsWith(problem?.value?.slice(0, 150) ?? '-')).toBe(true);
    expect(problem?.value?.length).toBeLessThanOrEqual(200);
    expect(rows.map(({ rowIndex, line }) => [rowIndex, line])).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => [n, n + 1]),
    );
  });

  test('even when it is the last or the first', async () => {
    const last = await readReport(`${good(1)}\n${good(2)}\n{"a":3,"b`);
    expect(last.rows.map(({ problem }) => problem?.code)).toEqual([undefined, undefined, 'json_truncated']);
    const first = await readReport(`{"a":1,"b":"x\n${good(1)}\n${good(2)}\n`);
    expect(first.rows.map(({ problem }) => problem?.code)).toEqual(['json_malformed', undefined, undefined]);
  });

  test('even when records span several lines: the inner lines belong to the broken record', async () => {
    const pretty = (n: number) => JSON.stringify({ a: n, b: { c: [{ d: n }] } }, null, 2);
    const broken = pretty(2).replace('"b":', '"b"');
    const { rows } = await readReport([pretty(1), broken, pretty(3)].join('\n'));
    expect(rows[0]?.cells[0]).toBe('1');
    expect(rows[1]?.problem).toMatchObject({ code: 'json_malformed', value: '{' });
    expect(rows.at(-1)?.cells[0]).toBe('3');
  });

  test.each([
    ['null', 'null', 'a number, true, false or null'],
    ['a text', '"x"', 'a string'],
    ['a list', '[1, {"a":2}]', 'an array'],
  ])('even %s in an array or among the records of a response', async (_, odd, words) => {
    for (const [before, after] of [
      ['[', ']'],
      ['{"data":[', '],"paging":{}}'],
    ] as const) {
      const { rows } = await readReport(`${before}${good(1)}, ${odd}, ${good(2)}${after}`);
      expect(rows.map(({ cells, problem }) => problem?.value ?? cells[0])).toEqual(['1', odd, '2']);
      expect(rows[1]?.problem).toMatchObject({
        code: 'record_not_an_object',
        message: expect.stringContaining(`Record 2, at byte`),
      });
      expect(rows[1]?.problem?.message).toContain(words);
    }
    expect((await readReport(`[null, ${good(1)}]`)).rows).toHaveLength(2);
  });

  test('but a file that begins with only broken records is refused', async () => {
    const error = await reportRefusal(`${'{"a":1,\n'.repeat(20)}${good(1)}\n`);
    expect(error).toMatchObject({
      code: 'report_json_malformed',
      message: expect.stringContaining('Record 1'),
    });
  });
});

describe('broken JSON is refused with its position', () => {
  test.each([
    ['a comma too few', '[{"a":1} {"a":2}]', 'report_json_malformed', 'byte 9'],
    ['a comma too many', '[{"a":1},]', 'report_json_malformed', 'byte 9'],
    ['a wrong record', '[{"a":1},{"a":tru}]', 'report_json_malformed', 'Record 2, which begins at byte 9'],
    ['a wrong bracket', '[{"a":[1}}]', 'report_json_malformed', 'Record 1'],
    ['a line break in a string', '[{"a":"x\ny"}]', 'report_json_malformed', 'Record 1'],
    ['text behind the array', '[{"a":1}] x', 'report_json_malformed', 'byte 10'],
    ['an object behind the array', '[{"a":1}] {"a":2}', 'report_json_malformed', 'byte 10'],
    ['single quotes', "{'a':1}", 'report_json_malformed', 'Record 1'],
    ['a key without a value', '{"data":[{"a":1}],"x"}', 'report_json_malformed', 'a colon'],
    ['a wrong value beside the records', '{"data":[{"a":1}],"x":tru}', 'report_json_malformed', '"x"'],
    ['numbers instead of records', '["a", 2]', 'report_record_not_an_object', 'is a string'],
    ['a line alone that is cut off', '{"a":1,"b":"x\n', 'report_json_malformed', 'Record 1'],
    ['an array that is not closed', '[{"a":1},{"a":2}', 'report_json_truncated', 'after 2 records'],
    [
      'a record that is not closed',
      '[{"a":1},{"a":2',
      'report_json_truncated',
      'Record 2, which begins at byte 9',
    ],
    ['a response that is not closed', '{"data":[{"a":1}]', 'report_json_truncated', 'after 1 records'],
    ['a string that is not closed', '{"data":[{"a":"1}]}', 'report_json_truncated', 'Record 1'],
    ['a bracket alone', '[', 'report_json_truncated', 'after 0 records'],
  ])('%s', async (_, text, code, words) => {
    const error = await reportRefusal(text);
    expect({ code: error.code, message: error.message }).toEqual({
      code,
      message: expect.stringContaining(words),
    });
  });
});
