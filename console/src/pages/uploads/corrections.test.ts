import { expect, test } from 'vitest';
import type { StagedRow } from '../../api/types.ts';
import { badCells, rowsToSend } from './corrections.ts';

const row: StagedRow = {
  row_index: 3,
  line: 5,
  entity_type: 'daily_metric',
  natural_key_hash: '',
  raw_data: { Day: 'someday', Cost: 'much', Clicks: '7' },
  validation_status: 'invalid',
  validation_errors: [
    { field: 'metric_date', code: 'invalid_date', message: 'no date', value: 'someday' },
    { field: 'spend', code: 'invalid_number', message: 'no number', value: 'much' },
    { field: 'row', code: 'too_short', message: 'cut short', value: null },
  ],
  promotion_error: null,
  promotion_warning: null,
};

test('the cells to correct are those of the columns that the problems name', () => {
  const layout = { sources: { metric_date: 'Day', spend: 'Cost', clicks: 'Clicks' } };
  expect(badCells(row, { layout })).toEqual([
    { column: 'Day', value: 'someday', message: 'no date' },
    { column: 'Cost', value: 'much', message: 'no number' },
  ]);
  expect(badCells(row, { layout: null })).toEqual([]);
});

test('drafts become rows of the request', () => {
  expect(rowsToSend({ 3: { Day: '2026-03-01' } })).toEqual([{ row_index: 3, cells: { Day: '2026-03-01' } }]);
});
