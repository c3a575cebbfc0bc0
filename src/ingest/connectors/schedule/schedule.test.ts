import { describe, expect, test } from 'vitest';
import { effectiveCadenceHours, jitterMs, nextTick, replannedTick } from './schedule.ts';

const hourMs = 3_600_000;
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
  const connector = { plan: 'enterprise', cadenceHours: 2, nextSyncAt: at(10) } as const;

  test('is one cadence after this one', () => {
    expect(nextTick(connector, at(10))).toEqual(at(12));
    expect(nextTick(connector, at(10.5))).toEqual(at(12));
  });

  test('after any number of missed ticks is the next in the same rhythm', () => {
    expect(nextTick(connector, at(17.9))).toEqual(at(18));
    expect(nextTick(connector, at(18))).toEqual(at(20));
  });

  test('under another plan counts from the last one, and is never in the past', () => {
    const planned = { plan: 'free', cadenceHours: 2, lastTickAt: at(10), jitter: 0 } as const;
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
