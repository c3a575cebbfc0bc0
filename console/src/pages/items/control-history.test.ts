import { expect, test } from 'vitest';
import type { Event } from '../../api/types.ts';
import {
  claimSeries,
  ingestSeries,
  providerSeries,
  reasonsOf,
  sliceSeries,
  toldBy,
} from './control-history.ts';

const event = (second: number, controllers?: object): Event =>
  ({ time: new Date(second * 1_000).toISOString(), data: { counts: {}, controllers } }) as unknown as Event;

const claim = (items: number, reason: string) => ({ items, avgItemMs: 2, targetMs: 5_000, reason });
const told = toldBy([
  event(1),
  event(2, { claim: claim(8, 'start') }),
  event(3, {
    claim: claim(32, '2.10 ms per item, growing back'),
    providers: [{ provider: 'shop', concurrency: 4, delayMs: 0, reason: 'r' }],
  }),
  event(4, {
    claim: claim(32, '2.30 ms per item, growing back'),
    providers: [{ provider: 'shop', concurrency: 2, delayMs: 80, reason: 'r' }],
  }),
]);

test('events without controller values are left out, and the others become points in time', () => {
  expect(claimSeries(told)[0]?.points).toEqual([
    { at: 2_000, value: 8 },
    { at: 3_000, value: 32 },
    { at: 4_000, value: 32 },
  ]);
  const [taken, target] = sliceSeries(told);
  expect(taken?.points.map(({ value }) => value)).toEqual([16, 64, 64]);
  expect(target).toMatchObject({ isTarget: true, points: [{ value: 5_000 }, {}, {}] });
});

test('each provider has its own lines', () => {
  expect(providerSeries(told)).toMatchObject([
    {
      provider: 'shop',
      concurrency: [{ points: [{ value: 4 }, { value: 2 }] }],
      delay: [{ points: [{ value: 0 }, { value: 80 }] }],
    },
  ]);
});

test('a reason is listed once, newest first, although its numbers change', () => {
  expect(reasonsOf(told)).toEqual([
    { at: 3_000, items: 32, reason: '2.10 ms per item, growing back' },
    { at: 2_000, items: 8, reason: 'start' },
  ]);
});

test('an ingest is drawn from the creation of its job, and an old job has no such line', () => {
  const createdAt = new Date(10_000).toISOString();
  const ingest = { reason: 'r', targetMs: 50, history: [[5, 64, 3.5], [9, 128, 4], 'odd'] };
  expect(ingestSeries({ createdAt, controllers: { ingest } })).toMatchObject({
    sizes: [
      {
        points: [
          { at: 10_005, value: 64 },
          { at: 10_009, value: 128 },
        ],
      },
    ],
    latencies: [
      { points: [{ value: 3.5 }, { value: 4 }] },
      { isTarget: true, points: [{ value: 50 }, { value: 50 }] },
    ],
  });
  expect(ingestSeries({ createdAt, controllers: { ingest: { reason: 'r' } } })).toBeNull();
});
