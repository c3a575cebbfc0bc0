import { expect, test } from 'vitest';
import { matches } from './event-list.ts';

test('a streamed event is shown where the server would list it', () => {
  const event = { type: 'job.failed', subject: 'j1' };
  expect(matches(event, { type: undefined, subject: undefined })).toBe(true);
  expect(matches(event, { type: 'upload.*,job.*', subject: 'j1' })).toBe(true);
  expect(matches(event, { type: 'job.fail', subject: undefined })).toBe(false);
  expect(matches(event, { type: 'job.*', subject: 'j2' })).toBe(false);
});
