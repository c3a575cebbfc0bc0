import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/run/retry.ts';
import { uploadRetries } from './retries.ts';

/** The delays of a policy until it gives up, when every random number is `random`. */
function delaysOf(policy: RetryPolicy, random = 0.5): number[] {
  const delays: number[] = [];
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const decision = decideRetry(policy, attempt, {}, () => random);
    if (!decision.retry) return delays;
    expect(decision.fromRetryAfter).toBe(false);
    delays.push(decision.delayMs);
  }
  throw new Error('The policy did not give up within 100 attempts');
}

describe('uploads', () => {
  test('wait 1, 2 and 4 s for connections', () => {
    expect(delaysOf(uploadRetries.connection)).toEqual([1_000, 2_000, 4_000]);
  });

  test('wait 100, 200 and 400 ms after deadlocks and for parents in flight', () => {
    expect(delaysOf(uploadRetries.deadlock)).toEqual([100, 200, 400]);
    expect(delaysOf(uploadRetries.parent_in_flight)).toEqual([100, 200, 400]);
  });

  test('wait 60 s five times at rate limits, and an hour-long Retry-After changes nothing', () => {
    expect(delaysOf(uploadRetries.rate_limit)).toEqual([60_000, 60_000, 60_000, 60_000, 60_000]);
    expect(decideRetry(uploadRetries.rate_limit, 0, { retryAfterMs: 3_600_000 })).toMatchObject({
      delayMs: 60_000,
      fromRetryAfter: false,
    });
  });

  test('have no jitter: the delay is the same whatever the random number is', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(random, (drawn) => {
        for (const policy of Object.values(uploadRetries)) {
          expect(delaysOf(policy, drawn)).toEqual(delaysOf(policy));
        }
      }),
    );
  });
});
