import { expect, test } from 'vitest';
import { eventLinks, eventLook } from './event-words.ts';

test('known events read as sentences', () => {
  expect(eventLook({ type: 'job.failed', data: { error_message: 'Airbyte answered 503' } })).toEqual({
    tone: 'retry',
    sentence: 'failed: Airbyte answered 503',
  });
  expect(
    eventLook({ type: 'item.processed', data: { counts: { DONE: 1_200, ERROR: 0, NOT_FOUND: 3 }, open: 1 } })
      .sentence,
  ).toBe('processed 1,200 done, 3 not found; 1 row open');
  const refused = { filename: 'may.csv', error_message: 'The file has no bytes' };
  expect(eventLook({ type: 'upload.refused', data: refused })).toEqual({
    tone: 'failed',
    sentence: 'refused may.csv: The file has no bytes',
  });
  expect(eventLook({ type: 'job.retry', data: { delay_seconds: 60 } }).sentence).toBe(
    'will be retried in 1 min',
  );
});

test('an event of an unknown type shows its name', () => {
  expect(eventLook({ type: 'handoff.completed', data: {} })).toEqual({ tone: 'done', sentence: 'completed' });
  expect(eventLook({ type: 'odd', data: {} }).sentence).toBe('odd');
});

test('an event links to its job, its upload and all events of its subject', () => {
  const links = eventLinks({ subject: 'u1', data: { job_id: 'j1', upload_id: 'u1' } });
  expect(links.map(({ href }) => href)).toEqual(['/jobs/j1', '/uploads/u1', '/events?subject=u1']);
});
