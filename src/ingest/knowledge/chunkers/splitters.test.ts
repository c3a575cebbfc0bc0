import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codePoints, graphemes, lines, type Splitter, sentences, syllables, words } from './splitters.ts';

function cut(split: Splitter, text: string, span = { start: 0, end: text.length }): string[] {
  return [...split(text, span)].map(({ start, end }) => text.slice(start, end));
}

describe('splitters', () => {
  test('find sentences by their ends, in Chinese and Japanese without blanks', () => {
    expect(cut(sentences, 'One. Two?! "Three." v1.2 is (four). Five')).toEqual([
      'One.',
      'Two?!',
      '"Three."',
      'v1.2 is (four).',
      'Five',
    ]);
    expect(cut(sentences, '你好。再见！好')).toEqual(['你好。', '再见！', '好']);
  });

  test('find lines and words and leave out the blanks', () => {
    expect(cut(lines, ' a b \n\n\tc\r\n')).toEqual(['a b', 'c']);
    expect(cut(words, ' a\u00a0b \n c')).toEqual(['a', 'b', 'c']);
  });

  test('keep letters whole that consist of several characters', () => {
    const family = '👨‍👩‍👧‍👦';
    expect(cut(graphemes, `e\u0301${family}🇨🇭x`)).toEqual(['e\u0301', family, '🇨🇭', 'x']);
    expect(cut(codePoints, 'a😀b')).toEqual(['a', '😀', 'b']);
    const long = `${'x'.repeat(1_020)}${family}${family}`;
    expect(cut(graphemes, long).slice(-3)).toEqual(['x', family, family]);
  });

  test('cut an endless letter between characters', () => {
    const parts = cut(graphemes, `x${'\u{1d165}'.repeat(5_000)}`);
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) expect(part).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
  });

  test('cut an endless word into short pieces that an inserted letter does not move', () => {
    const letters = Array.from({ length: 4_000 }, (_, index) =>
      ((index * index * 31) % 36).toString(36),
    ).join('');
    const before = new Set(cut(syllables, letters));
    const after = cut(syllables, `x${letters}`);
    expect(after.filter((piece) => !before.has(piece)).length).toBeLessThanOrEqual(3);
    expect(Math.max(...after.map((piece) => piece.length))).toBeLessThanOrEqual(16);
  });

  const all = { lines, sentences, words, syllables, graphemes, codePoints };
  test.each(Object.entries(all))('%s stay within the span and lose nothing', (_, split) => {
    const unit = fc.constantFrom(
      'a',
      'é',
      '😀',
      'e\u0301',
      '👍🏽',
      '.',
      '。',
      ' ',
      '\n',
      '"',
      '\ud83d',
      '漢',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 80 }), fc.nat(20), fc.nat(20), (text, left, right) => {
        const span = { start: Math.min(left, text.length), end: Math.max(left, text.length - right) };
        if (span.end > text.length || span.end <= span.start) return;
        const kept = cut(split, text, span).join('').replace(/\s/g, '');
        expect(kept).toBe(text.slice(span.start, span.end).replace(/\s/g, ''));
      }),
      { numRuns: 500 },
    );
  });
});
