import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { guardedFetch, serveSite } from '../../../../test/support/fakes/local-site.ts';
import { secretsHere } from '../../../../test/support/worlds/secrets.ts';
import { secretErrors } from '../../../kernel/secrets/errors.ts';
import { defineReranker, findRerankerProblems, type RerankerDefinition } from './define-reranker.ts';
import { openRerankers, type RerankerDeps } from './open-reranker.ts';
import type { RerankerSettings } from './reranker.ts';

/** What each provider documents: a field that is not listed, or has another type, is refused. */
const documented = {
  cohere: z.strictObject({
    model: z.string(),
    query: z.string(),
    documents: z.array(z.string()).max(1_000),
    top_n: z.int().optional(),
    max_tokens_per_doc: z.int().optional(),
    priority: z.int().optional(),
  }),
  jina: z.strictObject({
    model: z.string(),
    query: z.string(),
    documents: z.array(z.string()),
    top_n: z.int().optional(),
    return_documents: z.boolean().optional(),
  }),
  voyage: z.strictObject({
    model: z.string(),
    query: z.string(),
    documents: z.array(z.string()).max(1_000),
    top_k: z.int().optional(),
    return_documents: z.boolean().optional(),
    truncation: z.boolean().optional(),
  }),
};

const texts = ['about bread', 'about cars', 'about weather'];
/** Best first, as all of them return it: cars, weather, bread. */
const ranked = [
  { index: 1, relevance_score: 0.98 },
  { index: 2, relevance_score: 0.4 },
  { index: 0, relevance_score: 0.01 },
];
const answers = {
  cohere: { id: '07734bd2', results: ranked, meta: { api_version: { version: '2' } } },
  jina: {
    model: 'jina-reranker-v2-base-multilingual',
    usage: { total_tokens: 12 },
    results: ranked.map((one) => ({ ...one, document: { text: texts[one.index] } })),
  },
  voyage: { object: 'list', data: ranked, model: 'rerank-2', usage: { total_tokens: 12 } },
};
const key = 'co-very-secret-key-987654';

