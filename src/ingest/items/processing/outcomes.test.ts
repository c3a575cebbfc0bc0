import { expect, test } from 'vitest';
import { itemBounds } from '../../../../test/support/worlds/item-bounds.ts';
import { changeOf } from './outcomes.ts';
import type { ItemOutcome } from './processors/types.ts';

const bounds = { maxAttemptsError: 3, maxAttemptsNotFound: 2 };
const change = (outcome: ItemOutcome, attempts: number) =>
  changeOf({ id: 1, attempts }, outcome, bounds, () => 0.5);
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
  expect(change(notFound(), 2)).toMatchObject({ status: 'NOT_FOUND', resultJson: '{"candidates":[]}' });
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
    [1, 2, 3, 4, 5].map(
      (attempts) => changeOf({ id: 1, attempts }, outcome, itemBounds, () => random).delayMs,
    );
  expect(delays(failed, 0.5)).toEqual([1_000, 2_000, 4_000, 8_000, null]);
  expect(delays(failed, 0)).toEqual([750, 1_500, 3_000, 6_000, null]);
  expect(delays(notFound(), 0.5)).toEqual([300_000, null, null, null, null]);
});
