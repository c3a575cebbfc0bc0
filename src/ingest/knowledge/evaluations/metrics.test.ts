import { expect, test } from 'vitest';
import { meanScores, scoreQuestion } from './metrics.ts';

const relevant = [3, 2, 3, 0, 1, 2].map((grade, at) => ({ uri: `D${at + 1}`, grade }));
const found = ['D1', 'D2', 'D3', 'D4', 'D5', 'D6'];

test('nDCG is that of the well-known example', () => {
  // The example of the encyclopedia: DCG 6.861, ideal 7.141.
  expect(scoreQuestion({ query: 'q', relevant }, found, 6).ndcg).toBeCloseTo(0.961, 3);
  const more = [...relevant, { uri: 'D7', grade: 3 }, { uri: 'D8', grade: 2 }];
  expect(scoreQuestion({ query: 'q', relevant: more }, found, 6).ndcg).toBeCloseTo(0.785, 3);
});

test('recall counts documents once and only up to k', () => {
  const one = scoreQuestion(
    { query: 'q', relevant: [1, 2, 3].map((n) => ({ uri: `R${n}`, grade: 1 })) },
    ['x', 'R1', 'R1', 'R2', 'y', 'R3'],
    3,
  );
  expect(one).toMatchObject({ rank: 2, recall: 2 / 3 });
  const many = Array.from({ length: 20 }, (_, n) => `R${n}`);
  const ten = scoreQuestion({ query: 'q', relevant: many.map((uri) => ({ uri, grade: 1 })) }, many, 10);
  expect(ten).toMatchObject({ recall: 0.5, ndcg: 1 });
  const none = scoreQuestion({ query: 'q', relevant: [{ uri: 'a', grade: 1 }] }, ['b'], 5);
  expect(none).toEqual({ query: 'q', rank: null, recall: 0, ndcg: 0 });
  expect(meanScores([one, none])).toMatchObject({ questions: 2, recall: 1 / 3, mrr: 0.25 });
});
