import { expect, test } from 'vitest';
import { noSums } from '../reconciliation/figure-sums.ts';
import { verdictOn } from './threshold.ts';

type Counts = Record<string, number>;

/** The message for an upload with these problems by field and code. */
function words({ valid, invalid }: { valid: number; invalid: number }, problems: Counts = {}): string {
  const verdict = verdictOn(
    {
      totalRows: valid + invalid,
      validRows: valid,
      invalidRows: invalid,
      warnings: [],
      problems: Object.entries(problems).map(([code, count]) => ({ code, count, message: 'Say it.' })),
      sums: noSums,
    },
    { forcePartial: false },
  );
  return verdict?.message ?? '';
}

test('singular and plural follow the number of rows', () => {
  expect(words({ valid: 0, invalid: 1 })).toBe('The only row is not valid.');
  expect(words({ valid: 0, invalid: 2 })).toBe('None of the 2 rows is valid.');
  expect(words({ valid: 1, invalid: 1 })).toMatch(
    /^Only 1 of 2 rows \(50 %\) is valid, .*; 1 was refused\..*Correct it, or send/,
  );
  expect(words({ valid: 2, invalid: 2 })).toMatch(
    /^Only 2 of 4 rows \(50 %\) are valid, .*; 2 were refused\..*Correct them, or send/,
  );
});

test('reasons are given in words, the most frequent first', () => {
  expect(words({ valid: 0, invalid: 1 }, { 'metric_date: invalid_date': 1 })).toBe(
    'The only row is not valid. Why: the date cannot be read (day, 1 row).',
  );
  expect(
    words(
      { valid: 0, invalid: 9 },
      {
        'spend: invalid_number': 2,
        'campaign_id: invalid_id': 3,
        'row: wrong_cell_count': 4,
        'clicks: negative_number': 1,
      },
    ),
  ).toBe(
    'None of the 9 rows is valid. Mostly: the row has more cells than the header (4 rows); ' +
      'the id contains characters other than digits (campaign id, 3 rows); the number cannot be read (spend, 2 rows).',
  );
});

test('a header may contain a colon, and an unknown code is written as words', () => {
  expect(words({ valid: 0, invalid: 2 }, { 'Notes: mine: nul_character': 1, 'row: all_new': 2 })).toBe(
    'None of the 2 rows is valid. Why: all new (2 rows); the file is damaged here (Notes: mine, 1 row).',
  );
});
