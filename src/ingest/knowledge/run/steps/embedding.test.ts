import { expect, test } from 'vitest';
import { decideRetry, type RetryPolicy } from '../../../../kernel/jobs/run/retry.ts';
import { chunkRetries } from './embedding.ts';

/** The delays of a policy until it gives up. */
function delaysOf(policy: RetryPolicy): number[] {
  return Array.from({ length: 100 }, (_, attempt) => decideRetry(policy, attempt)).flatMap((decision) =>
    decision.retry ? [decision.delayMs] : [],
  );
}

test('a chunk is tried three times, 4 s and 8 s apart, and never more than 60 s apart', () => {
  expect(delaysOf(chunkRetries)).toEqual([4_000, 8_000]);
  // The rule behind the two numbers is min(2^attempt * 2, 60) s with attempts from 1.
  expect(delaysOf({ ...chunkRetries, maxRetries: 10 })).toEqual(
    Array.from({ length: 10 }, (_, n) => Math.min(2 ** (n + 1) * 2, 60) * 1000),
  );
});
