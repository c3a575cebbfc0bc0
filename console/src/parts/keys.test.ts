import { expect, test } from 'vitest';
import { keyName } from './keys.ts';

const plain = { metaKey: false, ctrlKey: false, altKey: false };

test('keys have the names that the key maps use', () => {
  expect(keyName({ ...plain, key: 'J' })).toBe('j');
  expect(keyName({ ...plain, key: 'Enter' })).toBe('Enter');
  expect(keyName({ ...plain, key: 'k', metaKey: true })).toBe('mod+k');
  expect(keyName({ ...plain, key: 'k', ctrlKey: true })).toBe('mod+k');
});

test('the browser’s own key combinations are left alone', () => {
  expect(keyName({ ...plain, key: 'r', ctrlKey: true })).toBeNull();
  expect(keyName({ ...plain, key: 'j', altKey: true })).toBeNull();
});
