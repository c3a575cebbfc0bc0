import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimal, written } from '../../../../../test/generators/ad-reports/written-numbers.ts';
import {
  contradictsMark,
  type DecimalMark,
  decimalEvidence,
  isNullMark,
  readCount,
  readDecimal,
  shiftDecimal,
} from './numbers.ts';

const style = (decimalMark: DecimalMark | null) => ({ decimalMark, exponents: false });
const read = (text: string, decimalMark: DecimalMark | null = null) =>
  shown(readDecimal(text, style(decimalMark)));
const count = (text: string, decimalMark: DecimalMark | null = null) =>
  shown(readCount(text, style(decimalMark)));
const shown = (result: ReturnType<typeof readDecimal>) =>
  result === null || typeof result === 'string' ? result : result.code;

describe('forms that can be read in one way only', () => {
  const cases: [string, string][] = [
    ['0', '0'],
    ['007', '7'],
    ['103606.77', '103606.77'],
    ['103606.770', '103606.77'],
    ['2473,94', '2473.94'],
    ['1.234,56', '1234.56'],
    ['1,234.56', '1234.56'],
    ['1,234,567', '1234567'],
    ['1.234.567', '1234567'],
    ['18\u00a0158', '18158'],
    ['18\u202f158,5', '18158.5'],
    ['18\u2009158.50', '18158.5'],
    ["1'234'567.89", '1234567.89'],
    ['1’234.50', '1234.5'],
    ['1,23,456.78', '123456.78'],
    ['0.500', '0.5'],
    ['0,125', '0.125'],
    ['.5', '0.5'],
    ['-12,50', '-12.5'],
    ['\u221212.50', '-12.5'],
    ['-0.00', '0'],
    ['$1,234.50', '1234.5'],
    ['-$5', '-5'],
    ['R$ 1.234,56', '1234.56'],
    ['12,50 €', '12.5'],
    ['JP¥1,234,000', '1234000'],
    ['１２，３４５．６', '12345.6'],
    ['(1,234.50)', '-1234.5'],
    ['($1,234.50)', '-1234.5'],
    ['$(12.50)', '-12.5'],
    ['(12,50 €)', '-12.5'],
    ['1,234.50-', '-1234.5'],
    ['12,50- €', '-12.5'],
    ["CHF 1'234.50", '1234.5'],
    ['1 234,50 kr', '1234.5'],
    ['Rp 1.234.567', '1234567'],
    ['R 1 234.50', '1234.5'],
    ['Rs. 1,23,456.78', '123456.78'],
    ['1 234,50 руб.', '1234.5'],
    ['١٢٣٤٫٥٠', '1234.5'],
    ['١٬٢٣٤٬٥٦٧', '1234567'],
    ['۱۲۳۴', '1234'],
    ['4.333333333333333', '4.333333333333333'],
    ['999999999999999999', '999999999999999999'],
  ];
  test.each(cases)('%s is %s whatever the decimal mark of the file', (text, number) => {
    expect([null, '.' as const, ',' as const].map((mark) => read(text, mark))).toEqual([
      number,
      number,
      number,
    ]);
  });
});

test('a single mark before three digits is decided by the decimal mark of the file, and by nothing else', () => {
  expect([read('1,234', '.'), read('1,234', ','), read('1,234')]).toEqual([
    '1234',
    '1.234',
    'ambiguous_number',
  ]);
  expect([read('1.234', '.'), read('1.234', ','), read('1.234')]).toEqual([
    '1.234',
    '1234',
    'ambiguous_number',
  ]);
  expect([read('-1.234', ','), read('-1.234', '.'), read('-1,234', '.')]).toEqual([
    '-1234',
    '-1.234',
    '-1234',
  ]);
  expect([read('$1,234'), read('$1,234', '.'), read('1,234 €', ',')]).toEqual([
    'ambiguous_number',
    '1234',
    '1.234',
  ]);
});

test('in a count a single mark before three digits separates thousands unless the file says otherwise', () => {
  expect([count('795,836'), count('795.836'), count('795,836', '.')]).toEqual(['795836', '795836', '795836']);
  expect([count('1.234', ','), count('1.234', '.')]).toEqual(['1234', 'not_a_whole_number']);
});

test('a count is a whole number from zero', () => {
  expect([count('12.0'), count('12.00', '.'), count('0')]).toEqual(['12', '12', '0']);
  expect([count('12.5'), count('-3'), count('-0')]).toEqual(['not_a_whole_number', 'negative_number', '0']);
});

