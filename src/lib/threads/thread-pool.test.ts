import { afterEach, expect, test } from 'vitest';
import type {
  CheckAnswer,
  CheckQuestion,
} from '../../ingest/items/processing/processors/validate/validate-thread.ts';
import { ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

// Any thread that answers questions will do.
let pool: ThreadPool<CheckQuestion, CheckAnswer>;
const open = (options: Partial<ThreadPoolOptions> = {}) => {
  pool = new ThreadPool({ file: 'validate-thread', threads: 1, ...options });
};
afterEach(() => pool.close());

const question: CheckQuestion = { type: 'compile', patterns: ['a', '('] };
const answer = { type: 'compile', problems: [null, expect.stringMatching(/^is not a regular expression/)] };

test('answers come back, however many questions are asked at once', async () => {
  open({ threads: 2 });
  const asked = Array.from({ length: 50 }, (_, at) => pool.ask(question, { tenantId: `t${at % 3}` }));
  expect(await Promise.all(asked)).toEqual(asked.map(() => answer));
});

test('a tenant with one question waits for one of another tenant’s, not for all of them', async () => {
  open();
  const order: string[] = [];
  const ask = (tenantId: string) => pool.ask(question, { tenantId }).then(() => order.push(tenantId));
  await Promise.all([...Array.from({ length: 20 }, () => ask('greedy')), ask('quiet')]);
  expect(order.indexOf('quiet')).toBeLessThanOrEqual(2);
  expect(order).toHaveLength(21);
});

test('a question that fails is rejected, and the next one gets its answer', async () => {
  open();
  const broken = { type: 'compile', patterns: null } as unknown as CheckQuestion;
  const asked = [pool.ask(broken, { tenantId: 't' }), pool.ask(question, { tenantId: 't' })];
  await expect(asked[0]).rejects.toThrow(/map/);
  expect(await asked[1]).toEqual(answer);
});

test('a thread that does not answer in time is replaced', async () => {
  open({ answerMs: 1 });
  const slow: CheckQuestion = {
    type: 'check',
    rules: Array.from({ length: 500 }, (_, at) => ({
      column: `c${at}`,
      required: false,
      type: 'string' as const,
    })),
    rows: Array.from({ length: 5_000 }, () => '{}'),
    budgetMs: 60_000,
  };
  await expect(pool.ask(slow, { tenantId: 't' })).rejects.toThrow('it took more than 0.001 s');
  await pool.close();
  open();
  expect(await pool.ask(question, { tenantId: 't' })).toEqual(answer);
});

test('closing rejects what waits', async () => {
  open();
  const asked = [1, 2, 3].map(() => pool.ask(question, { tenantId: 't' }));
  const settled = Promise.allSettled(asked);
  await pool.close();
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
