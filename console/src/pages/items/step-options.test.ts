import { expect, test } from 'vitest';
import { ApiProblem } from '../../api/client.ts';
import { problemAt, problemsOfStep } from './field-problem.ts';
import { emptyHttp } from './processor-options.ts';
import { chainOptions, emptyChain, emptyLlm, isStepIncomplete, llmOptions, newStep } from './step-options.ts';

test('a question has the fields that were filled in, and its schema as JSON', () => {
  const draft = { ...emptyLlm, url: ' https://a.b/v1 ', model: 'm', prompt: 'What is {{sku}}?' };
  expect(llmOptions(draft)).toEqual({ url: 'https://a.b/v1', model: 'm', prompt: 'What is {{sku}}?' });
  const priced = { ...draft, schema: '{"type": "object"}', inputPrice: '0.5', secret: 'key', budget: '3' };
  expect(llmOptions(priced)).toMatchObject({
    schema: { type: 'object' },
    price: { input: 0.5, output: 0 },
    secret: 'key',
    budget: 3,
  });
});

test('a chain has its steps in order, without empty names, and one budget for all', () => {
  const first = { ...newStep(1), name: ' find ', http: { ...emptyHttp, url: 'https://a.b/{{sku}}' } };
  const llm = { ...emptyLlm, url: 'https://c.d', model: 'm', prompt: 'p', budget: '9' };
  const second = { ...newStep(2), processor: 'llm' as const, llm };
  expect(chainOptions({ mode: 'sequence', steps: [first, second], budget: '2' })).toEqual({
    mode: 'sequence',
    steps: [
      {
        name: 'find',
        processor: 'http',
        options: { request: { method: 'GET', url: 'https://a.b/{{sku}}' }, timeoutMs: 10_000 },
      },
      { processor: 'llm', options: { url: 'https://c.d', model: 'm', prompt: 'p' } },
    ],
    budget: 2,
  });
});

test('a chain is incomplete until every step is filled in', () => {
  const http = { ...emptyHttp, url: 'https://a.b' };
  expect(emptyChain.steps.map(isStepIncomplete)).toEqual([true, true]);
  expect([{ ...newStep(1), http }, newStep(2)].map(isStepIncomplete)).toEqual([false, true]);
});

test('a problem of a step is shown at the field of that step only', () => {
  const errors = [{ pointer: '/options/steps/1/options/request/url', message: 'is not a URL' }];
  const error = new ApiProblem(422, { errors });
  expect(problemAt(problemsOfStep(error, 0), '/options/request/url')).toBeUndefined();
  expect(problemAt(problemsOfStep(error, 1), '/options/request/url')).toBe('is not a URL');
});
