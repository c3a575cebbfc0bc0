import { beforeAll, describe, expect, test } from 'vitest';
import { loadTokenCounter, readAsset } from './local-assets.ts';
import { localModels } from './local-models.ts';
import { SentencePieces } from './sentence-pieces.ts';

let pieces: SentencePieces;

beforeAll(async () => {
  const vocabulary = await readAsset(localModels['use-lite-en-q7'].files.vocabulary);
  pieces = new SentencePieces(vocabulary.toString('utf8'));
});

/** What the model's own tokeniser answers. The two were compared once on 5,725 texts, without a difference. */
const golden: [string, string][] = [
  ['Hello, world.', '341 4125 8 311 6'],
  ['The quick brown fox jumps over the lazy dog.', '34 2280 3744 1394 152 2009 7 132 9 6266 959 6'],
  ['antidisestablishmentarianism', '1531 3175 281 1112 2873 284 3619 639'],
  ['supercalifragilisticexpialidocious', '1050 2817 928 276 143 233 2098 6489 983 303 102 2907'],
  [
    'A heartbeat is due every 5-10 seconds; a lease ends after 30.',
    '74 914 6719 18 905 325 301 5107 3747 138 11 6596 324 7 160 810 6',
  ],
  [
    'https://example.com/docs/index.html?page=2#top',
    '290 7 255 773 1563 147 6 167 68 29 1539 7 68 4553 6 3963 54 4821 413 288 3020 2466',
  ],
  ['price: $1,234.56!!!', '704 57 872 8 288 4706 6 4123 1300'],
  ['naïve café Ünïcödé', '1216 0 105 976 209 1133 30 0 85 0 131 6781 29 1133'],
  ['日本語 and English', '30 0 12 1647'],
  ['emoji 😀😀 mixed', '299 451 2501 30 0 4963'],
  ['ﬁne ligature ½ ™', '839 30 3994 4129 207 7935 288 259 224'],
  ['aaaaaaaaaa', '11 6865 6865 86'],
  ['aaaaaaaaaaaaaaaaaaaaaaaa', '30 6865 6865 6865 6865 6865 6865'],
  ['x', '649'],
  [
    'const n = values.map((v) => v * 2);',
    '3064 17 1107 240 4164 6 47 653 234 234 278 52 240 1431 1174 1098 193 1545',
  ],
  ["don't can't won't I'm", '101 13 17 42 13 17 458 13 17 16 13 47'],
  ['MiXeD cAsE wOrDs', '1450 699 59 150 598 192 7 247 848 287 93 150 7'],
  ['▁under▁score', '30 315 1887'],
  ['a :-) b :( c: d://e', '11 6600 464 4258 598 57 602 255 59'],
  ['“quoted” – dashed… ok', '77 1699 849 26 236 432 1134 3553 91 2303'],
  ['\u0000nul\u0001', '30 0 85 474 0'],
  [':', '30 57'],
];

describe('pieces of a text', () => {
  test.each(golden)('%j are those of the model’s own tokeniser', (text, expected) => {
    expect(pieces.encode(text).join(' ')).toBe(expected);
  });

  test('are the same whatever white space is between the words', () => {
    expect(pieces.encode('\n two\t\twords\u00a0here \r\n')).toEqual(pieces.encode('two words here'));
  });

  test('are empty for an empty text and for spaces', () => {
    expect([pieces.encode(''), pieces.encode(' \n\t ')]).toEqual([[], []]);
  });

  test('are one for a run of unknown characters, even with a broken surrogate pair', () => {
    expect(pieces.encode('日本\ud800語')).toEqual([30, 0]);
  });

  test('pieces of a text of a megabyte are those of its parts', () => {
    const sentence = 'A heartbeat is due every few seconds. ';
    const once = pieces.encode(sentence);
    const many = pieces.encode(sentence.repeat(30_000));
    expect(many).toHaveLength(once.length * 30_000);
    expect(many.slice(-once.length)).toEqual(once);
  });
});

describe('the length of a text in tokens', () => {
  test('is the number of its pieces where all are known', async () => {
    const countTokens = await loadTokenCounter();
    for (const text of ['', ' ', 'Hello, world.', 'a :-) b', 'antidisestablishmentarianism']) {
      expect(countTokens(text), text).toBe(pieces.encode(text).length);
    }
  });

  test('counts every unknown character, so that a chunk in another script has an end', async () => {
    const countTokens = await loadTokenCounter();
    expect(pieces.encode('日'.repeat(500))).toHaveLength(2);
    expect(countTokens('日'.repeat(500))).toBe(501);
  });
});
