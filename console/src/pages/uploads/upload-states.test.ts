import { expect, test } from 'vitest';
import type { Upload } from '../../api/types.ts';
import { chipOf, failedAt, isMoving, stepOf } from './upload-states.ts';

const held = {
  status: 'staging_complete',
  review: true,
  checking: false,
  undone_at: null,
  error_code: null,
  layout: { sources: { spend: 'Cost' }, unmapped: [] },
} as unknown as Upload;

test('the record decides the step, except that the link decides while it waits for a person', () => {
  expect(stepOf(held, undefined)).toBe('Check');
  expect(stepOf(held, 'columns')).toBe('Columns');
  for (const [status, step] of [
    ['pending', 'Columns'],
    ['processing', 'Columns'],
    ['promoting', 'Promote'],
    ['completed', 'Result'],
    ['failed', 'Result'],
  ] as const)
    expect(stepOf({ ...held, status }, 'check')).toBe(step);
  expect(stepOf({ ...held, review: false }, 'check')).toBe('Promote');
});

test('an upload that lacks columns shows them, whatever the link says', () => {
  const lacking = { ...held, layout: { missing: ['metric_date'] } };
  expect(stepOf(lacking, 'check')).toBe('Columns');
  expect(chipOf(lacking)).toMatchObject({ word: 'waits for your mapping' });
});

test('columns are shown first when one of them could fill a missing field', () => {
  const unmapped = (suggestion: 'spend' | 'reach') => [{ header: 'Kosten', suggestion }];
  const layout = { ...held.layout, sources: { spend: 'Cost' } };
  expect(stepOf({ ...held, layout: { ...layout, unmapped: unmapped('reach') } }, undefined)).toBe('Columns');
  expect(stepOf({ ...held, layout: { ...layout, unmapped: unmapped('spend') } }, undefined)).toBe('Check');
});

test('an upload that waits for a person does not move, and one that is read again does', () => {
  expect(isMoving(held)).toBe(false);
  expect(isMoving({ ...held, checking: true })).toBe(true);
  expect(isMoving({ ...held, status: 'partial' })).toBe(false);
  expect(chipOf({ ...held, checking: true })).toEqual({ status: 'processing', word: 'reading again' });
  expect(chipOf({ ...held, status: 'failed', error_code: 'canceled_by_user' })).toEqual({
    status: 'canceled',
  });
});

test('a failed upload shows the step in which it failed', () => {
  const failed = (code: string, rows: number) =>
    failedAt({ ...held, status: 'failed', error_code: code, total_rows: rows });
  expect(failed('required_columns_missing', 0)).toBe('Columns');
  expect(failed('too_many_invalid_rows', 10)).toBe('Check');
  expect(failed('no_rows_promoted', 10)).toBe('Promote');
});
