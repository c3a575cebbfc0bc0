import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { ItemMetrics } from '../metrics.ts';
import { timePage } from './page-timing.ts';

async function pageLine({ slowMs, tookMs, rows }: { slowMs: number; tookMs: number; rows: number }) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const registry = new Registry();
  const page = Array.from({ length: rows }, (_, n) => ({ id: n + 1, updatedAt: `2026-01-0${n + 1}` }));
  const read = await timePage(
    { metrics: new ItemMetrics(registry), slowMs },
    { list: 'pending', log },
    async () => {
      await sleep(tookMs);
      return page;
    },
  );
  expect(read).toBe(page);
  expect(await registry.metrics()).toContain('sluice_page_seconds_count{list="pending"} 1');
  return lines;
}

test('the boundaries of a page are logged at debug', async () => {
  expect(await pageLine({ slowMs: 60_000, tookMs: 0, rows: 3 })).toMatchObject([
    { level: 20, list: 'pending', rows: 3, first: ['2026-01-01', 1], last: ['2026-01-03', 3] },
  ]);
});

test('a page that took longer than the threshold is a warning with the same boundaries', async () => {
  expect(await pageLine({ slowMs: 5, tookMs: 20, rows: 1 })).toMatchObject([
    { level: 40, msg: 'a page of rows was slow', first: ['2026-01-01', 1], last: ['2026-01-01', 1] },
  ]);
});

test('an empty page has no boundaries', async () => {
  const [line] = await pageLine({ slowMs: 60_000, tookMs: 0, rows: 0 });
  expect(line).toMatchObject({ rows: 0 });
  expect(line).not.toHaveProperty('first');
});
