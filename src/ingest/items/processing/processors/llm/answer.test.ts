import { afterAll, expect, test } from 'vitest';
import { readCompletion } from './answer.ts';
import { AnswerChecks } from './answer-checks.ts';
import { parseLlmOptions } from './options.ts';

const checks = new AnswerChecks();
afterAll(() => checks.close());
const check = (asked: Parameters<AnswerChecks['check']>[0]) => checks.check(asked, { tenantId: 't' });

const said = (content: string, usage?: object) => ({
  choices: [{ message: { role: 'assistant', content } }],
  ...(usage && { usage }),
});
const optionsWith = (more: object) =>
  parseLlmOptions({ url: 'https://a.example/v1', model: 'm', prompt: 'p', ...more });

test('columns of the answer named cost and tokens keep their names', async () => {
  const options = optionsWith({ schema: { type: 'object' }, price: { input: 1, output: 1 } });
  const usage = { prompt_tokens: 100, completion_tokens: 20 };
  const { outcome } = await readCompletion(said('{"cost": 3, "brand": "Acme"}', usage), {
    ...{ options, question: '', check },
  });
  expect(outcome).toMatchObject({
    status: 'DONE',
    result: { cost: 3, brand: 'Acme', tokens: 120, item_cost: 0.00012 },
  });
});

test('the cost is estimated by length where the endpoint does not say what was used', async () => {
  const options = optionsWith({ price: { input: 1_000_000, output: 2_000_000 }, budget: 1 });
  const answer = await readCompletion(said('a'.repeat(30)), { options, question: 'q'.repeat(60), check });
  expect(answer).toMatchObject({ tokens: null, cost: 20 + 2 * 10 });
  const free = await readCompletion(said('a'), { options: optionsWith({}), question: 'q', check });
  expect(free).toMatchObject({ tokens: null, cost: null });
});
