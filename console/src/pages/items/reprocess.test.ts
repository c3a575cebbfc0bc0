import { expect, test } from 'vitest';
import { reprocessSentence } from './reprocess.ts';

test('the result gives the numbers of reset rows and of rows without attempts left', () => {
  expect(reprocessSentence({ reset: 37, exhausted: 0 })).toBe('37 rows will be processed again.');
  expect(reprocessSentence({ reset: 1, exhausted: 2 })).toBe(
    '1 row will be processed again; 2 rows have no attempts left.',
  );
  expect(reprocessSentence({ reset: 0, exhausted: 1 })).toBe('1 row has no attempts left.');
  expect(reprocessSentence({ reset: 0, exhausted: 0 })).toBe('No row could be reprocessed.');
});
