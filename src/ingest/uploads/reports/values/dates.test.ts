import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clockOf, type DateOrder, dateReader, orderEvidence, readDate } from './dates.ts';

const read = (text: string, order: DateOrder | null = null) => {
  const date = readDate(text, order);
  return typeof date === 'string' ? date : date.code;
};

test.each([
  '2026-03-27',
  '2026-03-27 00:00:00',
  '2026-03-27T00:00:00Z',
  '2026-03-27T00:00:00+0900',
  '2026/03/27',
  '2026/3/27',
  '20260327',
  '27.03.2026',
  '27.3.2026',
  '2026. 3. 27.',
  '27/03/2026',
  '03/27/2026',
  '27-03-2026',
  '2026年3月27日',
  '2026 年 3 月 27 日',
  '２０２６年３月２７日',
  'Mar 27, 2026',
  'March 27, 2026',
  'Fri, Mar 27, 2026',
  '27 March 2026',
  '27. März 2026',
  '27 mars 2026',
  '27 de marzo de 2026',
  '27 mar. 2026',
  '27 de março de 2026',
  '27 marzo 2026',
  '27 mrt 2026',
  '27 maart 2026',
  '27 marca 2026',
  '27 Mart 2026',
  '27 марта 2026',
  '27 марта 2026 г.',
  '27 мар. 2026 г.',
  '27 Maret 2026',
  '27 Mar 2026',
  '27 tháng 3, 2026',
  '27 thg 3, 2026',
  'ngày 27 tháng 3 năm 2026',
  '27 مارس 2026',
  '٢٧ مارس ٢٠٢٦',
  '٢٧/٠٣/٢٠٢٦',
  '2026년 3월 27일',
  '2026년 03월 27일',
  '3/27/2026 12:00:00 AM',
  '2026-03-27 00:00:00.000',
  ' 2026-03-27 ',
])('%s is the 27th of March 2026', (text) => {
  expect(read(text)).toBe('2026-03-27');
});

test('months in words are known in every language', () => {
  const october = ['October', 'Okt', 'oct.', 'octubre', 'out.', 'ottobre', 'okt.', 'października', 'Ekim'];
  expect(october.map((month) => read(`5 ${month} 2026`))).toEqual(october.map(() => '2026-10-05'));
});

test('an ambiguous day and month are never guessed', () => {
  expect(read('03/04/2026')).toBe('ambiguous_date');
  expect([read('03/04/2026', 'dmy'), read('03/04/2026', 'mdy')]).toEqual(['2026-04-03', '2026-03-04']);
  expect(read('05/05/2026')).toBe('2026-05-05');
});

test('a date that contradicts the order of its file is refused, not reordered', () => {
  expect([read('03/27/2026', 'dmy'), read('27/03/2026', 'mdy')]).toEqual(['invalid_date', 'invalid_date']);
});

test.each([
  '2026-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-04-31',
  '31/04/2026',
  '30 February 2026',
  '1999-12-31',
])('%s is not a valid date', (text) => {
  expect(read(text)).toBe('invalid_date');
});

test.each([
  '',
  'yesterday',
  '27/03/26',
  '46108',
  'Ongoing',
  '2026-03',
  '27 Foo 2026',
  'Mar Apr 2026',
  '2026-03-27\0',
])('"%s" is not a date', (text) => {
  expect(read(text)).toBe('invalid_date');
});

test('a date with an hour is its day, and the hour is read by itself', () => {
  expect(read('2026-03-27 13:00:00')).toBe('2026-03-27');
  expect(clockOf('2026-03-27 13:00:00')).toBe('13:00:00');
  expect([clockOf('2026-03-27 00:00:00'), clockOf('2026-03-27')]).toEqual([null, null]);
});

test('leap days are valid', () => {
  expect([read('2024-02-29'), read('2000-02-29'), read('2100-02-29')]).toEqual([
    '2024-02-29',
    '2000-02-29',
    'invalid_date',
  ]);
});

test('no day is ever shifted, whatever its notation', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('2000-01-01'), max: new Date('2199-12-30'), noInvalidDate: true }),
      (date) => {
        const iso = date.toISOString().slice(0, 10);
        const [year, month, day] = iso.split('-');
        const forms = [iso, `${iso} 00:00:00`, `${year}/${month}/${day}`, `${day}.${month}.${year}`];
        expect(forms.map((form) => read(form))).toEqual(forms.map(() => iso));
        expect([read(`${day}/${month}/${year}`, 'dmy'), read(`${month}/${day}/${year}`, 'mdy')]).toEqual([
          iso,
          iso,
        ]);
      },
    ),
    { numRuns: 300 },
  );
});

test('a reader with a cache returns the same as one without', () => {
  const reader = dateReader('dmy');
  const texts = ['03/04/2026', 'x', '2026-03-27', '03/04/2026', 'x'];
  expect(texts.map(reader)).toEqual(texts.map((text) => readDate(text, 'dmy')));
});

test('the order of dates is proven by a day above twelve and by dates in words', () => {
  expect(['27/03/2026 - 23/04/2026', '27 March 2026 - 23 April 2026'].map(orderEvidence)).toEqual([
    'dmy',
    'dmy',
  ]);
  expect(['3/27/2026', 'March 27, 2026 - April 23, 2026'].map(orderEvidence)).toEqual(['mdy', 'mdy']);
  expect(['All time', '01/02/2026', '27/03/2026 03/27/2026'].map(orderEvidence)).toEqual([null, null, null]);
});