async function serve(
  reply: (body: unknown, authorization: string | undefined) => { status?: number; body: unknown },
) {
  const asked: unknown[] = [];
  const site = await serveSite('127.0.0.1', async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    asked.push(JSON.parse(text));
    const { status = 200, body } = reply(JSON.parse(text), request.headers.authorization);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const settings: RerankerSettings = {
    provider: 'endpoint',
    url: `http://127.0.0.1:${site.port}/v2/rerank`,
    model: 'rerank-v3.5',
    apiKeySecret: 'cohere',
    candidates: 50,
  };
  return { asked, settings };
}

function open({
  custom = [],
  isBlocked = false,
}: {
  custom?: RerankerDefinition[];
  isBlocked?: boolean;
} = {}) {
  const events: string[] = [];
  const named = (dependency: unknown) => JSON.stringify(dependency);
  const breakers: RerankerDeps['breakers'] = {
    check: async (dependency) => {
      events.push(`check ${named(dependency)}`);
      return { allowed: true, isProbe: false, hasFailed: true };
    },
    recordSuccess: async () => void events.push('success'),
    recordFailure: async () => void events.push('failure'),
    returnProbe: async () => {},
  };
  const rerankers = openRerankers({
    fetch: guardedFetch({ blockPrivateAddresses: isBlocked }),
    secrets: secretsHere((name) => {
      if (name === 'cohere') return key;
      throw secretErrors.raise.secret_not_found(`There is no secret ${name}`);
    }),
    breakers,
    custom,
  });
  onTestFinished(() => rerankers.close());
  const { signal } = new AbortController();
  const rerank = (settings: RerankerSettings) =>
    rerankers.rerank(settings, { tenantId: 't1', query: 'which car', texts, signal });
  return { events, rerank };
}

describe('an endpoint', () => {
  for (const provider of ['cohere', 'jina', 'voyage'] as const) {
    test(`of the form of ${provider} gets what its documentation asks for, and its order is read`, async () => {
      const { asked, settings } = await serve((body, authorization) => {
        documented[provider].parse(body);
        return authorization === `Bearer ${key}` ? { body: answers[provider] } : { status: 401, body: {} };
      });
      const { events, rerank } = open();
      expect(await rerank(settings)).toEqual({ scores: [0.01, 0.98, 0.4] });
      expect(asked).toEqual([{ model: 'rerank-v3.5', query: 'which car', documents: texts }]);
      const host = new URL(settings.provider === 'endpoint' ? settings.url : '').host;
      // The breaker is that of the tenant.
      expect(events).toEqual([`check {"tenantId":"t1","name":"reranker ${host}"}`, 'success']);
    });
  }

  test('that leaves texts out has them last', async () => {
    const { settings } = await serve(() => ({ body: { results: [{ index: 2, relevance_score: -3 }] } }));
    expect(await open().rerank(settings)).toEqual({ scores: [-4, -4, -3] });
  });

  test('that fails leaves the order of the search, with the reason and without the key', async () => {
    const cases = [
      { reply: { status: 500, body: { message: `boom ${key}` } }, code: 'reranker_failed', counts: true },
      {
        reply: { status: 401, body: { message: 'invalid api token' } },
        code: 'reranker_unauthorized',
        counts: false,
      },
      { reply: { status: 429, body: {} }, code: 'reranker_rate_limited', counts: false },
      { reply: { status: 404, body: { detail: 'no model' } }, code: 'reranker_refused', counts: false },
      {
        reply: { body: { results: [{ index: 7, relevance_score: 1 }] } },
        code: 'reranker_answer_unreadable',
        counts: true,
      },
      {
        reply: { body: { results: [{ index: 0, relevance_score: 'high' }] } },
        code: 'reranker_answer_unreadable',
        counts: true,
      },
      { reply: { body: {} }, code: 'reranker_answer_unreadable', counts: true },
    ];
    for (const { reply, code, counts } of cases) {
      const { settings } = await serve(() => reply);
      const { events, rerank } = open();
      const answer = await rerank(settings);
      expect(answer).toEqual({ note: expect.stringContaining(code) });
      expect(JSON.stringify(answer)).not.toContain(key);
      expect(events.includes('failure'), code).toBe(counts);
    }
  });

  test('is not reached with a key that is missing, or in a private network', async () => {
    const { asked, settings } = await serve(() => ({ body: answers.cohere }));
    const missing = { ...settings, apiKeySecret: 'other' } as RerankerSettings;
    expect(await open().rerank(missing)).toEqual({ note: expect.stringContaining('reranker_unauthorized') });
    expect(await open({ isBlocked: true }).rerank(settings)).toHaveProperty('note');
    expect(asked).toEqual([]);
  });
});

describe('a reranker of the config file', () => {
  const settings = { provider: 'custom', name: 'house', candidates: 50 } as const;

  test('orders by its numbers, and gets the question and the texts', async () => {
    const house = defineReranker({
      name: 'house',
      rerank: (query, given) => given.map((text) => (text.includes(query.slice(-3)) ? 1 : 0)),
    });
    expect(await open({ custom: [house] }).rerank(settings)).toEqual({ scores: [0, 1, 0] });
  });

  test('that throws, returns too little, hangs or does not exist leaves the order of the search', async () => {
    const definitions: [RerankerDefinition, string][] = [
      [{ name: 'house', rerank: () => Promise.reject(new Error('no model')) }, 'reranker_failed'],
      [{ name: 'house', rerank: () => [1] }, 'reranker_misbehaved'],
      [{ name: 'house', rerank: () => [1, Number.NaN, 2] }, 'reranker_misbehaved'],
      [{ name: 'house', timeoutMs: 20, rerank: () => new Promise(() => {}) }, 'reranker_unreachable'],
      [{ name: 'other', rerank: () => [1, 2, 3] }, 'reranker_unknown'],
    ];
    for (const [definition, code] of definitions) {
      expect(await open({ custom: [definition] }).rerank(settings)).toEqual({
        note: expect.stringContaining(code),
      });
    }
  });

  test('is checked where it is written', () => {
    const rerank = () => [];
    expect(findRerankerProblems([{ name: 'a', rerank }])).toEqual([]);
    expect(findRerankerProblems({})).toEqual([expect.stringContaining('array')]);
    expect(findRerankerProblems([{ name: 'A', rerank }, { name: 'b' }])).toEqual([
      expect.stringMatching(/^number 1: .*lower-case/),
      expect.stringMatching(/^number 2: .*function/),
    ]);
    expect(() => defineReranker({ name: 'a', rerank, timeoutMs: 0 })).toThrow(/timeoutMs/);
  });
});