test.each(['', ' ', '-', '--', ' --', '—', '–', 'N/A', 'n/a', '\u00a0', '       '])(
  '"%s" means no value',
  (text) => {
    expect(isNullMark(text)).toBe(true);
    expect([read(text), count(text)]).toEqual([null, null]);
  },
);

test.each([
  ['< 10%', 'only_a_bound'],
  ['> 90', 'only_a_bound'],
  ['12%', 'invalid_number'],
  ['abc', 'invalid_number'],
  ['1 2', 'invalid_number'],
  ['12,34,5', 'invalid_number'],
  ['(12', 'invalid_number'],
  ['()', 'invalid_number'],
  ['(-12)', 'invalid_number'],
  ['-12-', 'invalid_number'],
  ['12 k', 'invalid_number'],
  ['1.2 Mio', 'invalid_number'],
  ['1.2.3,4', 'invalid_number'],
  ['12.', 'invalid_number'],
  ['1,234;5', 'invalid_number'],
  ['12\u0000', 'invalid_number'],
  ['constructor', 'invalid_number'],
  ['constructor 5', 'invalid_number'],
  ['0x10', 'invalid_number'],
  ['Infinity', 'invalid_number'],
  ['1.2E+5', 'number_damaged_by_spreadsheet'],
  ['1234567890123456789', 'number_out_of_range'],
])('%s is refused as %s', (text, code) => {
  expect(read(text)).toBe(code);
});

test('JSON may write numbers with exponents, and they are read exactly', () => {
  const json = { decimalMark: '.' as const, exponents: true };
  expect(['1.5E3', '2e-7', '-12.50e+1', '1e99'].map((text) => shown(readDecimal(text, json)))).toEqual([
    '1500',
    '0.0000002',
    '-125',
    'number_out_of_range',
  ]);
});

test('millionths become units by moving the decimal point', () => {
  expect(['2500000000', '1', '-1234567', '0', '999999'].map((micros) => shiftDecimal(micros, -6))).toEqual([
    '2500',
    '0.000001',
    '-1.234567',
    '0',
    '0.999999',
  ]);
});

test('a cell proves a decimal mark only when its form allows no other', () => {
  const proof = (text: string, isCount = false) => decimalEvidence(text, { isCount });
  expect([proof('12,5'), proof('1.234,56'), proof('1,234,567')]).toEqual([',', ',', '.']);
  expect([proof('1,234'), proof('1234'), proof('--'), proof('18 158'), proof('abc')]).toEqual(
    Array(5).fill(null),
  );
  expect([proof('1,234', true), proof('1.234', true)]).toEqual(['.', ',']);
});

test('a number contradicts a mark exactly when its form proves the other one', () => {
  const parts = fc.array(fc.constantFrom('.', ',', '1', '12', '123', '0', '-', ' ', '€'), { maxLength: 9 });
  const marks = fc.constantFrom('.' as const, ',' as const);
  fc.assert(
    fc.property(parts, marks, (chosen, mark) => {
      const text = chosen.join('');
      const shown = decimalEvidence(text, { isCount: false });
      expect(contradictsMark(text, mark), text).toBe(shown !== null && shown !== mark);
    }),
    { numRuns: 5_000 },
  );
  expect([contradictsMark('12,5', '.'), contradictsMark('1.234.567', '.')]).toEqual([true, true]);
  expect([contradictsMark('12,5', ','), contradictsMark('1,234', '.')]).toEqual([false, false]);
});

test('every amount is read back exactly from every notation', () => {
  const styles = fc.constantFrom(
    { group: ',', decimalMark: '.' },
    { group: '.', decimalMark: ',' },
    { group: '\u00a0', decimalMark: ',' },
    { group: '\u202f', decimalMark: ',' },
    { group: "'", decimalMark: '.' },
    { group: '', decimalMark: '.' },
    { group: '', decimalMark: ',' },
  );
  fc.assert(
    fc.property(fc.nat({ max: 2_000_000_000 }), fc.nat({ max: 6 }), styles, (units, digits, one) => {
      const text = written(units, digits, one);
      const mark = one.decimalMark === '.' ? '.' : ',';
      expect(read(text, mark)).toBe(decimal(BigInt(units), digits));
    }),
    { numRuns: 2_000 },
  );
});
