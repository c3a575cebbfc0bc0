import { expect, test } from 'vitest';
import { requeueSentence } from './requeue-words.ts';

test('the result of a requeue gives the numbers of requeued and skipped jobs', () => {
  expect(requeueSentence({ requeued: 1, skipped: [] })).toBe('Requeued 1 dead letter.');
  expect(
    requeueSentence({ requeued: 35, skipped: ['already_requeued', 'requeue_refused', 'already_requeued'] }),
  ).toBe('Requeued 35 dead letters. 3 were left out: already requeued (2), requeue refused (1).');
});
