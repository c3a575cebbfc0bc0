import { describe, expect, test } from 'vitest';
import { createChunker } from './create-chunker.ts';

const countTokens = (text: string) => text.split(/\s+/).length;

describe('a chunker', () => {
  test('a chunker of plain text treats a number sign as a word', () => {
    const chunker = createChunker({ strategy: 'recursive', maxTokens: 20 }, { countTokens });
    const found = [...chunker.chunks('# one\n\ntwo\n\nthree')];
    expect(found).toMatchObject([{ text: '# one\n\ntwo\n\nthree', headingPath: [], start: 0, end: 17 }]);
  });

  test('a chunker of windows shares the configured number of words between neighbours', () => {
    const text = Array.from({ length: 200 }, (_, index) => `w${index}`).join(' ');
    const chunker = createChunker({ strategy: 'fixed', maxTokens: 20, overlapTokens: 5 }, { countTokens });
    const found = [...chunker.chunks(text)];
    for (const [index, chunk] of found.slice(1).entries()) {
      const before = found[index]?.text.split(' ') ?? [];
      expect(chunk.text.split(' ').slice(0, 5)).toEqual(before.slice(-5));
      expect(chunk.text.split(' ')[5]).not.toBe(before.at(-1));
      expect(chunk.tokens).toBeLessThanOrEqual(20);
    }
    expect(found.at(-1)?.end).toBe(text.length);
    expect(chunker.settings).toMatchObject({ strategy: 'fixed' });
  });
});
