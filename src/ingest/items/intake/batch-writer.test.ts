import { expect, test } from 'vitest';
import { noopProcessor } from '../processing/processors/noop.ts';
import { IngestTrace, normalizerOf } from './batch-writer.ts';

test('a few points describe an ingest from its beginning to near its end', () => {
  const trace = new IngestTrace();
  for (let batch = 0; batch < 10_000; batch += 1)
    trace.add(batch * 10, { rows: 64 + batch, latencyMs: 1.26 });
  const { points } = trace;
  expect(points.length).toBeLessThan(32);
  expect(points.length).toBeGreaterThanOrEqual(16);
  expect(points[0]).toEqual([0, 64, 1.3]);
  expect(points.at(-1)?.[0]).toBeGreaterThan(90_000);
  const steps = points.slice(1).map(([atMs], index) => atMs - (points[index]?.[0] ?? 0));
  expect(new Set(steps).size).toBe(1);
});

test('every batch of a short ingest is kept', () => {
  const trace = new IngestTrace();
  for (const rows of [64, 128, 256]) trace.add(rows, { rows, latencyMs: 10 });
  expect(trace.points.map(([, rows]) => rows)).toEqual([64, 128, 256]);
});

test('a processor’s own normalized fields replace the well-known ones', () => {
  const own = { ...noopProcessor, normalize: (input: Record<string, unknown>) => ({ id: `${input.a}\0` }) };
  expect(normalizerOf(own, ['a']).normalize('{"a":"1"}')).toBe('{"id":"1\ufffd"}');
});
