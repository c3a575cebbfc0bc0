import { expect, test } from 'vitest';
import { itemStatuses } from './item-status.ts';
import { isServed, orderOptions, orderQuery } from './row-order.ts';

test('only orders are offered that the server has for these states', () => {
  const offered = (statuses: Parameters<typeof orderOptions>[0]) =>
    orderOptions(statuses).map(({ value }) => value);
  expect(offered(undefined)).toEqual(['', '-rowNo', 'status', '-attempts']);
  expect(offered(['PENDING'])).toEqual([
    '',
    'status',
    '-attempts',
    '-updatedAt',
    'updatedAt',
    'nextAttemptAt',
  ]);
  expect(offered(['ERROR', 'NOT_FOUND'])).toContain('errorCode');
  expect(offered(['ERROR', 'DONE'])).not.toContain('updatedAt');
  expect(isServed('updatedAt', [...itemStatuses])).toBe(false);
});

test('rows by their tries are those that were tried more than once', () => {
  expect(orderQuery('-attempts')).toEqual({ sort: '-attempts', minAttempts: 2 });
  expect(orderQuery('errorCode')).toEqual({ sort: 'errorCode' });
  expect(orderQuery(undefined)).toEqual({});
});
