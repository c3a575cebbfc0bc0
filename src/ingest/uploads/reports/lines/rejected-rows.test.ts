import { expect, test } from 'vitest';
import { declaredConventions, declaringHeader, isAddedHeader } from './rejected-rows.ts';

const nothing = { decimalMark: null, dateOrder: null };

test('a declaring header is understood when it comes back', () => {
  for (const decimalMark of ['.', ',', null] as const) {
    for (const dateOrder of ['dmy', 'mdy', null] as const) {
      const header = declaringHeader({ decimalMark, dateOrder });
      if (header === null) expect({ decimalMark, dateOrder }).toEqual(nothing);
      else expect(declaredConventions(['Day', ` ${header} `])).toEqual({ decimalMark, dateOrder });
      expect(isAddedHeader(header ?? 'Rejection reason')).toBe(true);
    }
  }
});

test('headers that only begin like a declaring header are columns of the report', () => {
  for (const header of [
    'Read with',
    'Read with care',
    'Read with decimal point, please',
    'Rejection reasons',
  ]) {
    expect(isAddedHeader(header)).toBe(false);
    expect(declaredConventions([header])).toEqual(nothing);
  }
});
