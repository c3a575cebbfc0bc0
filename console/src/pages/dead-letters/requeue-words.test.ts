import { expect, test } from 'vitest';
import { requeueSentence } from './requeue-words.ts';

test('what was requeued and what was left out is told with numbers', () => {
  expect(requeueSentence({ requeued: 1, skipped: [] })).toBe('Requeued 1 dead letter.');
  expect(
    requeueSentence({ requeued: 35, skipped: ['already_requeued', 'requeue_refused', 'already_requeued'] }),
  ).toBe('Requeued 35 dead letters. 3 were left out: already requeued (2), requeue refused (1).');
});
