import { describe, expect, test } from 'vitest';
import { delaysOf } from '../../../../test/support/probes/retry-delays.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import { type AirbyteProblem, type AirbyteProblemCode, airbyteProblemClasses } from '../airbyte/types.ts';
import { syncFailures } from '../errors.ts';
import { outcomeOf, syncFailedOutcome, syncRetries } from './outcomes.ts';

const job = (retryCount: number) => ({ retryCount }) as Job;
const policy = { retryBaseMs: 60_000 };

function problem(code: AirbyteProblemCode, retryAfterMs: number | null = null): AirbyteProblem {
  return {
    status: 500,
    code,
    class: airbyteProblemClasses[code],
    message: 'what Airbyte said.',
    retryAfterMs,
  };
}

describe('the retry table', () => {
  test('retries server errors and rate limits after 60, 120, 240, 480 and 960 s, then gives up', () => {
    const expected = [60, 120, 240, 480, 960].map((seconds) => seconds * 1000);
    expect(delaysOf(syncRetries.server)).toEqual(expected);
    expect(delaysOf(syncRetries.rate_limit)).toEqual(expected);
    expect(delaysOf(syncRetries.auth)).toEqual([]);
  });

  test.each(['server_error', 'timeout', 'connection_error', 'bad_answer', 'rate_limit'] as const)(
    '%s is retried after 60, 120, 240, 480 and 960 seconds, plus or minus a quarter, and then given up',
    (code) => {
      for (const [attempt, seconds] of [60, 120, 240, 480, 960].entries()) {
        const outcome = outcomeOf(problem(code), job(attempt), policy);
        if (outcome.type !== 'retry') throw new Error(`Attempt ${attempt} is ${outcome.type}`);
        expect(outcome.delayMs).toBeGreaterThanOrEqual(seconds * 750);
        expect(outcome.delayMs).toBeLessThanOrEqual(seconds * 1_250);
      }
      expect(outcomeOf(problem(code), job(5), policy)).toMatchObject({ type: 'dead', failure: { code } });
    },
  );

  test('a retry says that it follows, and a dead letter says what to do', () => {
    expect(outcomeOf(problem('timeout'), job(0), policy)).toMatchObject({
      failure: { message: 'what Airbyte said. It is tried again later.' },
    });
    expect(outcomeOf(problem('timeout'), job(5), policy)).toMatchObject({
      failure: { message: expect.stringContaining('requeue the job') },
    });
    expect(outcomeOf(problem('not_found'), job(0), policy)).toMatchObject({
      failure: { message: 'what Airbyte said.' },
    });
  });

  test('a 429 with Retry-After waits that long, even when the job is brought forward', () => {
    expect(outcomeOf(problem('rate_limit', 7_000), job(0), policy)).toMatchObject({
      type: 'retry',
      delayMs: 7_000,
      notBefore: true,
    });
  });

  test.each(['auth_error', 'forbidden', 'insufficient_credits', 'not_found', 'bad_request'] as const)(
    '%s is a dead letter at once',
    (code) => {
      expect(outcomeOf(problem(code), job(0), policy)).toMatchObject({ type: 'dead' });
    },
  );

  test('a failed sync is retried twice, unless all retries are used up', () => {
    const failed = (failedBefore: number, retryCount: number) =>
      syncFailedOutcome(job(retryCount), { message: 'x', failedBefore, retryBaseMs: 60_000 }).type;
    expect([failed(0, 0), failed(1, 1), failed(2, 2)]).toEqual(['retry', 'retry', 'dead']);
    expect(failed(0, 5)).toBe('dead');
  });

  test('every code that a sync can end with is in the catalogue', () => {
    for (const code of Object.keys(airbyteProblemClasses) as AirbyteProblemCode[]) {
      const outcome = outcomeOf(problem(code), job(9), policy);
      if (outcome.type !== 'dead') throw new Error(`${code} is retried for ever`);
      expect(Object.keys(syncFailures.definitions)).toContain(outcome.failure.code);
    }
  });
});
