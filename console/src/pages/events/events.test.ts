import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Event } from '../../api/types.ts';
import { comparePositions } from '../jobs/timeline.ts';
import { matches } from './event-list.ts';
import { type ReadAfter, readNewest } from './newest-events.ts';

const answerSize = 20;

function logOf(ids: readonly string[]): { events: Event[]; readAfter: ReadAfter } {
  const ordered = [...new Set(ids)].sort(comparePositions);
  const events = ordered.map((id) => ({ id }) as Event);
  return {
    events,
    readAfter: async (after) => {
      const rest = events.filter(({ id }) => comparePositions(id, after) > 0);
      return { data: rest.slice(0, answerSize), has_more: rest.length > answerSize };
    },
  };
}

test('paging returns every event once, newest first', async () => {
  const ids = fc.array(fc.tuple(fc.bigInt(1n, 100_000n), fc.integer({ min: 1, max: 90 })), {
    maxLength: 150,
  });
  await fc.assert(
    fc.asyncProperty(ids, async (pairs) => {
      const { events, readAfter } = logOf(pairs.map(([xid, number]) => `${xid}-${number}`));
      const read: Event[] = [];
      for (let before: string | null = '100001-0'; before !== null; ) {
        const page = await readNewest(readAfter, before);
        read.push(...page.data);
        before = page.nextCursor;
      }
      expect(read.map(({ id }) => id)).toEqual(events.map(({ id }) => id).reverse());
    }),
    { numRuns: 60 },
  );
});

test('only the end of a long and dense log is read', async () => {
  const ids = Array.from({ length: 4_000 }, (_, index) => `${Math.floor(index / 5) + 1}-${index + 1}`);
  const { events, readAfter } = logOf(ids);
  let reads = 0;
  const counted: ReadAfter = (after) => {
    reads += 1;
    return readAfter(after);
  };
  const first = await readNewest(counted, '801-0');
  const second = await readNewest(counted, first.nextCursor ?? '');
  const newest = events.map(({ id }) => id).reverse();
  const read = [...first.data, ...second.data].map(({ id }) => id);
  expect(read).toEqual(newest.slice(0, read.length));
  expect(read.length).toBeGreaterThanOrEqual(100);
  expect(reads).toBeLessThan(60);
});

test('a transaction with more events than one response holds is read whole', async () => {
  const { events, readAfter } = logOf(Array.from({ length: 75 }, (_, index) => `700-${index + 1}`));
  expect((await readNewest(readAfter, '701-0')).data).toHaveLength(events.length);
});

test('a streamed event is shown where the server would list it', () => {
  const event = { type: 'job.failed', subject: 'j1' };
  expect(matches(event, { type: undefined, subject: undefined })).toBe(true);
  expect(matches(event, { type: 'upload.*,job.*', subject: 'j1' })).toBe(true);
  expect(matches(event, { type: 'job.fail', subject: undefined })).toBe(false);
  expect(matches(event, { type: 'job.*', subject: 'j2' })).toBe(false);
});
