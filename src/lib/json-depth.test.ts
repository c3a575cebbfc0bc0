import { describe, expect, test } from 'vitest';
import { findTooDeep, parseForeignJson, refuseDeepJson } from './json-depth.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const offsetIn = (text: string, maxDepth?: number) => findTooDeep(Buffer.from(text), maxDepth);

describe('the depth of JSON', () => {
  test('is allowed up to 64 levels, and the bracket of level 65 is named by its offset', () => {
    expect(offsetIn(nested(64))).toBe(-1);
    expect(offsetIn(nested(65))).toBe(64);
    expect(offsetIn(`{"é":${nested(64)}}`)).toBe('{"é":'.length + 1 + 63);
    expect(() => refuseDeepJson(nested(65), 'The body')).toThrow(/The body .* 64 levels.* at byte 64/);
  });

  test.each([
    ['brackets in a string', `["${'['.repeat(500)}"]`],
    ['an escaped quote before brackets', `["\\"${'['.repeat(500)}"]`],
    ['an escaped backslash at the end of a string', `["\\\\", ${nested(63)}]`],
    ['brackets in a key', `{"${'{'.repeat(500)}":1}`],
    ['many brackets side by side', `[${'[],'.repeat(500)}[]]`],
    ['no JSON at all', ']]]]} nothing "'],
    ['a backslash at the very end', '["\\'],
    ['nothing', ''],
  ])('does not count %s', (_what, text) => {
    expect(offsetIn(text)).toBe(-1);
  });

  test.each([
    ['objects', '{"a":'.repeat(65)],
    ['objects and arrays by turns', '[{"a":'.repeat(33)],
    ['brackets after an escaped backslash', `["\\\\",${'['.repeat(64)}`],
    ['what is closed too often first', ']'.repeat(10) + '['.repeat(75)],
    ['half a million brackets', '['.repeat(500_000)],
  ])('counts %s, though the text never ends', (_what, text) => {
    expect(offsetIn(text)).toBeGreaterThanOrEqual(0);
  });

  test('agrees with a parser on random JSON', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const strings = ['', '[', '"', '\\', '{"', '\\"[', '\n', 'é]}'];
    const make = (levels: number): unknown => {
      const kind = levels === 0 ? random(2) : random(4);
      if (kind === 0) return random(1000);
      if (kind === 1) return strings[random(strings.length)];
      const inner = Array.from({ length: random(3) }, () => make(levels - 1));
      return kind === 2 ? inner : Object.fromEntries(inner.map((value, at) => [strings[at] ?? at, value]));
    };
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    for (let round = 0; round < 2_000; round += 1) {
      const value = make(6);
      const text = JSON.stringify(value);
      for (const most of [1, 2, 3, 4]) expect(offsetIn(text, most) === -1, text).toBe(depthOf(value) <= most);
    }
  });
});

test('JSON of another server is parsed, or undefined when it is broken or too deep', () => {
  expect(parseForeignJson('{"a":[1]}')).toEqual({ a: [1] });
  expect(parseForeignJson(Buffer.from('{"é":1}'))).toEqual({ é: 1 });
  expect(parseForeignJson('<html>')).toBeUndefined();
  expect(parseForeignJson(nested(65))).toBeUndefined();
});
