import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { nextTick } from '../../src/ingest/own/definitions/schedule.ts';
import { defineTask, openSluice } from '../../src/library.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const place = mkdtempSync(path.join(tmpdir(), 'sluice-schedules-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const reports: string[] = [];
const report = defineTask({
  name: 'report',
  input: z.object({ day: z.string() }),
  schedule: {
    cron: '30 6 * * *',
    timeZone: 'Europe/Berlin',
    tenantId: 'acme',
    input: (tick) => ({ day: tick.toISOString() }),
  },
  run: ({ day }) => {
    reports.push(day);
  },
});

let running = 0;
let most = 0;
const call = defineTask({
  name: 'call',
  input: z.object({ provider: z.string() }),
  concurrency: { key: ({ provider }) => provider, limit: 2 },
  run: async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    running -= 1;
  },
});

const open = () =>
  openSluice({ databaseUrl: database.ownerUrl, dataDir: place, tasks: [report, call], concurrency: 8 });

describe('a schedule', () => {
  test('follows the clock of its time zone over the change to summer time', () => {
    const { schedule } = report;
    const ticks = (from: string) => nextTick(schedule ?? {}, new Date(from))?.toISOString();
    expect(ticks('2026-03-28T12:00:00Z')).toBe('2026-03-29T04:30:00.000Z');
    expect(ticks('2026-03-27T12:00:00Z')).toBe('2026-03-28T05:30:00.000Z');
  });

  test('makes one job for all ticks that were missed, in one process of several', async () => {
    const [one, other] = [await open(), await open()];
    const due = '2026-01-05T05:30:00.000Z';
    await database.owner("update own_pipelines set next_run_at = $1 where name = 'report'", [due]);
    const made = async () =>
      (
        await database.owner<{ n: number }>(
          "select count(*)::int as n from ingestion_jobs where pipeline = 'report'",
        )
      )[0]?.n;
    await expect.poll(made).toBe(1);
    await expect.poll(() => reports).toEqual([due]);
    const [{ next } = { next: new Date(0) }] = await database.owner<{ next: Date }>(
      "select next_run_at as next from own_pipelines where name = 'report'",
    );
    expect(next.getTime()).toBeGreaterThan(Date.now());
    await Promise.all([one.stop(), other.stop()]);
    expect(await made()).toBe(1);
  });

  test.each([
    { every: 10 },
    { every: 60_000, cron: '* * * * *' },
    {},
    { cron: '61 * * * *' },
    { cron: '0 6 * * *', timeZone: 'Europe/Nowhere' },
  ])('that cannot be read is refused where it is written: %j', (schedule) => {
    const make = () => defineTask({ name: 'a', input: z.object({}), schedule, run: () => {} });
    expect(make).toThrow(/the schedule of task a/);
  });
});

test('jobs of one concurrency key run at most so many at a time, over all processes, and all of them run', async () => {
  const sluices = [await open(), await open()];
  const dispatched = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      sluices[n % 2]?.dispatch('call', { provider: 'one' }, { tenantId: 'acme' }),
    ),
  );
  for (const made of dispatched) {
    expect(await sluices[0]?.wait('acme', made?.jobId ?? '')).toMatchObject({ status: 'success' });
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2);
  await Promise.all(sluices.map((sluice) => sluice.stop()));
});
