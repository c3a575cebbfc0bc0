import { expect, test } from 'vitest';
import { areas, areasTouchedBy } from './live-areas.ts';

test('an event of a job touches the jobs, its own pipeline, and what is counted', () => {
  const touched = areasTouchedBy({ type: 'job.completed', data: { pipeline: 'uploads' } });
  expect(touched).toEqual(expect.arrayContaining(['jobs', 'uploads', 'overview', 'dead-letters', 'stats']));
  expect(touched).not.toContain('knowledge');
});

test('an event of a job that does not name its pipeline could be about any of them', () => {
  const touched = areasTouchedBy({ type: 'job.paused', data: {} });
  expect(touched).toEqual(expect.arrayContaining(['uploads', 'items', 'knowledge', 'scrapes', 'connectors']));
});

test.each([
  ['item.processed', 'items'],
  ['item.processed', 'pending'],
  ['upload.staging_complete', 'uploads'],
  ['ingestion.complete', 'uploads'],
  ['handoff.completed', 'scrapes'],
  ['sync.triggered', 'connectors'],
] as const)('%s makes %s out of date', (type, area) => {
  expect(areasTouchedBy({ type, data: {} })).toContain(area);
});

test('an unknown event makes only the log out of date', () => {
  expect(areasTouchedBy({ type: 'moon.rose', data: {} })).toEqual(['events']);
});

test('only areas that queries begin with are named', () => {
  const named = ['job.x', 'item.x', 'upload.x', 'handoff.x', 'sync.x', 'webhook.x'].flatMap((type) =>
    areasTouchedBy({ type, data: {} }),
  );
  expect(named.filter((area) => !areas.includes(area))).toEqual([]);
});
