import { describe, expect, test } from 'vitest';
import { brandScope, keysOf, numbersAgree } from './keys.ts';

const title = (text: string, brand: string | null = null) => keysOf({ sku: null, brand, title: text }).title;
const sku = (text: string) => keysOf({ sku: text, brand: null, title: null }).sku;

describe('a SKU', () => {
  test.each([
    ['AB-123', 'ab 123'],
    ['ÄB.123/x', 'ab123X'],
    ['00123', '00-123'],
  ])('%s is the same as %s', (one, other) => expect(sku(one)).toBe(sku(other)));
  test('keeps its leading zeros, and an empty one has no key', () => {
    expect(sku('00123')).not.toBe(sku('123'));
    expect(sku(' - ')).toBeNull();
  });
  test('fits into an index whatever its length, and keeps its identity', () => {
    const long = sku('x'.repeat(5_000));
    expect(long?.length).toBeLessThan(100);
    expect(sku('x'.repeat(499))).not.toBe(sku('x'.repeat(498)));
  });
});

describe('a title', () => {
  test.each([
    ['Crème brûlée', 'CREME  BRULEE'],
    ['Straße – Øl', 'strasse ol'],
    ['Galaxy 128 GB', 'galaxy 128gb'],
    ['Juice 1,5 l', 'Juice 1.5L'],
    ['Juice 1.5 l', 'Juice 1500 ml'],
    ['Flour 1 kg', 'Flour 1000g'],
    ['TV 27"', 'TV 27 inch'],
    ['Levi’s 501', 'Levis 501'],
    ['Cola 6x330 ml', 'Cola 6 x 330ml'],
  ])('%s is the same as %s', (one, other) => expect(title(one)).toBe(title(other)));
  test('loses the brand that has a column of its own, unless nothing else is left', () => {
    expect(title('Samsung Galaxy S21', 'SAMSUNG')).toBe('galaxy s21');
    expect(title('Galaxy S21 by Acme Corp', 'Acme')).toBe('galaxy s21 by corp');
    expect(title('Samsung', 'Samsung')).toBe('samsung');
  });
  test('keeps its words in ASCII letters when it is in another script', () => {
    expect(title('Кофе 250 г')).toMatch(/^[a-z]+ 250 [a-z]+$/);
    expect(title('кофе')).toBe(title('КОФЕ'));
    expect(title('кофе')).not.toBe(title('чай'));
  });
});

test('the same title has another key for another brand, and no key without a brand', () => {
  const of = (brand: string | null) => keysOf({ sku: null, brand, title: 'Phone 5' }).brandTitle;
  expect(of('Acme')).toBe(of('ACME Inc.'));
  expect(of('Acme')).not.toBe(of('Apex'));
  expect(of(null)).toBeNull();
});

test('numbers agree when one title only leaves some out, but not when each has its own', () => {
  expect(numbersAgree('galaxy s21 128gb', 'galaxy s21')).toBe(true);
  expect(numbersAgree('galaxy s21 128gb', 'galaxy s21 256gb')).toBe(false);
  expect(numbersAgree('galaxy', 'galaxy s21')).toBe(true);
});

test('the number of a brand is negative, fits a bigint and differs between versions', () => {
  const scope = BigInt(brandScope(7, 'acme'));
  expect(scope).toBeLessThan(0n);
  expect(BigInt.asIntN(64, scope)).toBe(scope);
  expect(brandScope(8, 'acme')).not.toBe(String(scope));
});
