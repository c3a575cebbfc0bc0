import fc from 'fast-check';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { newId } from '../../lib/ids.ts';
import { Database } from '../../lib/postgres/db.ts';
import { LimitMetrics } from './metrics.ts';
import { RateLimits } from './rate-limits.ts';
import type { Reservation, ReservationAnswer } from './types.ts';

const database = useDatabase();
const registry = new Registry();
const metrics = new LimitMetrics(registry);
let pools: Database[] = [];

beforeAll(() => {
  // Five processes with a connection each, as far as the database can tell.
  pools = Array.from(
    { length: 5 },
    () => new Database({ url: database.appUrl, applicationName: 'limits', maxConnections: 1 }),
  );
});
afterAll(() => Promise.all(pools.map((pool) => pool.close())));

function limits(index = 0): RateLimits {
  return new RateLimits({ db: pools[index % pools.length] ?? database.db, metrics });
}

const granted = (answers: ReservationAnswer[]) => answers.filter((answer) => answer.granted).length;

async function momentsOf(key: string): Promise<number[]> {
  const rows = await database.owner<{ ms: number }>(
    'select extract(epoch from m)::float8 * 1000 as ms from rate_limits, unnest(moments) m where key = $1 order by m',
    [key],
  );
  return rows.map(({ ms }) => ms);
}

/** What the windows promise, without a database: a grant at `nowMs`, or how long until there is room. */
function modelWaitMs(
  moments: number[],
  { nowMs, limit, windowMs }: { nowMs: number } & Omit<Reservation, 'key'>,
) {
  const inWindow = moments.filter((moment) => moment > nowMs - windowMs).sort((a, b) => a - b);
  const freeing = inWindow[inWindow.length - limit];
  return freeing === undefined ? 0 : freeing + windowMs - nowMs;
}

function fullestWindow(moments: number[], windowMs: number): number {
  const counts = moments.map((end) => moments.filter((m) => m > end - windowMs && m <= end).length);
  return Math.max(0, ...counts);
}

describe('the model of a window', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 80 });
  const shape = { limit: fc.integer({ min: 1, max: 6 }), windowMs: fc.integer({ min: 1, max: 200 }) };

  test('never holds more than the limit, grants whenever it has room, and is right about the wait', () => {
    fc.assert(
      fc.property(arrivals, fc.record(shape), (gaps, window) => {
        const grants: number[] = [];
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          const waitMs = modelWaitMs(grants, { ...window, nowMs });
          const recent = grants.filter((moment) => moment > nowMs - window.windowMs).length;
          expect(waitMs === 0).toBe(recent < window.limit);
          if (waitMs === 0) grants.push(nowMs);
          else {
            expect(modelWaitMs(grants, { ...window, nowMs: nowMs + waitMs })).toBe(0);
            expect(modelWaitMs(grants, { ...window, nowMs: nowMs + waitMs - 1 })).toBe(1);
          }
        }
        expect(fullestWindow(grants, window.windowMs)).toBeLessThanOrEqual(window.limit);
      }),
    );
  });

  test('is what the database computes', async () => {
    const moments = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 20 });
    const windows = fc.sample(
      fc.record({ ...shape, moments, nowMs: fc.integer({ min: 900, max: 1_200 }) }),
      500,
    );
    const rows = await database.owner<{ wait: number }>(
      `select extract(epoch from rate_limit_wait(
                array(select to_timestamp(m::numeric / 1000) from jsonb_array_elements_text(w -> 'moments') m),
                to_timestamp((w ->> 'nowMs')::numeric / 1000), (w ->> 'limit')::integer,
                (w ->> 'windowMs')::integer * interval '1 millisecond'))::float8 * 1000 as wait
         from jsonb_array_elements($1::jsonb) with ordinality as t (w, n)
        order by n`,
      [JSON.stringify(windows)],
    );
    expect(rows.map(({ wait }) => Math.round(wait))).toEqual(
      windows.map((window) => modelWaitMs(window.moments, window)),
    );
    expect(new Set(rows.map(({ wait }) => wait > 0))).toEqual(new Set([true, false]));
  });
});

