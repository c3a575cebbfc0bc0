import { describe, expect, test } from 'vitest';
import { toEmbedder } from './custom-embedder.ts';
import { defineEmbedder, findEmbedderProblems } from './define-embedder.ts';
import { embedderErrors } from './errors.ts';

const { signal } = new AbortController();
const good = {
  name: 'mine',
  model: 'm-1',
  dimensions: 2,
  embed: (texts: readonly string[]) => texts.map(() => [3, 4]),
};
const failing = (error: unknown) =>
  toEmbedder({
    ...good,
    embed: () => {
      throw error;
    },
  });

describe('a definition', () => {
  test('becomes an embedder with limits, a price and vectors of length 1', async () => {
    const embedder = toEmbedder(
      defineEmbedder({ ...good, limits: { textsPerCall: 8 }, pricePerMillionTokens: 0.1 }),
    );
    expect(embedder).toMatchObject({
      provider: 'mine',
      model: 'm-1',
      dimensions: 2,
      pricePerMillionTokens: 0.1,
    });
    expect(embedder.limits).toEqual({
      textsPerCall: 8,
      tokensPerCall: 100_000,
      tokensPerText: 8_000,
      callsInFlight: 2,
    });
    const [first, second] = await embedder.embed(['a', 'b'], { signal });
    expect([first, second]).toEqual([Float32Array.of(0.6, 0.8), Float32Array.of(0.6, 0.8)]);
    expect(await embedder.embed([], { signal })).toEqual([]);
  });

  test.each([
    ['nothing', null, 'null'],
    ['a list', [], 'an array'],
    ['no name', { ...good, name: undefined }, 'needs a name'],
    ['a name in capitals', { ...good, name: 'Mine' }, 'needs a name'],
    ['a built-in name', { ...good, name: 'local' }, 'taken'],
    ['no model', { ...good, model: undefined }, 'model of the embedder mine is undefined'],
    ['an empty model', { ...good, model: '' }, '1 to 200 characters'],
    ['no embed', { ...good, embed: undefined }, 'embed of the embedder mine'],
    ['half a dimension', { ...good, dimensions: 1.5 }, 'whole number'],
    ['an unknown limit', { ...good, limits: { texts: 1 } }, 'limit texts'],
    ['a limit of 0', { ...good, limits: { textsPerCall: 0 } }, 'limit textsPerCall'],
    ['a misspelt member', { ...good, clsoe: () => {} }, 'perhaps close is meant'],
  ])('with %s is refused', (_what, definition, words) => {
    expect(() => toEmbedder(definition)).toThrow(words);
    const [problem] = findEmbedderProblems([definition]);
    expect(problem).toMatch(/^number 1: /);
  });

  test('a definition of a config file is reported with its number, and each name may be used once', () => {
    expect(findEmbedderProblems([good])).toEqual([]);
    expect(findEmbedderProblems([good, { ...good }])).toEqual(['number 2: Two embedders are named mine']);
    expect(findEmbedderProblems({})[0]).toContain('Allowed: an array');
  });
});

describe('what a custom embedder returns', () => {
  test.each([
    ['no list', 'x', 'a string for 1 texts', 'embedder_misbehaved'],
    [
      'too many vectors',
      [
        [1, 0],
        [1, 0],
      ],
      '2 vectors for 1 texts',
      'embedder_misbehaved',
    ],
    ['another length', [[1, 0, 0]], '3 numbers for text 1', 'embedder_misbehaved'],
    ['text', [['1', '0']], 'an array for text 1', 'embedder_misbehaved'],
    ['NaN', [[Number.NaN, 0]], 'text 1', 'embedder_vector_unusable'],
    ['zeros', [new Float32Array(2)], 'text 1', 'embedder_vector_unusable'],
  ])('is refused with %s', async (_what, answer, words, code) => {
    const embedder = toEmbedder({ ...good, embed: async () => answer });
    await expect(embedder.embed(['a'], { signal })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  });
});

describe('what a custom embedder throws', () => {
  test.each([
    [new Error('down'), 'embedder_failed', {}],
    ['down', 'embedder_failed', {}],
    [Object.assign(new Error('bad'), { kind: 'invalid' }), 'embedder_refused', {}],
    [Object.assign(new Error('key'), { kind: 'forbidden' }), 'embedder_unauthorized', {}],
    [
      Object.assign(new Error('slow'), { kind: 'rate_limited', retryInMs: 500 }),
      'embedder_rate_limited',
      { retryInMs: 500 },
    ],
    [embedderErrors.raise.embedder_not_found('gone'), 'embedder_not_found', {}],
  ])('%s becomes %s', async (error, code, details) => {
    await expect(failing(error).embed(['a'], { signal })).rejects.toMatchObject({ code, details });
  });

  test('is the reason of the caller’s signal if the caller aborted', async () => {
    const giveUp = new AbortController();
    const reason = new Error('enough');
    const embedder = toEmbedder({
      ...good,
      embed: async () => {
        giveUp.abort(reason);
        throw new Error('canceled');
      },
    });
    await expect(embedder.embed(['a'], { signal: giveUp.signal })).rejects.toBe(reason);
  });
});
