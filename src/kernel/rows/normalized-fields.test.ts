import { expect, test } from 'vitest';
import { canonicalName, normalizedFields, normalizedJson, RowNormalizer } from './normalized-fields.ts';

const normalize = (row: string, columns: string[] | null = null) => new RowNormalizer(columns).normalize(row);

test('every spelling of a well-known column is one field, trimmed and in NFC', () => {
  const row = JSON.stringify({
    ' Product Name ': ' Cafe\u0301 table ',
    Brand: 'Acme\u00a0',
    'EAN-13': '4006381333931',
    imageURL: 'https://example.com/a.png',
    Note: 'kept as it is',
  });
  expect(normalizedFields(row)).toEqual({
    title: 'Café table',
    brand: 'Acme',
    gtin: '4006381333931',
    image: 'https://example.com/a.png',
  });
});

test.each([
  ['Product Name', 'product_name'],
  ['productName', 'product_name'],
  ['product-name', 'product_name'],
  [' ＳＫＵ ', 'sku'],
  ['imageURL', 'image_url'],
])('the column %j is called %s', (column, name) => {
  expect(canonicalName(column)).toBe(name);
});

test('the best name that has a value counts, whatever the order of the columns', () => {
  expect(normalizedFields('{"name":"N","title":"T"}')).toEqual({ title: 'T' });
  expect(normalizedFields('{"title":" ","name":"N"}')).toEqual({ title: 'N' });
  expect(normalizedFields('{"upc":"1","ean":"2","gtin":null}')).toEqual({ gtin: '2' });
});

test('numbers keep every digit; what jsonb cannot hold becomes text or is left out', () => {
  expect(normalizedJson('{"Price":12345678901234567890.10,"qty":1e400,"title":"a\\u0000\\ud800b"}')).toBe(
    '{"price":12345678901234567890.10,"quantity":"1e400","title":"a\ufffdb"}',
  );
  expect(normalizedFields('{"sku":12345678901234567890,"price":3,"size":{"a":1},"color":null}')).toEqual({
    sku: '12345678901234567890',
    price: 3,
  });
});

test('nothing is kept for a row that is canonical as it is, or has no well-known column', () => {
  const columns = ['title', 'price', 'other'];
  expect(normalize('{"title":"Chair","price":"10","other":" x "}', columns)).toBeNull();
  expect(normalize('{"title":"Chair"}')).toBeNull();
  expect(normalize('{"Other":" x "}', ['Other'])).toBeNull();
  expect(normalize('{"a":1,"b":" "}')).toBeNull();
  expect(normalize('{"title":" Chair","price":"10","other":"x"}', columns)).toBe(
    '{"title":"Chair","price":"10"}',
  );
  expect(normalize('{"title":"Cafe\u0301"}', ['title'])).toBe('{"title":"Café"}');
  expect(normalize('{"Title":"Chair"}', ['Title'])).toBe('{"title":"Chair"}');
});

test('whether the columns are known beforehand changes the speed and never the result', () => {
  expect(normalize('{"Title":5,"Price":null}', ['Title', 'Price'])).toBe('{"title":5}');
  const values = [
    '"x"',
    '" x"',
    '"x "',
    '"e\\u0301"',
    '"\\tx"',
    '""',
    '"1e5"',
    '"é"',
    '" "',
    '"a\\u0000"',
    '"\\\\"',
  ];
  for (const key of ['title', 'Title', 'other']) {
    for (const value of values) {
      const row = `{"${key}":${value}}`;
      expect(normalize(row, [key]), row).toBe(normalize(row));
    }
  }
});
