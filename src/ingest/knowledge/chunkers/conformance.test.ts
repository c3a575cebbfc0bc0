import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Chunk, ChunkerSettings, CountTokens } from './chunker.ts';
import { createChunker } from './create-chunker.ts';
import { contentHash, normalise } from './normalise.ts';

/** Four letters of a word are a token, about as in real ones. */
const countTokens: CountTokens = (text) =>
  text.split(/\s+/).reduce((sum, word) => sum + Math.ceil(word.length / 4), 0);

const strategies: ChunkerSettings[] = [
  { strategy: 'markdown', maxTokens: 16 },
  { strategy: 'markdown', maxTokens: 110 },
  { strategy: 'recursive', maxTokens: 30 },
  { strategy: 'fixed', maxTokens: 30, overlapTokens: 0 },
  { strategy: 'fixed', maxTokens: 40, overlapTokens: 20 },
];

const letter = fc.constantFrom(
  ...'aaaeeeiouxyz.,!?|-#*`~',
  ...['é', 'e\u0301', '😀', '👍🏽', '👨‍👩‍👧‍👦', '🇨🇭', '漢', '字', '。', '각', 'नि'],
);
const word = fc.oneof(
  { weight: 20, arbitrary: fc.string({ unit: letter, minLength: 1, maxLength: 9 }) },
  { weight: 1, arbitrary: fc.string({ unit: letter, minLength: 100, maxLength: 900 }) },
);
const line = (maxLength: number) =>
  fc.array(word, { minLength: 1, maxLength }).map((words) => words.join(' '));
const linesOf = (mark: (index: number) => string) =>
  fc
    .array(line(8), { minLength: 1, maxLength: 12 })
    .map((all) => all.map((one, at) => mark(at) + one).join('\n'));
const block = fc.oneof(
  line(60),
  line(5),
  line(5).map((title) => `## ${title}`),
  line(4).map((title) => `${title}\n===`),
  linesOf(() => '- '),
  linesOf((at) => `${at + 1}. `),
  linesOf(() => '  ').map((code) => `\`\`\`js\n${code}\n\`\`\``),
  linesOf(() => '| ').map((rows) => `| a | b |\n|---|---|\n${rows}`),
  fc.constantFrom('---', '\0\0', '\ud83d', '   ', '---\ntitle: a\n---'),
);
const documents = fc
  .tuple(fc.array(block, { maxLength: 14 }), fc.constantFrom('\n\n', '\n', '\r\n\r\n', '\n \n\n'))
  .map(([blocks, gap]) => blocks.join(gap));

