import { expect, test } from 'vitest';
import { groupByJob, selectedSentence } from './pending-words.ts';

test('chosen rows are grouped by their job', () => {
  const rows = [
    { id: '1', jobId: 'a' },
    { id: '2', jobId: 'b' },
    { id: '3', jobId: 'a' },
  ];
  expect([...groupByJob(rows)]).toEqual([
    ['a', ['1', '3']],
    ['b', ['2']],
  ]);
});

test('the outcomes of the chosen rows add up to their number', () => {
  expect(selectedSentence(3, { reset: 0, exhausted: 0 })).toBe(
    '3 rows are still open and will be processed anyway.',
  );
  expect(selectedSentence(3, { reset: 1, exhausted: 1 })).toBe(
    '1 row had ended and will be processed again; 1 row had ended and has no attempts left; ' +
      '1 row is still open and will be processed anyway.',
  );
});
