import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { databaseErrors } from '../../../lib/postgres/db-errors.ts';
import { scrapeErrors } from '../errors.ts';
import { scrapeSettings } from '../settings.ts';
import { delayBefore, isTransient, withAttempts } from './retry.ts';

const policy = { maxAttempts: 3, retryBaseMs: 0 };

describe('an error', () => {
  test.each([
    databaseErrors.raise.database_unavailable('away'),
    databaseErrors.raise.query_timeout('slow'),
    databaseErrors.raise.write_conflict('in the way'),
    jobErrors.raise.quota_exceeded('too many'),
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    new Error('Connection terminated unexpectedly'),
    new Error('The request timed out'),
    new Error('Rate limit exceeded'),
    new Error('upstream answered 503'),
  ])('an error that is transient is retried: %s', (error) => {
    expect(isTransient(error)).toBe(true);
  });

  test.each([
    scrapeErrors.raise.scrape_kb_missing('not there'),
    Object.assign(new Error('duplicate key value'), { code: '23505' }),
    new Error('something else'),
    null,
  ])('an error that is permanent is not retried: %s', (error) => {
    expect(isTransient(error)).toBe(false);
  });
});

describe('attempts', () => {
  test('end with the first success', async () => {
    const seen: number[] = [];
    const value = await withAttempts(policy, async (attempt) => {
      seen.push(attempt);
      if (attempt < 3) throw databaseErrors.raise.database_unavailable('away');
      return 'done';
    });
    expect({ value, seen }).toEqual({ value: { kind: 'done', value: 'done' }, seen: [1, 2, 3] });
  });

  test('are used up by transient errors, and only one is made for a permanent error', async () => {
    const failWith = (error: Error) => withAttempts(policy, () => Promise.reject(error));
    const away = databaseErrors.raise.database_unavailable('away');
    expect(await failWith(away)).toMatchObject({ attempts: 3, reasonCode: 'retry_exhausted', cause: away });
    const wrong = new Error('wrong');
    expect(await failWith(wrong)).toEqual({
      kind: 'given_up',
      attempts: 1,
      reasonCode: 'not_transient',
      cause: wrong,
    });
  });

  test('wait twice as long each time, and not at all by default', () => {
    expect([1, 2, 3].map((attempt) => delayBefore(attempt, { retryBaseMs: 100 }))).toEqual([100, 200, 400]);
    expect(delayBefore(3, { retryBaseMs: 0 })).toBe(0);
  });

  test('are three at once by default, or base * 2^(attempt-1) apart when a base is set', () => {
    const delaysOf = (retryBaseMs: number) => [1, 2].map((attempt) => delayBefore(attempt, { retryBaseMs }));
    const { handoffMaxAttempts, handoffRetryBaseMs } = scrapeSettings;
    expect(handoffMaxAttempts.default).toBe(3);
    expect(delaysOf(Number(handoffRetryBaseMs.default))).toEqual([0, 0]);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), (baseMs) => {
        expect(delaysOf(baseMs)).toEqual([baseMs, baseMs * 2]);
      }),
    );
  });
});
