import { describe, expect, test } from 'vitest';
import { splitAtWords } from './marked.tsx';

const marked = (text: string, query: string) =>
  splitAtWords(text, query)
    .map(({ part, isMatch }) => (isMatch ? `[${part}]` : part))
    .join('');

describe('words of a question in a text', () => {
  test('are marked wherever they begin a word, in upper or lower case', () => {
    expect(marked('Refunds: a refund takes days. Unrefunded.', 'refund')).toBe(
      '[Refunds]: a [refund] takes days. Unrefunded.',
    );
  });

  test('are not marked when they are short, and are never read as patterns', () => {
    expect(marked('a .* b is it', 'is .* it')).toBe('a .* b is it');
  });

  test('leave every text unchanged', () => {
    const text = 'é̀ 👩‍👩‍👧 straße (café) \\d+';
    expect(
      splitAtWords(text, 'straße café')
        .map(({ part }) => part)
        .join(''),
    ).toBe(text);
    expect(marked(text, 'CAFÉ')).toContain('[café]');
  });
});
