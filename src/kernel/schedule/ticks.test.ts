import { describe, expect, test } from 'vitest';
import { cronProblem, leastGapMs } from './cron.ts';
import { effectiveCadenceHours, jitterMs, nextTick, previewTicks, replannedTick } from './ticks.ts';

const hourMs = 3_600_000;
const byCadence = { cron: null, timeZone: 'UTC', jitter: 0 };
const at = (hours: number) => new Date(Date.UTC(2026, 7, 1) + hours * hourMs);

describe('the effective cadence', () => {
  test('is the configured one, but never below the plan’s minimum', () => {
    expect(effectiveCadenceHours({ plan: 'free', cadenceHours: null })).toBe(24);
    expect(effectiveCadenceHours({ plan: 'growth', cadenceHours: null })).toBe(6);
    expect(effectiveCadenceHours({ plan: 'enterprise', cadenceHours: 2 })).toBe(2);
    expect(effectiveCadenceHours({ plan: 'free', cadenceHours: 1 })).toBe(24);
    expect(effectiveCadenceHours({ plan: 'growth', cadenceHours: 12 })).toBe(12);
  });
});

describe('the next tick', () => {
  const connector = {
    ...byCadence,
    plan: 'enterprise',
    cadenceHours: 2,
    dueAt: at(10),
    lastTickAt: at(8),
  } as const;

  test('is one cadence after this one', () => {
    expect(nextTick(connector, at(10))).toEqual(at(12));
    expect(nextTick(connector, at(10.5))).toEqual(at(12));
  });

  test('after any number of missed ticks is the next in the same rhythm', () => {
    expect(nextTick(connector, at(17.9))).toEqual(at(18));
    expect(nextTick(connector, at(18))).toEqual(at(20));
  });

  test('under another plan counts from the last one, and is never in the past', () => {
    const planned = { ...byCadence, plan: 'free', cadenceHours: 2, lastTickAt: at(10) } as const;
    expect(replannedTick(planned, at(11))).toEqual(at(34));
    expect(replannedTick({ ...planned, plan: 'enterprise' }, at(20))).toEqual(at(20));
  });
});

describe('the jitter', () => {
  test('is at most a tenth of the cadence, and at most half an hour', () => {
    expect(jitterMs({ plan: 'enterprise', cadenceHours: 1, jitter: 1 })).toBe(hourMs / 10);
    expect(jitterMs({ plan: 'free', cadenceHours: null, jitter: 1 })).toBe(hourMs / 2);
    expect(jitterMs({ plan: 'free', cadenceHours: null, jitter: 0 })).toBe(0);
  });
});

describe('a cron expression', () => {
  const weekdays = { cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin', cadenceHours: null, jitter: 0 };
  const enterprise = { ...weekdays, plan: 'enterprise' } as const;
  const times = (ticks: Date[]) => ticks.map((tick) => tick.toISOString());

  test('has its ticks in its time zone, also when clocks change', () => {
    // The clocks of Berlin go back on Sunday, 25 October 2026.
    const now = new Date('2026-10-22T12:00:00Z');
    expect(times(previewTicks(enterprise, { now, count: 3 }))).toEqual([
      '2026-10-23T04:00:00.000Z',
      '2026-10-26T05:00:00.000Z',
      '2026-10-27T05:00:00.000Z',
    ]);
  });

  test('makes one run of missed ticks, and goes on in its rhythm', () => {
    const hourly = { ...enterprise, cron: '0 * * * *', timeZone: 'UTC' };
    const late = { ...hourly, dueAt: at(1), lastTickAt: at(0) };
    expect(nextTick(late, at(7.5))).toEqual(at(9));
    expect(nextTick({ ...late, jitter: 0.5 }, at(7.02)).getTime() - at(8).getTime()).toBe(30_000);
  });

  test('is widened by a plan that allows less', () => {
    const hourly = { ...weekdays, cron: '0 * * * *', timeZone: 'UTC', plan: 'growth' } as const;
    const tick = replannedTick({ ...hourly, lastTickAt: at(10) }, at(11));
    expect(tick.getTime()).toBeGreaterThanOrEqual(at(15).getTime());
    expect(tick.getTime()).toBeLessThanOrEqual(at(16).getTime());
  });

  test('keeps its daily tick on the day that has 23 hours', () => {
    // The clocks of Berlin go forward on Sunday, 29 March 2026.
    const daily = { ...weekdays, cron: '0 6 * * *', plan: 'free' } as const;
    const lastTickAt = new Date('2026-03-28T05:00:40Z');
    expect(nextTick({ ...daily, dueAt: lastTickAt, lastTickAt }, lastTickAt).toISOString()).toBe(
      '2026-03-29T04:00:00.000Z',
    );
  });

  test.each([
    ['0 6 * * *', 24],
    ['0 */6 * * *', 6],
    ['*/15 * * * *', 0.25],
    ['0 6,7 * * *', 1],
  ])('%s has a shortest time between two ticks', (cron, hours) => {
    expect(leastGapMs({ cron }, at(0)) / hourMs).toBe(hours);
  });

  test.each([
    ['0 6 * *', 'UTC', 'five fields'],
    ['0 0 6 * * *', 'UTC', 'five fields'],
    ['61 * * * *', 'UTC', 'five fields'],
    ['0 6 * * *', 'Mars/Olympus', 'time zone'],
    ['0 0 31 2 *', 'UTC', 'no date'],
  ])('%s in %s is refused with a reason', (cron, timeZone, reason) => {
    expect(cronProblem({ cron, timeZone })).toContain(reason);
  });
});
