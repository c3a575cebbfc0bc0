import { expect, test } from 'vitest';
import { itemBounds } from '../../../../test/support/worlds/item-bounds.ts';
import { changeOf } from './outcomes.ts';
import type { ItemOutcome } from './processors/types.ts';

const bounds = { maxAttemptsError: 3, maxAttemptsNotFound: 2, maxAttemptsThrottled: 15 };
const change = (
  outcome: ItemOutcome,
  attempts: number,
  before: { throttled?: number; notFound?: number } = {},
) => changeOf({ id: 1, attempts, ...before }, outcome, bounds, () => 0.5);
const notFound = (retry?: 'at_once' | 'never'): ItemOutcome => ({
  status: 'NOT_FOUND',
  reason: 'nothing',
  result: { candidates: [] },
  ...(retry ? { retry } : {}),
});

test('an item that was not found waits before the next strategy, and ends when its attempts are used up', () => {
  expect(change(notFound(), 1)).toMatchObject({
    status: 'PENDING',
    nextStrategy: true,
    retryClass: 'not_found',
  });
  expect(change(notFound(), 1).delayMs).toBeGreaterThan(60_000);
  expect(change(notFound(), 2, { notFound: 1 })).toMatchObject({
    status: 'NOT_FOUND',
    resultJson: '{"candidates":[]}',
  });
});

test('crashes, failures and throttled calls use up nothing of what a row has for not being found', () => {
  expect(change(notFound(), 9)).toMatchObject({ status: 'PENDING', retryClass: 'not_found' });
  expect(change(notFound(), 9, { throttled: 4, notFound: 1 })).toMatchObject({ status: 'NOT_FOUND' });
});

test('a throttled call is a retry of its own class, and comes to an end', () => {
  const throttled: ItemOutcome = { status: 'ERROR', code: 't', message: '429', class: 'throttled' };
  const first = change(throttled, 1);
  expect(first).toMatchObject({ status: 'PENDING', retryClass: 'throttled', givesAttemptBack: false });
  expect(first).toMatchObject({ nextStrategy: false, waitingFor: 'throttled' });
  expect(change({ ...throttled, retryAfterMs: 7_000 }, 1).delayMs).toBe(7_000);
  expect(change(throttled, 14, { throttled: 13 })).toMatchObject({ status: 'PENDING' });
  expect(change(throttled, 15, { throttled: 14 })).toMatchObject({ status: 'ERROR', errorCode: 't' });
  const failed: ItemOutcome = { status: 'ERROR', code: 'f', message: '503', class: 'transient' };
  expect(change(failed, 12, { throttled: 10 })).toMatchObject({ status: 'PENDING', waitingFor: 'retry' });
  expect(change(failed, 13, { throttled: 10 })).toMatchObject({ status: 'ERROR', errorCode: 'f' });
});

test('a processor that has another strategy ready is retried at once, however many attempts that takes', () => {
  for (const attempts of [1, 2, 5]) {
    const next = { status: 'PENDING', delayMs: 0, nextStrategy: true, resultJson: null };
    expect(change(notFound('at_once'), attempts)).toMatchObject(next);
  }
});

test('a processor that rules out a retry is not called again', () => {
  expect(change(notFound('never'), 1)).toMatchObject({
    status: 'NOT_FOUND',
    delayMs: null,
    retryClass: null,
  });
});

test('an error is retried with the next strategy, unless the processor asks for the same one', () => {
  const error = { status: 'ERROR', code: 'broken', message: 'broken', class: 'transient' } as const;
  expect(change(error, 1)).toMatchObject({ status: 'PENDING', nextStrategy: true });
  expect(change({ ...error, keepsStrategy: true }, 1)).toMatchObject({
    status: 'PENDING',
    nextStrategy: false,
  });
});

test('with the usual bounds an item is tried five times with jitter, and one that is not found twice', () => {
  const failed: ItemOutcome = { status: 'ERROR', code: 'x', message: 'x', class: 'transient' };
  const delays = (outcome: ItemOutcome, random: number) =>
    [1, 2, 3, 4, 5].map((attempts) => {
      const item = { id: 1, attempts, notFound: outcome.status === 'NOT_FOUND' ? attempts - 1 : 0 };
      return changeOf(item, outcome, itemBounds, () => random).delayMs;
    });
  expect(delays(failed, 0.5)).toEqual([500, 1_000, 2_000, 4_000, null]);
  expect(delays(failed, 0)).toEqual([375, 750, 1_500, 3_000, null]);
  expect(delays(notFound(), 0.5)).toEqual([300_000, null, null, null, null]);
});
