import { describe, expect, test } from 'vitest';
import { findUnusualSpend } from './spend-history.ts';

const days = (count: number, spend: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => ({
    day: new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10),
    currency: 'EUR',
    spend: spend(at),
  }));
const today = (spend: string, currency = 'EUR') => [{ day: '2026-04-01', currency, spend }];

describe('spend far outside the history of the account', () => {
  test.each([
    ['a hundred times as much, as with a lost decimal mark', '10000'],
    ['ten times as much', '1000'],
  ])('is %s', (_what, spend) => {
    const found = findUnusualSpend({
      history: days(60, (at) => String(90 + (at % 21))),
      stated: today(spend),
    });
    expect(found).toMatchObject([{ code: 'spend_outlier', count: 1 }]);
    expect(found[0]?.message).toContain('2026-04-01');
    expect(found[0]?.message).toContain('EUR');
  });

  test.each([
    ['an ordinary day', '104'],
    ['twice as much, as on a day of sales', '210'],
    ['next to nothing: the file may hold one campaign of many', '1'],
  ])('is not %s', (_what, spend) => {
    const history = days(60, (at) => String(90 + (at % 21)));
    expect(findUnusualSpend({ history, stated: today(spend) })).toEqual([]);
  });

  test('is not judged by fewer than 14 days, or by those of another currency', () => {
    expect(findUnusualSpend({ history: days(13, () => '100'), stated: today('100000') })).toEqual([]);
    expect(findUnusualSpend({ history: days(60, () => '100'), stated: today('100000', 'JPY') })).toEqual([]);
  });

  test('is found where every day before was the same, and one day before was an outlier itself', () => {
    const history = days(30, (at) => (at === 7 ? '90000' : '100'));
    expect(findUnusualSpend({ history, stated: today('900') })).toHaveLength(1);
    expect(findUnusualSpend({ history, stated: today('105') })).toEqual([]);
  });

  test('counts the days and shows the first of them', () => {
    const stated = days(5, () => '5000').map((each, at) => ({ ...each, day: `2026-05-0${at + 1}` }));
    const [warning] = findUnusualSpend({ history: days(60, () => '100'), stated });
    expect(warning).toMatchObject({ count: 5 });
    expect(warning?.message).toContain('2026-05-01');
  });
});
