import { expect, test } from 'vitest';
import { partsOf } from './cited-text.tsx';
import { reasonsOf } from './why-matched.tsx';

test('a passage is divided at its words and at the sentence that is nearest in meaning', () => {
  const text = 'Oil it. Not now.';
  const highlights = [
    { start: 0, end: 3 },
    { start: 8, end: 11 },
  ];
  const parts = partsOf({ text, highlights, best_sentence: { start: 8, end: 16 } });
  expect(parts.map((part) => [part.text, part.isWord, part.isSentence])).toEqual([
    ['Oil', true, false],
    [' it. ', false, false],
    ['Not', true, true],
    [' now.', false, true],
  ]);
  expect(partsOf({ text: 'x' })).toEqual([{ at: 0, text: 'x', isWord: false, isSentence: false }]);
});

test('a passage says why it was found', () => {
  const found = {
    text: 'Oil it, oil it.',
    highlights: [
      { start: 0, end: 3 },
      { start: 8, end: 11 },
    ],
    pages: [3, 4],
  } as Parameters<typeof reasonsOf>[0];
  expect(reasonsOf(found)).toEqual(['page 3–4', 'words: “oil”']);
  const explanation = { similarity: 0.81 } as NonNullable<typeof found.explanation>;
  expect(reasonsOf({ ...found, highlights: [], pages: [], explanation })).toEqual([
    'by its meaning alone',
    'meaning 81 %',
  ]);
});
