import { expect, test } from 'vitest';
import type { AdapterScan } from '../../api/types.ts';
import { scanWords, scheduleWords } from './adapter-words.ts';

const scan: AdapterScan = {
  ...{ adapter: 'in', busy: false, scanning_by: null, complete: true, error: null, error_code: null },
  ...{ seen: 3, ingested: 0, duplicates: 0, waiting: 0, failed: 0, moved: 0, files: [] },
};

test('a scan is described in one sentence, the most important part first', () => {
  expect(scanWords({ ...scan, ingested: 2, waiting: 1 })).toBe(
    'Scanned 3 files: 2 taken in, 1 still waiting.',
  );
  expect(scanWords(scan)).toBe('Scanned 3 files: nothing new.');
  expect(scanWords({ ...scan, seen: 1, failed: 1, complete: false })).toContain('the next scan continues');
  expect(scanWords({ ...scan, busy: true })).toContain('nothing was done');
});

test('a schedule is described in everyday words', () => {
  expect([null, 1, 5, 60, 120, 1_440, 2_880].map(scheduleWords)).toEqual([
    'by hand',
    'every minute',
    'every 5 minutes',
    'hourly',
    'every 2 hours',
    'daily',
    'every 2 days',
  ]);
});
