import fc from 'fast-check';
import { expect, test } from 'vitest';
import { windowsOf } from './local-windows.ts';

test('windows hold every token once and in order, fit the model, and differ by one token at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5_000 }), fc.constantFrom(110, 254), (length, windowTokens) => {
      const pieces = Array.from({ length }, (_, index) => index);
      const windows = windowsOf(pieces, windowTokens);
      const sizes = windows.map((window) => window.length);
      expect(windows.flat()).toEqual(pieces);
      expect(windows).toHaveLength(Math.ceil(length / windowTokens));
      if (length === 0) return;
      expect(Math.max(...sizes)).toBeLessThanOrEqual(windowTokens);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }),
  );
});
