import { expect, test } from 'vitest';
import { areas, areasTouchedBy } from './live-areas.ts';

test('a job event refreshes the jobs, its own pipeline and the counts', () => {
  const touched = areasTouchedBy({ type: 'job.completed', data: { pipeline: 'uploads' } });
  expect(touched).toEqual(expect.arrayContaining(['jobs', 'uploads', 'overview', 'dead-letters', 'stats']));
  expect(touched).not.toContain('knowledge');
});

test('a job event without a pipeline refreshes all pipelines', () => {
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

test('an unknown event refreshes only the log', () => {
  expect(areasTouchedBy({ type: 'moon.rose', data: {} })).toEqual(['events']);
});

test('every named area is the start of a query key', () => {
  const named = ['job.x', 'item.x', 'upload.x', 'handoff.x', 'sync.x', 'webhook.x'].flatMap((type) =>
    areasTouchedBy({ type, data: {} }),
  );
  expect(named.filter((area) => !areas.includes(area))).toEqual([]);
});
