import { expect, test } from 'vitest';
import { needOf } from './needs.ts';

const raw = { code: null, count: 3, oldest_at: null, subject_id: null };

test.each([
  [
    { ...raw, kind: 'uploads_in_review' },
    '3 uploads wait for your review',
    '/uploads?status=staging_complete',
  ],
  [
    { ...raw, kind: 'uploads_in_review', count: 1, subject_id: 'u1' },
    '1 upload waits for your review',
    '/uploads/u1',
  ],
  [
    { ...raw, kind: 'dead_letters', count: 37, code: 'invalid_credentials' },
    '37 dead letters: invalid credentials',
    '/dead-letters?error_code=invalid_credentials',
  ],
  [
    { ...raw, kind: 'connectors_failing', count: 1, subject_id: 'a/b' },
    '1 connector fails to sync',
    '/connectors/a%2Fb',
  ],
  [{ ...raw, kind: 'moons_missing' }, '3 moons missing', '/jobs'],
])('%o has a sentence and a link', (need, sentence, href) => {
  expect(needOf(need)).toMatchObject({ sentence, href });
});
