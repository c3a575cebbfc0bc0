import { expect, test } from 'vitest';
import { emptyHttp, httpOptions, jsonProblem, newRule, validateOptions } from './processor-options.ts';

test('a rule without a column is left out, and empty fields are not sent', () => {
  const rules = [newRule(1), { ...newRule(2, ' sku '), min: '3', pattern: '^A' }];
  expect(validateOptions(rules)).toEqual({
    rules: [{ column: 'sku', type: 'string', required: true, minLength: 3, pattern: '^A' }],
  });
});

test('bounds apply to a number, a day or a length, depending on the type', () => {
  const bounded = { ...newRule(1, 'c'), isRequired: false, min: '1', max: '2' };
  expect(validateOptions([{ ...bounded, type: 'number' }])).toEqual({
    rules: [{ column: 'c', type: 'number', required: false, min: 1, max: 2 }],
  });
  expect(validateOptions([{ ...bounded, type: 'date', min: '2026-01-01', max: '' }])).toEqual({
    rules: [{ column: 'c', type: 'date', required: false, min: '2026-01-01' }],
  });
});

test('a request has the fields that were filled in, a JSON body as JSON and a secret by its name', () => {
  expect(httpOptions({ ...emptyHttp, url: ' https://a.b/{{sku}} ' })).toEqual({
    request: { method: 'GET', url: 'https://a.b/{{sku}}' },
    timeoutMs: 10_000,
  });
  expect(
    httpOptions({
      ...emptyHttp,
      method: 'POST',
      url: 'https://a.b',
      body: '{"q":"{{title}}"}',
      secret: 'k',
      result: 'hits.0',
    }),
  ).toMatchObject({
    request: { body: { q: '{{title}}' } },
    auth: { type: 'bearer', secret: 'k' },
    response: { result: 'hits.0' },
  });
});

test('options written as JSON must be an object', () => {
  expect(jsonProblem('{"a":1}')).toBeNull();
  expect(jsonProblem('[1]')).toMatch(/object/);
  expect(jsonProblem('{')).toMatch(/not valid JSON/);
});
