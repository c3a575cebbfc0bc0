import { describe, expect, test } from 'vitest';
import type { FigureGroup } from '../../api/types.ts';
import { chartSeries, chartStep, figureWithUnit, groupName, groupParents } from './figure-words.ts';

const group: FigureGroup = {
  key: '2026-03-01',
  name: null,
  external_id: null,
  campaign_name: null,
  ad_set_name: null,
  currency: 'EUR',
  date_from: '2026-03-01',
  date_to: '2026-03-01',
  rows: 1,
  impressions: 1_200,
  clicks: null,
  link_clicks: null,
  spend: 1_234.5,
  conversions: 2.25,
  conversion_value: null,
  lineage: '/api/data/lineage',
};

describe('words', () => {
  test('money has its currency, counts have none, and what nobody stated is a dash', () => {
    expect(figureWithUnit('spend', group)).toBe('1,234.50 EUR');
    expect(figureWithUnit('impressions', group)).toBe('1,200');
    expect(figureWithUnit('conversions', group)).toBe('2.25');
    expect(figureWithUnit('conversion_value', group)).toBe('–');
  });

  test('a group is called by its name, then by its id', () => {
    expect(groupName('campaign', { ...group, name: 'Spring', external_id: '11' })).toBe('Spring');
    expect(groupName('campaign', { ...group, external_id: '11' })).toBe('11');
    expect(groupName('client', { ...group, key: null })).toBe('No client');
    expect(groupName('range', { ...group, key: '2026-03-01/2026-03-31' })).toBe('2026-03-01 – 2026-03-31');
    expect(groupParents({ ...group, campaign_name: 'Spring', ad_set_name: 'Women' })).toBe('Spring › Women');
  });
});

describe('the chart', () => {
  test('has a line per currency, and zero where nothing was stated', () => {
    const groups = [
      group,
      { ...group, key: '2026-03-04', spend: 2 },
      { ...group, currency: 'USD', spend: 9 },
    ];
    const [euros, dollars] = chartSeries(groups, { figure: 'spend', step: 'day' });
    expect(euros?.points.map(({ value }) => value)).toEqual([1_234.5, 0, 0, 2]);
    expect(dollars).toMatchObject({ currency: 'USD', points: [{ value: 9 }] });
  });

  test('goes by week for more than half a year', () => {
    expect(chartStep('2026-01-01', '2026-03-01')).toBe('day');
    expect(chartStep('2025-01-01', '2026-03-01')).toBe('week');
  });
});
