import { decideRetry, type RetryPolicy } from '../../../src/kernel/jobs/run/retry.ts';

/** The delays of a policy until it gives up, with the jitter's coin showing `random` every time. */
export function delaysOf(policy: RetryPolicy, random = 0.5): number[] {
  const delays: number[] = [];
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const decision = decideRetry(policy, attempt, {}, () => random);
    if (!decision.retry) return delays;
    delays.push(decision.delayMs);
  }
  throw new Error('The policy did not give up within 100 attempts');
}
