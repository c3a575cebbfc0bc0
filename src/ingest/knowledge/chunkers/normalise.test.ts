import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentHash, isBlank, normalise, normaliseTitle, safeCut } from './normalise.ts';

const dirty = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\ud83d', '\ude00', '\ufeff', '\u00ad', '\r', '\n', '\t', ' ', '\u00a0', 'e\u0301'),
    fc.constantFrom('a', 'é', '😀', '\u2028', '\u3000', '\u0085', '\u0301', '\u000b'),
  ),
  maxLength: 60,
});

describe('normalised text', () => {
  test('is the same for the same words in other blanks, line ends and encodings', () => {
    const text = 'Café au lait\n\nNext line';
    expect(normalise('  Cafe\u0301  au\u00a0lait \r\n\r\n\r\n\r\nNext\t line\n')).toBe(text);
    expect(normalise('\ufeffCafé au\u3000lait\u2029\u2029Next li\u00adne')).toBe(text);
    expect(contentHash(normalise('Cafe\u0301  au lait'))).toBe(contentHash(normalise('Café au lait')));
  });

  test('keeps lines and their indentation, up to a depth', () => {
    expect(normalise('if x:\n    y  =  1\n\tz')).toBe('if x:\n    y = 1\n\tz');
    expect(normalise(`a\n${' '.repeat(5_000)}b`)).toBe(`a\n${' '.repeat(32)}b`);
  });

  test('has no NUL, no control character and no broken surrogate pair', () => {
    expect(normalise('a\0b\u0007c')).toBe('abc');
    expect(normalise('a\ud83d b \ude00c')).toBe('a\ufffd b \ufffdc');
    expect(normalise('\0\u0001\ufeff')).toBe('');
  });

  test('is not changed by normalising it again', () => {
    fc.assert(
      fc.property(dirty, (text) => {
        const once = normalise(text);
        expect(normalise(once)).toBe(once);
        expect(once).not.toMatch(/\0|\r|\s$|^\s|\n{3}/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a title', () => {
  test('is on one line, of limited length, and has whole characters', () => {
    expect(normaliseTitle(' One\n two ')).toBe('One two');
    const long = normaliseTitle(`x${'😀'.repeat(400)}`);
    expect(long.length).toBeLessThanOrEqual(300);
    expect(long).toMatch(/^x(?:😀)+…$/u);
  });
});

test('a cut within a surrogate pair is moved before it', () => {
  expect([0, 1, 2, 3].map((at) => safeCut('a😀b', at))).toEqual([0, 1, 1, 3]);
});

test('blanks are what JavaScript calls white space', () => {
  const different = Array.from({ length: 0x10000 }, (_, unit) => unit).filter(
    (unit) => isBlank(unit) !== /\s/.test(String.fromCharCode(unit)),
  );
  expect(different).toEqual([]);
});

test('a hash is the SHA-256 of the text in UTF-8', () => {
  expect(contentHash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
