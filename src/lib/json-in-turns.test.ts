import { describe, expect, test } from 'vitest';
import { parseJsonInTurns } from './json-in-turns.ts';

const parsed = async (json: string | Buffer) => parseJsonInTurns(Buffer.from(json));
const filler = (units: number) => 'x'.repeat(units);
const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join(',');

/** What JSON.parse says of the same text is the judge. */
async function compare(json: string): Promise<void> {
  let expected: unknown;
  try {
    expected = { value: JSON.parse(json) };
  } catch {
    expected = { problem: 'not_json' };
  }
  const found = await parsed(json);
  // Not `toEqual`: its report of a difference would be megabytes long.
  expect(JSON.stringify(found) === JSON.stringify(expected), json.slice(0, 80)).toBe(true);
}

describe('large JSON', () => {
  const long = JSON.stringify(filler(40_000));
  const big = `[${many(3, () => long)}]`;
  const good = {
    'numbers, many': `[${many(100_000, String)}]`,
    'objects, many': `[${many(20_000, (at) => `{"a":${at},"b":[${at}]}`)}]`,
    'nested large containers': `{"first":1,"a":{"b":[${big},2,${big}],"c":${big}},"d":"e"}`,
    'texts with brackets, quotes and commas': `[${many(9_000, () => JSON.stringify('],"[\\{ä€😀'))}]`,
    'a text of a megabyte': `{"a":${JSON.stringify(filler(1_000_000))}}`,
    'a name that changes objects': `{"__proto__":${big},"constructor":${big}}`,
    'names that repeat or look like numbers': `{"b":${big},"2":${big},"1":1,"b":2,"a":${big}}`,
    'an array of spaces': `[${' '.repeat(100_000)}]`,
    'space around everything': ` \n{ "a" :\t${big} , "b" : [ ${big} , ${big} ] } \r\n`,
    'nothing but a text': JSON.stringify(filler(100_000)),
  };
  test.each(Object.entries(good))('is read as JSON.parse reads it: %s', async (_what, json) => {
    await compare(json);
    expect(await parsed(json)).toHaveProperty('value');
  });

  const bad = {
    'a comma at the end': `[${big},]`,
    'a comma at the beginning': `[,${big}]`,
    'two commas': `[${big},,${big}]`,
    'a comma missing': `[${big} ${big}]`,
    'a comma missing before a value': `[1 ${big}]`,
    'a comma missing after a piece': `[${many(20_000, String)} ${big}]`,
    'a name missing': `{${big}}`,
    'a name without quotes': `{a:${big}}`,
    'a number as a name': `{1:${big}}`,
    'a colon missing': `{"a"${big}}`,
    'a name in an array': `["a":${big}]`,
    'brackets that do not fit': `[${many(20_000, String)}}`,
    'a bracket missing': `[${big}`,
    'a bracket too many': `${big}]`,
    'two values': `${big}${big}`,
    'a comma only': `[${' '.repeat(70_000)},]`,
    'a text that is not closed': `["${filler(100_000)}]`,
    nothing: '',
  };
  test.each(Object.entries(bad))('is refused as by JSON.parse: %s', async (_what, json) => {
    await compare(json);
    expect(await parsed(json)).toEqual({ problem: 'not_json' });
  });

  test('is refused when it has 65 levels', async () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(await parsed(nested(64))).toHaveProperty('value');
    expect(await parsed(nested(65))).toEqual({ problem: 'too_deep' });
    expect(await parsed(`{"a":${big},"b":${nested(64)}}`)).toEqual({ problem: 'too_deep' });
    expect(await parsed('['.repeat(5_000_000))).toEqual({ problem: 'too_deep' });
  });

  test('may begin with a byte order mark', async () => {
    expect(await parsed('\ufeff{"a":1}')).toEqual({ value: { a: 1 } });
    expect(await parsed(`\ufeff${big}`)).toHaveProperty('value');
  });

  test('that is broken in any place is refused or read as by JSON.parse', async () => {
    const json = `{"a":${big},"b":[1,{"c":${big}}],"d":"e"}`;
    const signs = ['[', ']', '{', '}', ',', ':', '"', '1', ' ', '\\'];
    let seed = 4_711;
    for (let round = 0; round < 120; round += 1) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      // Near a piece of the grammar: inside of the long texts most changes are harmless.
      const places = [...json.matchAll(/[^x]/g)].map(({ index }) => index);
      const at = places[seed % places.length] ?? 0;
      const sign = signs[(seed >>> 8) % signs.length] ?? '';
      await compare(json.slice(0, at) + sign + json.slice(at + ((seed >>> 16) % 2)));
    }
  });
});

test('other work goes on while 8 MB of tiny values are read', async () => {
  let rounds = 0;
  const timer = setInterval(() => {
    rounds += 1;
  }, 1);
  await parsed(`[${many(1_500_000, () => '[],{}')}]`);
  clearInterval(timer);
  expect(rounds).toBeGreaterThan(10);
});