describe('reserving', () => {
  test('fifty callers on five connections get exactly the limit of ten', async () => {
    const key = `racing:${newId()}`;
    const before = (await metrics.rateLimitWaits.get()).values[0]?.value ?? 0;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => limits(index).reserve({ key, limit: 10, windowMs: 60_000 })),
    );
    expect(granted(answers)).toBe(10);
    for (const answer of answers) {
      if (answer.granted) continue;
      expect(answer.retryInMs).toBeGreaterThan(50_000);
      expect(answer.retryInMs).toBeLessThanOrEqual(60_000);
    }
    expect(((await metrics.rateLimitWaits.get()).values[0]?.value ?? 0) - before).toBe(40);
  });

  test('over time no window ever holds more than the limit, and waiting as told is enough', async () => {
    const key = `sliding:${newId()}`;
    const window = { limit: 4, windowMs: 120 };
    const grants: number[] = [];
    const caller = async (index: number) => {
      for (let turn = 0; turn < 6; turn += 1) {
        const answer = await limits(index).reserve({ key, ...window });
        if (answer.granted) grants.push(...(await momentsOf(key)).slice(-window.limit));
        else await new Promise((resolve) => setTimeout(resolve, answer.retryInMs));
      }
    };
    await Promise.all(Array.from({ length: 5 }, (_, index) => caller(index)));
    const moments = [...new Set(grants)].sort((a, b) => a - b);
    expect(moments.length).toBeGreaterThan(window.limit);
    expect(fullestWindow(moments, window.windowMs)).toBeLessThanOrEqual(window.limit);
    await eventually(
      async () => (await limits().reserve({ key, ...window })).granted,
      'a place becomes free when the window has moved on',
    );
  });

  test('the wait is exact: asking again after it succeeds at once', async () => {
    const window = { key: `exact:${newId()}`, limit: 1, windowMs: 150 };
    expect(await limits().reserve(window)).toEqual({ granted: true });
    let waitMs = 0;
    await eventually(async () => {
      // On a busy machine the window may have passed before the second one asks; that one has begun a new one then.
      const second = await limits(1).reserve(window);
      if (!second.granted) waitMs = second.retryInMs;
      return !second.granted;
    }, 'a second reservation is refused');
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(150);
    await new Promise((resolve) => setTimeout(resolve, waitMs + 1));
    expect(await limits(1).reserve(window)).toEqual({ granted: true });
  });

  test('a lowered limit counts what was granted under the higher one', async () => {
    const key = `lowered:${newId()}`;
    for (let n = 0; n < 5; n += 1) await limits().reserve({ key, limit: 5, windowMs: 60_000 });
    expect(await limits().reserve({ key, limit: 2, windowMs: 60_000 })).toMatchObject({ granted: false });
    expect(await limits().reserve({ key, limit: 6, windowMs: 60_000 })).toEqual({ granted: true });
  });

  test.each([
    [[]],
    [[{ key: 'a', limit: 0, windowMs: 1 }]],
    [[{ key: 'a', limit: 1_001, windowMs: 1 }]],
    [[{ key: 'a', limit: 1.5, windowMs: 1 }]],
    [[{ key: '', limit: 1, windowMs: 1 }]],
    [[{ key: 'a', limit: 1, windowMs: 0 }]],
    [
      [
        { key: 'a', limit: 1, windowMs: 1 },
        { key: 'a', limit: 2, windowMs: 1 },
      ],
    ],
  ] as Reservation[][][])('%j is refused as impossible', async (reservations) => {
    await expect(limits().reserveAll(reservations)).rejects.toMatchObject({ code: 'impossible_limit' });
  });

  test('the longest list of moments, a thousand, is kept', async () => {
    const window = { key: `large:${newId()}`, limit: 1_000, windowMs: 600_000 };
    await database.owner(
      `insert into rate_limits (key, moments, expires_at)
       select $1, array_agg(clock_timestamp() - n * interval '1 millisecond'), clock_timestamp() + interval '1 hour'
         from generate_series(1, 999) n`,
      [window.key],
    );
    expect(await limits().reserve(window)).toEqual({ granted: true });
    expect(await limits().reserve(window)).toMatchObject({ granted: false });
    expect(await momentsOf(window.key)).toHaveLength(1_000);
  });
});

describe('reserving two windows at once', () => {
  test('twenty callers in both orders get all or nothing, and never wait for each other', async () => {
    const connector = { key: `connector:${newId()}`, limit: 7, windowMs: 60_000 };
    const account = { key: `account:${newId()}`, limit: 5, windowMs: 60_000 };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        limits(index).reserveAll(index % 2 === 0 ? [connector, account] : [account, connector]),
      ),
    );
    expect(granted(answers)).toBe(5);
    expect(await momentsOf(connector.key)).toHaveLength(5);
    expect(await momentsOf(account.key)).toHaveLength(5);
  });

  test('a refusal by one takes nothing from the other, and tells the longer wait', async () => {
    const short = { key: `short:${newId()}`, limit: 1, windowMs: 1_000 };
    const long = { key: `long:${newId()}`, limit: 1, windowMs: 60_000 };
    const free = { key: `free:${newId()}`, limit: 1, windowMs: 60_000 };
    await limits().reserve(short);
    await limits().reserve(long);
    const answer = await limits().reserveAll([short, free, long]);
    expect(answer).toMatchObject({ granted: false });
    if (!answer.granted) expect(answer.retryInMs).toBeGreaterThan(50_000);
    expect(await limits().reserve(free)).toEqual({ granted: true });
  });

  test('races with the purge lose no grant and end in no deadlock', async () => {
    const keys = Array.from({ length: 4 }, () => `purged:${newId()}`);
    const windows = keys.map((key) => ({ key, limit: 1_000, windowMs: 60_000 }));
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        if (index % 5 === 0) await limits(index).purgeExpired(100);
        return limits(index).reserveAll(index % 2 === 0 ? windows : [...windows].reverse());
      }),
    );
    expect(granted(answers)).toBe(100);
    for (const key of keys) expect(await momentsOf(key)).toHaveLength(100);
  });
});

test('the purge deletes only windows that have passed, and no more than it was told', async () => {
  const mine = `purge:${newId()}`;
  for (let n = 0; n < 3; n += 1) await limits().reserve({ key: `${mine}:${n}`, limit: 1, windowMs: 1 });
  await limits().reserve({ key: `${mine}:live`, limit: 1, windowMs: 60_000 });
  const expired = async () => {
    const rows = await database.owner<{ key: string }>(
      'select key from rate_limits where expires_at < clock_timestamp()',
    );
    return rows.length;
  };
  await eventually(async () => (await expired()) >= 3, 'the short windows pass');
  const before = await expired();
  expect(await limits().purgeExpired(2)).toBe(2);
  expect(await limits().purgeExpired(1_000)).toBeGreaterThanOrEqual(before - 2);
  expect(await limits().reserve({ key: `${mine}:live`, limit: 1, windowMs: 60_000 })).toMatchObject({
    granted: false,
  });
});
