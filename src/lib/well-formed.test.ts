import { expect, test } from 'vitest';
import { storable, wellFormed } from './well-formed.ts';

test('halves of characters become one replacement each, and whole ones stay', () => {
  expect(wellFormed('a\ud800b\udc00c😀')).toBe('a\ufffdb\ufffdc😀');
  expect(wellFormed('\0')).toBe('\0');
});

test('what is to be stored loses its NULs as well, and a pair that they stood in is whole again', () => {
  expect(storable('a\0b\ud800')).toBe('ab\ufffd');
  expect(storable('\ud83d\0\ude00')).toBe('😀');
});
