import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { delaysOf } from '../../../../test/support/probes/retry-delays.ts';
import { decideRetry, type RetryPolicy, unexpectedRetries } from './retry.ts';

const backoff = { type: 'exponential', baseMs: 60_000, capMs: 3_600_000, jitter: 0.25 } as const;
const server: RetryPolicy = { maxRetries: 5, delay: backoff };
const rateLimit: RetryPolicy = { ...server, honoursRetryAfter: true };
const never: RetryPolicy = { maxRetries: 0, delay: { type: 'none' } };

const seconds = (...values: number[]) => values.map((value) => value * 1000);
/** Math.random's range: 1 is never reached. */
const coin = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('exponential backoff', () => {
  test('doubles its delay each time and then gives up', () => {
    expect(delaysOf(server)).toEqual(seconds(60, 120, 240, 480, 960));
    expect(delaysOf(rateLimit)).toEqual(seconds(60, 120, 240, 480, 960));
  });

  test('shifts each delay by up to a quarter, both ways, and reaches both ends', () => {
    expect(delaysOf(server, 0)).toEqual(seconds(45, 90, 180, 360, 720));
    expect(delaysOf(server, 1 - Number.EPSILON)).toEqual(seconds(75, 150, 300, 600, 1200));
    fc.assert(
      fc.property(fc.nat({ max: 4 }), coin, (attempt, random) => {
        const decision = decideRetry(server, attempt, {}, () => random);
        const exact = 60_000 * 2 ** attempt;
        expect(decision).toEqual({ retry: true, fromRetryAfter: false, delayMs: expect.any(Number) });
        const { delayMs } = decision as { delayMs: number };
        expect(Math.abs(delayMs - exact)).toBeLessThanOrEqual(exact / 4);
        expect(delayMs).toBe(Math.round(exact * (0.75 + random / 2)));
      }),
    );
  });

  test('never waits longer than its cap, jitter included, whatever the attempt', () => {
    const patient: RetryPolicy = { ...server, maxRetries: 1_000 };
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999 }), coin, (attempt, random) => {
        const { delayMs } = decideRetry(patient, attempt, {}, () => random) as { delayMs: number };
        expect(delayMs).toBeLessThanOrEqual(3_600_000);
        if (attempt >= 7) expect(delayMs).toBe(3_600_000);
      }),
    );
    expect(decideRetry(patient, 6, {}, () => 0)).toMatchObject({ delayMs: 2_880_000 });
    expect(decideRetry(patient, 6, {}, () => 0.9)).toMatchObject({ delayMs: 3_600_000 });
  });

  test('a policy without retries never retries, whatever the upstream says', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 }), fc.nat(), (attempt, retryAfterMs) => {
        expect(decideRetry(never, attempt, { retryAfterMs })).toEqual({ retry: false });
      }),
    );
  });
});

test('an unforeseen error is retried three times', () => {
  expect(delaysOf(unexpectedRetries.bug)).toEqual(seconds(1, 2, 4));
});

describe('Retry-After', () => {
  test('replaces the backoff exactly, without jitter, up to the cap, and uses an attempt', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), fc.nat({ max: 4 }), coin, (retryAfterMs, attempt, random) => {
        expect(decideRetry(rateLimit, attempt, { retryAfterMs }, () => random)).toEqual({
          retry: true,
          delayMs: Math.min(retryAfterMs, 3_600_000),
          fromRetryAfter: true,
        });
      }),
    );
    expect(decideRetry(rateLimit, 5, { retryAfterMs: 1 })).toEqual({ retry: false });
    expect(decideRetry(rateLimit, 0, { retryAfterMs: -5 })).toMatchObject({ delayMs: 0 });
    const endless = { retryAfterMs: Number.POSITIVE_INFINITY };
    expect(decideRetry(rateLimit, 0, endless)).toMatchObject({ delayMs: 3_600_000 });
  });

  test('does not touch classes that do not honour it', () => {
    expect(decideRetry(server, 0, { retryAfterMs: 1 }, () => 0.5)).toMatchObject({
      delayMs: 60_000,
      fromRetryAfter: false,
    });
  });
});
