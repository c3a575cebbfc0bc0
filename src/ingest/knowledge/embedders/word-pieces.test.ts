import { beforeAll, describe, expect, test } from 'vitest';
import { readAsset } from './local-assets.ts';
import { localModels } from './local-models.ts';
import { WordPieces } from './word-pieces.ts';

let pieces: WordPieces;

beforeAll(async () => {
  const vocabulary = await readAsset(localModels['all-minilm-l6-v2-q8'].files.vocabulary);
  pieces = new WordPieces(vocabulary.toString('utf8'));
});

/** What @huggingface/tokenizers 0.2.0 returns. The two were compared once on 8,415 texts, without a difference. */
const golden: [string, string][] = [
  ['Hello, world.', '7592 1010 2088 1012'],
  ['The quick brown fox jumps over the lazy dog.', '1996 4248 2829 4419 14523 2058 1996 13971 3899 1012'],
  ['antidisestablishmentarianism', '3424 10521 4355 7875 13602 3672 12199 2964'],
  ['naïve café Ünïcödé', '15743 7668 27260'],
  ['日本語 and English', '1864 1876 1950 1998 2394'],
  ['emoji 😀😀 mixed', '7861 29147 2072 100 3816'],
  [
    "don't can't KX-4410 $5 <a>",
    '2123 1005 1056 2064 1005 1056 1047 2595 1011 28015 2692 1002 1019 1026 1037 1028',
  ],
  ['한국어 Привет', '1469 30006 30021 29991 30014 30020 29999 30008 1194 16856 10325 25529 15290 22919'],
  ['x'.repeat(101), '100'],
  [
    'https://example.com/docs/index.html?page=2#top',
    '16770 1024 1013 1013 2742 1012 4012 1013 9986 2015 1013 5950 1012 16129 1029 3931 1027 1016 1001 2327',
  ],
];

describe('word pieces', () => {
  test.each(golden)('of %j are those of the reference tokenizer', (text, numbers) => {
    expect(pieces.encode(text).join(' ')).toBe(numbers);
  });

  test('split ideographs beyond the basic plane as well', () => {
    expect(pieces.encode('a𠀀b')).toEqual([1037, 100, 1038]);
  });

  test('treat the names of special pieces as plain text', () => {
    expect(pieces.encode('[SEP]')).toEqual(pieces.encode('[ sep ]'));
    expect(pieces.framed([7592])).toEqual([101, 7592, 102]);
  });

  test('are none for spaces, and unknown for signs that are left out', () => {
    expect(pieces.encode(' \n\t ')).toEqual([]);
    expect(pieces.encode('\u0000\u200b')).toEqual([100]);
  });
});
