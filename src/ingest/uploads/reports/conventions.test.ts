import { expect, test } from 'vitest';
import { decideConventions, sampleRows, weighRows } from './conventions.ts';
import { profileOf } from './profile.ts';
import type { Platform, RawRow } from './types.ts';

interface Sheet {
  headers: string[];
  rows?: string[][];
  platform?: Platform;
  delimiter?: string;
  titleLines?: string[];
}

function decide({ headers, rows = [], platform = 'google', delimiter = ',', titleLines = [] }: Sheet) {
  const columns = profileOf(platform).mapHeaders(headers);
  const sample = rows.map((cells, rowIndex): RawRow => ({ rowIndex, line: rowIndex + 2, cells }));
  const layout = { format: 'delimited', encoding: 'utf-8', delimiter, headers, titleLines } as const;
  return decideConventions(columns, { layout, sample });
}

const english = ['Day', 'Campaign', 'Clicks', 'Cost'];
const german = ['Tag', 'Kampagne', 'Klicks', 'Kosten'];
const spanish = ['Día', 'Campaña', 'Clics', 'Coste'];

test('the language of the headers decides the decimal mark when cells prove nothing', () => {
  expect([english, german, spanish].map((headers) => decide({ headers }).decimalMark)).toEqual([
    '.',
    ',',
    null,
  ]);
});

test('a semicolon as delimiter decides when the language does not', () => {
  expect(decide({ headers: spanish, delimiter: ';' }).decimalMark).toBe(',');
});

test('an unambiguous cell takes precedence over the language', () => {
  const row = (cost: string) => [['2026-03-27', 'A', '5', cost]];
  expect(decide({ headers: german, rows: row('103606.77') }).decimalMark).toBe('.');
  expect(decide({ headers: english, rows: row('12,5') }).decimalMark).toBe(',');
  expect(decide({ headers: german, rows: row('1.234') }).decimalMark).toBe(',');
});

test('thousands in a column of counts prove the decimal mark of the amounts', () => {
  expect(decide({ headers: spanish, rows: [['2026-03-27', 'A', '1,234', '1,234']] }).decimalMark).toBe('.');
});

test('cells that contradict each other decide nothing, whatever the language', () => {
  const rows = [
    ['2026-03-27', 'A', '5', '12.5'],
    ['2026-03-27', 'A', '5', '12,5'],
  ];
  expect(decide({ headers: german, rows }).decimalMark).toBeNull();
});

test('only the first rows of the file count, however many are given', () => {
  const rows = Array.from({ length: sampleRows }, () => ['2026-03-27', 'A', '5', '10']);
  const late = [...rows, ['27/03/2026', 'A', '5', '12,5']];
  expect(decide({ headers: english, rows: late })).toEqual(decide({ headers: english, rows }));
});

test('the order of dates comes from cells, then titles, then the language, but never from English', () => {
  const dated = (day: string) => [[day, 'A', '1', '1']];
  expect(decide({ headers: english, rows: dated('27/03/2026') }).dateOrder).toBe('dmy');
  expect(decide({ headers: english, rows: dated('03/27/2026') }).dateOrder).toBe('mdy');
  expect(decide({ headers: english, rows: dated('03/04/2026') }).dateOrder).toBeNull();
  expect(
    decide({ headers: english, titleLines: ['Report', 'March 27, 2026 - April 23, 2026'] }).dateOrder,
  ).toBe('mdy');
  expect(
    decide({ headers: english, titleLines: ['Report', '27 March 2026 - 23 April 2026'] }).dateOrder,
  ).toBe('dmy');
  expect(decide({ headers: german }).dateOrder).toBe('dmy');
  expect(decide({ headers: english }).dateOrder).toBeNull();
});

test('dates that contradict each other leave the order undecided', () => {
  const rows = [
    ['27/03/2026', 'A', '1', '1'],
    ['03/27/2026', 'A', '1', '1'],
  ];
  expect(decide({ headers: german, rows }).dateOrder).toBeNull();
});

/** The first decision, and what rows after the sample change about it. */
function weigh(headers: string[], later: string[][]) {
  const columns = profileOf('google').mapHeaders(headers);
  const rows = later.map((cells, at): RawRow => ({ rowIndex: at + 500, line: at + 502, cells }));
  return weighRows(decide({ headers }), { columns, rows });
}

test('only cells prove something: titles and languages are guesses', () => {
  expect(decide({ headers: german }).unproven).toEqual(['decimalMark', 'dateOrder']);
  expect(decide({ headers: english, titleLines: ['27 March 2026 - 23 April 2026'] }).unproven).toEqual([
    'decimalMark',
    'dateOrder',
  ]);
  const rows = [['27/03/2026', 'A', '5', '12,5']];
  expect(decide({ headers: english, rows }).unproven).toEqual([]);
});

test('the first later cell that proves something replaces guesses, and later ones change nothing', () => {
  const { conventions, hanging } = weigh(german, [
    ['03/04/2026', 'A', '1', '1.234'],
    ['03/27/2026', 'A', '1', '12.5'],
    ['27/03/2026', 'A', '1', '12,5'],
  ]);
  expect(conventions).toEqual({ decimalMark: '.', dateOrder: 'mdy', unproven: [] });
  expect(hanging).toEqual([]);
});

test('rows depend on a convention only when one of their cells can be read in two ways', () => {
  const hanging = (day: string, cost: string) => weigh(english, [[day, 'A', '1', cost]]).hanging;
  expect(hanging('2026-03-04', '1234')).toEqual([]);
  expect(hanging('04.03.2026', '--')).toEqual([]);
  expect(hanging('04/04/2026', 'abc')).toEqual([]);
  expect(hanging('2026-03-04', '1,234')).toEqual(['decimalMark']);
  expect(hanging('2026-03-04', '-1.234 €')).toEqual(['decimalMark']);
  expect(hanging('03/04/2026', '100')).toEqual(['dateOrder']);
  expect(hanging('3-4-2026 00:00', '1.234')).toEqual(['decimalMark', 'dateOrder']);
});

test('a date that is invalid in every order proves nothing', () => {
  expect(weigh(english, [['45/03/2026', 'A', '1', '1']]).conventions.unproven).toContain('dateOrder');
});

test('JSON has the decimal point in every language', () => {
  const columns = profileOf('meta').mapHeaders(['date_start', 'spend'], { format: 'json' });
  const layout = {
    format: 'json',
    encoding: 'utf-8',
    shape: 'meta',
    headers: ['date_start', 'spend'],
  } as const;
  const layoutOf = { ...layout, headers: [...layout.headers] };
  expect(decideConventions(columns, { layout: layoutOf, sample: [] }).decimalMark).toBe('.');
});

test('a title of the maximum length is examined quickly', () => {
  const before = process.cpuUsage();
  expect(decide({ headers: english, titleLines: ['a'.repeat(100_000)] }).dateOrder).toBeNull();
  // Measured in CPU time: on a busy machine the process may have to wait.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
});

test('decided conventions survive being stored as JSON', () => {
  const decided = decide({ headers: german, rows: [['27/03/2026', 'A', '5', '12,5']] });
  expect(JSON.parse(JSON.stringify(decided))).toEqual(decided);
});
