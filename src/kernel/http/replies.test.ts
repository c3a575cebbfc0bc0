import { expect, test } from 'vitest';
import { z } from 'zod';
import { shownAs, timestamp } from './replies.ts';

test('a record is shown under the names of its reply, with times as text and nothing that the reply leaves out', () => {
  const reply = z.object({ job_id: z.string(), created_at: timestamp, finished_at: timestamp.nullable() });
  const row = { jobId: 'j', createdAt: new Date(0), finishedAt: null, keyHash: 'secret' };
  expect(shownAs(reply, row)).toEqual({
    job_id: 'j',
    created_at: '1970-01-01T00:00:00.000Z',
    finished_at: null,
  });
});

test('a loose reply in the names of the program shows only what it names, too', () => {
  expect(
    shownAs(z.looseObject({ jobId: z.string(), extra: z.string() }), { jobId: 'j', payload: {} }),
  ).toEqual({
    jobId: 'j',
  });
});