describe.each(strategies)('chunks of $strategy with at most $maxTokens tokens', (settings) => {
  const chunksOf = (text: string, count = countTokens) => [
    ...createChunker(settings, { countTokens: count }).chunks(text),
  ];

  test('have the normalised text between their offsets, its hash and its tokens, within the limit', () => {
    fc.assert(
      fc.property(documents, (text) => {
        for (const chunk of chunksOf(text)) {
          expect(chunk.text).toBe(normalise(text.slice(chunk.start, chunk.end)));
          expect(chunk.text).not.toBe('');
          expect(chunk.contentHash).toBe(contentHash(chunk.text));
          expect(chunk.tokens).toBe(countTokens(chunk.text));
          expect(chunk.tokens).toBeLessThanOrEqual(settings.maxTokens);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('lose no text, and share text only if they overlap by design', () => {
    fc.assert(
      fc.property(documents, (text) => {
        let at = 0;
        for (const chunk of chunksOf(text)) {
          expect(normalise(text.slice(at, chunk.start))).toBe('');
          if (settings.strategy !== 'fixed') expect(chunk.start).toBeGreaterThanOrEqual(at);
          expect(chunk.end).toBeGreaterThan(at);
          at = chunk.end;
        }
        expect(normalise(text.slice(at))).toBe('');
      }),
      { numRuns: 60 },
    );
  });

  test('begin and end between letters, however many characters a letter is made of', () => {
    const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
    fc.assert(
      fc.property(documents, (text) => {
        const borders = new Set([...segmenter.segment(text)].map(({ index }) => index)).add(text.length);
        for (const { start, end } of chunksOf(text))
          expect([start, end].filter((at) => !borders.has(at))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test('are the same every time, whatever was cut before', () => {
    fc.assert(
      fc.property(documents, documents, (text, other) => {
        const chunker = createChunker(settings, { countTokens });
        const first = [...chunker.chunks(text)];
        Array.from(chunker.chunks(other));
        expect([...chunker.chunks(text)]).toEqual(first);
      }),
      { numRuns: 20 },
    );
  });

  test('respect the limit of a counter that counts more for the whole than for its parts, or nothing at all', () => {
    const growing: CountTokens = (text) => Math.ceil(text.length ** 1.3 / 20);
    fc.assert(
      fc.property(documents, (text) => {
        for (const { tokens } of chunksOf(text, growing))
          expect(tokens).toBeLessThanOrEqual(settings.maxTokens);
        const seen = chunksOf(text, () => 0).map((chunk) => chunk.end - chunk.start);
        expect(Math.max(0, ...seen)).toBeLessThanOrEqual(settings.maxTokens * 16);
      }),
      { numRuns: 60 },
    );
  });

  test('are empty for a text without words', () => {
    for (const text of ['', ' \n\t\r\n\u00a0', '\0\0', '\ufeff']) expect(chunksOf(text)).toEqual([]);
  });
});

/** What was counted: how often, and how much in all and at once. */
function counted(settings: ChunkerSettings, text: string, atMost = Number.POSITIVE_INFINITY) {
  const counts = { calls: 0, units: 0, longest: 0, chunks: 0 };
  const chunker = createChunker(settings, {
    countTokens: (part) => {
      counts.calls += 1;
      counts.units += part.length;
      counts.longest = Math.max(counts.longest, part.length);
      return Math.ceil(part.length / 4);
    },
  });
  let last: Chunk | null = null;
  for (const chunk of chunker.chunks(text)) {
    last = chunk;
    counts.chunks += 1;
    if (counts.chunks >= atMost) break;
  }
  return { ...counts, end: last?.end ?? 0 };
}

const repeated = (part: string, units: number) => part.repeat(Math.ceil(units / part.length));
const mebibyte = 1024 * 1024;

describe('a text without end', () => {
  const shapes: Record<string, (units: number) => string> = {
    'of one word': (units) => repeated('qwertyuiopasdfghjklzxcvbnm0123456789', units),
    'of one line of words': (units) => repeated('lorem ipsum dolor ', units),
    'of one line of sentences': (units) => repeated('Lorem ipsum dolor sit amet. ', units),
    'of dots': (units) => repeated('.', units),
    'of blanks': (units) => `a${repeated(' ', units)}b`,
    'of short paragraphs': (units) => repeated('lorem ipsum\n\n', units),
    'of headings': (units) => repeated('# lorem\n', units),
    'of items': (units) => repeated('- lorem ipsum\n', units),
    'of fences in items that nobody closes': (units) => repeated('- ```js\n', units),
    'of rows': (units) => `| a | b |\n|---|---|\n${repeated('| lorem | ipsum |\n', units)}`,
    'of code': (units) => `\`\`\`\n${repeated('  lorem = ipsum\n', units)}`,
    'of letters with marks': (units) => repeated('e\u0301😀', units),
    'of one letter with marks': (units) => `a${repeated('\u0301', units)}`,
  };

  test.each(Object.keys(shapes))('%s is counted in short parts, a bounded number of times', (name) => {
    const text = shapes[name]?.(mebibyte / 32) ?? '';
    for (const settings of strategies) {
      const counts = counted(settings, text);
      expect(counts.longest).toBeLessThanOrEqual(settings.maxTokens * 16);
      expect(counts.units).toBeLessThanOrEqual(text.length * 8);
      expect(counts.calls).toBeLessThanOrEqual(text.length * 2);
      expect(counts.end).toBeGreaterThanOrEqual(text.trimEnd().length);
    }
  });

  test('yields its first chunks before the rest is read', () => {
    const text = repeated('lorem ipsum dolor ', 20 * mebibyte);
    for (const settings of strategies) {
      const counts = counted(settings, text, 3);
      expect(counts.chunks).toBe(3);
      expect(counts.units).toBeLessThan(20_000);
    }
  });

  test('a text of twenty megabytes in one line is cut to its end', () => {
    const text = repeated('lorem ipsum dolor ', 20 * mebibyte).trimEnd();
    const counts = counted({ strategy: 'markdown', maxTokens: 400 }, text);
    expect(counts.end).toBe(text.length);
    expect(counts.calls).toBeLessThan(text.length / 4);
    expect(counts.units).toBeLessThan(text.length * 5);
  });
});
