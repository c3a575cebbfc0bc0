import { describe, expect, test } from 'vitest';
import type { Upload } from '../../api/types.ts';
import { columnChoices, givenFields, isSameMapping, type Mapping, mappingOf } from './column-choices.ts';
import { missingNeeds } from './report-fields.ts';

const layout: Upload['layout'] = {
  headers: ['Campaign name', 'Wann', '', 'Clicks', 'Amount spendt', 'Clicks'],
  samples: [['Spring'], ['2026-03-01', '2026-03-02'], ['x'], ['7'], ['1.50'], ['8']],
  sources: { campaign_name: 'Campaign name', clicks: 'Clicks' },
  unmapped: [
    { header: 'Wann', suggestion: null },
    { header: 'Amount spendt', suggestion: 'spend' },
  ],
};
const choicesWith = (draft: Mapping, remembered: Record<string, string | null> = {}) =>
  columnChoices({ layout }, { draft, remembered });
const one = (choices: ReturnType<typeof choicesWith>, header: string) =>
  choices.find((choice) => choice.header === header);

describe('the columns of a file', () => {
  test('are listed once by name, in its order, with their values', () => {
    const choices = choicesWith({});
    expect(choices.map(({ header }) => header)).toEqual(['Campaign name', 'Wann', 'Clicks', 'Amount spendt']);
    expect(one(choices, 'Clicks')).toMatchObject({ samples: ['7'], field: 'clicks', by: 'name' });
  });

  test('are suggested by their name, and by their values where the name says nothing', () => {
    const choices = choicesWith({});
    expect(one(choices, 'Amount spendt')).toMatchObject({ field: null, suggestion: 'spend' });
    expect(one(choices, 'Wann')).toMatchObject({ field: null, suggestion: 'metric_date' });
  });

  test('are not suggested for a field that another column already gives', () => {
    const choices = choicesWith({ Clicks: 'spend', 'Campaign name': 'metric_date' });
    expect(choices.map(({ suggestion }) => suggestion)).toEqual([null, null, null, null]);
  });

  test('follow a person’s choice before their name', () => {
    const choices = choicesWith({ Clicks: null, Wann: 'campaign_name' });
    expect(one(choices, 'Clicks')).toMatchObject({ field: null, by: 'choice' });
    expect(one(choices, 'Wann')).toMatchObject({ field: 'campaign_name', by: 'choice', givenBy: null });
    expect(one(choices, 'Campaign name')).toMatchObject({ by: 'name', givenBy: 'Wann' });
  });

  test('are shown as remembered only when the choice is unchanged', () => {
    const remembered = { Wann: 'metric_date', Clicks: null };
    const choices = choicesWith({ Wann: 'metric_date', Clicks: 'reach' }, remembered);
    expect(choices.map(({ isRemembered }) => isRemembered)).toEqual([false, true, false, false]);
  });

  test('may have the names of built-in object members', () => {
    const odd = { headers: ['constructor', '__proto__'], samples: [['a'], ['b']], sources: {}, unmapped: [] };
    const choices = columnChoices({ layout: odd }, { draft: {}, remembered: {} });
    expect(choices.map(({ field, isRemembered }) => [field, isRemembered])).toEqual([
      [null, false],
      [null, false],
    ]);
  });
});

test('mappings are equal in any order, and differ when a column is left to its name', () => {
  expect(isSameMapping({ a: 'spend', b: null }, { b: null, a: 'spend' })).toBe(true);
  expect(isSameMapping({ a: 'spend' }, { a: 'spend', b: null })).toBe(false);
  expect(isSameMapping({ a: null }, {})).toBe(false);
  expect(mappingOf({ a: 'spend', b: null, c: 'nonsense' })).toEqual({ a: 'spend', b: null });
});

test('missing fields are named until a row can be read', () => {
  expect(missingNeeds(new Set())).toHaveLength(3);
  expect(missingNeeds(new Set(['metric_date', 'spend']))).toEqual(['the campaign']);
  expect(missingNeeds(new Set(['ad_name', 'metric_date']))).toEqual([
    'at least one figure, such as impressions or spend',
  ]);
  // A report without a day covers a range.
  expect(missingNeeds(givenFields(choicesWith({})))).toEqual([]);
  expect(missingNeeds(new Set(['ad_id', 'spend']))).toEqual([]);
});
