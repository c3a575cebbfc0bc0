import { describe, expect, test } from 'vitest';
import { chunkerSettings, createChunker } from './create-chunker.ts';

const countTokens = (text: string) => text.split(/\s+/).length;

describe('settings of a chunker', () => {
  test('default to Markdown in chunks for the built-in embedder', () => {
    expect(chunkerSettings.parse(undefined)).toEqual({ strategy: 'markdown', maxTokens: 110 });
    expect(chunkerSettings.parse({ strategy: 'recursive' })).toEqual({
      strategy: 'recursive',
      maxTokens: 110,
    });
    expect(chunkerSettings.parse({ strategy: 'fixed' })).toEqual({
      strategy: 'fixed',
      maxTokens: 110,
      overlapTokens: 16,
    });
    expect(chunkerSettings.parse({ strategy: 'fixed', maxTokens: 18 })).toMatchObject({ overlapTokens: 4 });
  });

  test('have limits', () => {
    const refused = [
      { strategy: 'markdown', maxTokens: 15 },
      { strategy: 'markdown', maxTokens: 8_001 },
      { strategy: 'markdown', maxTokens: 20.5 },
      { strategy: 'markdown', overlapTokens: 1 },
      { strategy: 'fixed', maxTokens: 20, overlapTokens: 11 },
      { strategy: 'fixed', overlapTokens: -1 },
      { strategy: 'pages' },
    ];
    for (const settings of refused)
      expect(chunkerSettings.safeParse(settings).success, JSON.stringify(settings)).toBe(false);
    expect(chunkerSettings.safeParse({ strategy: 'fixed', maxTokens: 20, overlapTokens: 10 }).success).toBe(
      true,
    );
  });
});

describe('a chunker', () => {
  test('of plain text treats a number sign as a word', () => {
    const chunker = createChunker({ strategy: 'recursive', maxTokens: 20 }, { countTokens });
    const found = [...chunker.chunks('# one\n\ntwo\n\nthree')];
    expect(found).toMatchObject([{ text: '# one\n\ntwo\n\nthree', headingPath: [], start: 0, end: 17 }]);
  });

  test('of windows shares the configured number of words between neighbours', () => {
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
