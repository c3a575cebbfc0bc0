import { describe, expect, test } from 'vitest';
import { type Compiled, LinearPatterns } from './linear-patterns.ts';
import { translatePattern } from './translate-pattern.ts';

const problemOf = (pattern: string) => {
  const translated = translatePattern(pattern);
  return 'problem' in translated ? translated.problem : null;
};

function compiled(pattern: string): Exclude<Compiled, { problem: string }> {
  const found = new LinearPatterns().get(pattern);
  if ('problem' in found) throw new Error(`The pattern ${pattern} ${found.problem}`);
  return found;
}

describe('a construct that needs backtracking', () => {
  const unsupported: [string, string][] = [
    ['abc(?=d)', 'has the lookahead (?= at position 4, which is not supported'],
    ['^(?!x)', 'has the negative lookahead (?! at position 2, which is not supported'],
    ['(?<=a)b', 'has the lookbehind (?<= at position 1, which is not supported'],
    ['x(?<!a)b', 'has the negative lookbehind (?<! at position 2, which is not supported'],
    ['(a)b\\1', 'has the back-reference \\1 at position 5, which is not supported'],
    ['(?<n>a)\\k<n>', 'has the back-reference \\k<n> at position 8, which is not supported'],
    ['(a{50}){50}', 'has more than 1000 repetitions with {50} at position 8, which is not supported'],
    ['a{1001}', 'has more than 1000 repetitions with {1001} at position 2, which is not supported'],
    ['[a-z]{1,2000}?', 'has more than 1000 repetitions with {1,2000}? at position 6, which is not supported'],
    ['x\\p{scx=Greek}', 'has the property \\p{scx=Greek} at position 2, which is not supported'],
  ];
  test.each(unsupported)('is named with its place: %s', (pattern, problem) => {
    expect(problemOf(pattern)).toBe(problem);
  });

  test('is not seen in an escape or a class', () => {
    for (const pattern of ['\\(?=', '[(?=]', '\\\\1', '[\\\\1]'])
      expect(problemOf(pattern), pattern).toBeNull();
  });
});

test('a pattern that is not one, or too large when written out, is refused', () => {
  for (const pattern of ['(', '[z-a]', 'a**', '\\p{Nonsense}', '{1}']) {
    expect(problemOf(pattern), pattern).toMatch(/^is not a regular expression/);
  }
  expect(problemOf('(abcdef){200}')).toMatch(/^needs 1201 steps .* at most 1000 are allowed$/);
  expect(problemOf('(a|b|c){250}')).toMatch(/^needs /);
});

test('a pattern that the engine does not know is a problem and not a crash', () => {
  expect(new LinearPatterns().get('\\p{ID_Start}')).toEqual({
    problem: 'is not supported: invalid character class range: `\\p{ID_Start}`',
  });
});

test('the time for a text grows with its length only', () => {
  // A backtracking engine needs 2^1000 steps for the first, and 2000^3 for the last.
  for (const pattern of ['^(a|a)*$', '(a+)+$', '^(a|aa)+$', 'a*a*a*x', '^(?:a?){400}x$']) {
    expect(compiled(pattern).test(`${'a'.repeat(1_999)}b`), pattern).toBe(false);
  }
});

test('compiled patterns are kept, at most 2,000 of them, and forgotten when they need too much memory', () => {
  let heapBytes = 0;
  const patterns = new LinearPatterns(() => heapBytes);
  expect(patterns.get('^a$')).toBe(patterns.get('^a$'));
  for (let at = 0; at < 2_500; at += 1) patterns.get(`^a${at}$`);
  expect(patterns.kept).toBeLessThanOrEqual(2_000);
  patterns.limitMemory();
  expect(patterns.kept).toBeGreaterThan(0);
  heapBytes = 1024 ** 3;
  patterns.limitMemory();
  expect(patterns.kept).toBe(0);
});

describe('a supported pattern', () => {
  test('means the same as in ECMAScript', () => {
    for (const pattern of somePatterns) {
      const linear = compiled(pattern);
      const backtracking = new RegExp(pattern, 'u');
      for (const text of someTexts) {
        expect([pattern, text, linear.test(text)]).toEqual([pattern, text, backtracking.test(text)]);
      }
    }
  });

  test('means the same as in ECMAScript, for random patterns and texts', () => {
    const random = randomFrom(4_711);
    let agreed = 0;
    for (let at = 0; at < 2_000; at += 1) {
      const pattern = randomPattern(random, 3);
      const backtracking = new RegExp(pattern, 'u');
      if (pattern.length > 80 || problemOf(pattern) !== null) continue;
      const linear = compiled(pattern);
      for (let one = 0; one < 10; one += 1) {
        const text = Array.from({ length: random(7) }, () => pick(random, letters)).join('');
        expect([pattern, text, linear.test(text)]).toEqual([pattern, text, backtracking.test(text)]);
        agreed += 1;
      }
    }
    expect(agreed).toBeGreaterThan(10_000);
  });
});

const someTexts = [
  ...[
    '',
    'a',
    'ab',
    '\n',
    '\r',
    '\u2028',
    '\u00a0',
    '\ufeff',
    ' ',
    '\v',
    'ä',
    '😀',
    '[:alpha:]',
    ':',
    '7',
    '_',
  ],
  ...['\b', '-', ']', '^', '\0', 'αβγ', 'Å', 'x y', 'line\nline'],
];
const somePatterns = [
  String.raw`^.$ \s \S [\s] [\S] [^\s] [^\S] ^[^]$ [] [[:alpha:\]] [[a] \w \W [\W_] [\b] \bline\b \B`,
  String.raw`\u0041|\u{61} [\u{1F600}-\u{1F64F}] \uD83D\uDE00 [\uD83D\uDE00] 😀 [😀] \p{L} \P{L} [\p{Lu}\d] \p{gc=Nd}`,
  String.raw`\p{Script=Greek} \p{sc=Latin} \p{Alphabetic} \cJ \x41 \0 [\0] [\cJ] [-] [a\-z] [\]] [\^] [a^] [-a] \/`,
  String.raw`\^\$ \p{Letter} ^(?<name>a)b?$ (?:a|b){2} a{0}b a{01,2} a{2,} a*? (|a)b () ^$ a|^$ (?:)* [a-]`,
].flatMap((line) => line.split(' '));
const letters = ['a', 'b', '7', ' ', '\n', '\r', '-', '_', 'ä', '\u00a0', '😀', ']', '\u2028', 'Σ'];
const atoms = [
  'a',
  'b',
  '7',
  '.',
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '[ab]',
  '[^ab]',
  '[\\s7]',
  '[^\\S]',
  '[a-z]',
  '[^\\d_]',
  '\\p{L}',
  '\\P{L}',
  '[\\p{Lu}-]',
  '😀',
  '\\u00e4',
  '[^]',
  '-',
];
const edges = ['^', '$', '\\b', '\\B'];

type Random = (below: number) => number;

function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const pick = <One>(random: Random, all: readonly One[]): One => all[random(all.length)] as One;

function randomPattern(random: Random, depth: number): string {
  return Array.from({ length: 1 + random(3) }, () => {
    if (random(5) === 0) return pick(random, edges);
    const nested = () => randomPattern(random, depth - 1);
    const atom =
      depth === 0 || random(3) > 0
        ? pick(random, atoms)
        : pick(random, [
            () => `(${nested()})`,
            () => `(?:${nested()}|${nested()})`,
            () => `(?<n${random(1e9)}>${nested()})`,
          ])();
    return atom + pick(random, ['', '', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '+?', '{0,2}?']);
  }).join('');
}
