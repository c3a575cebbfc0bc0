import { describe, expect, test } from 'vitest';
import { guardedFetch, serveSite } from '../../../../test/support/fakes/local-site.ts';
import { lentHere } from '../../../../test/support/worlds/secrets.ts';
import { fetchErrors } from '../../../lib/fetch/errors.ts';
import { type OpenAiDependencies, type OpenAiSettings, openOpenAiEmbedder } from './openai.ts';

interface EmbeddingRequest {
  model: string;
  input: string[];
  encoding_format: string;
  dimensions?: number;
}

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is a text. */
  body: unknown;
}

const key = 'sk-very-secret-key-123456';
const { signal } = new AbortController();

/** A provider that speaks the API, and what it was asked. */
async function openProvider(reply: (request: EmbeddingRequest, call: number) => Reply | null) {
  const requests: EmbeddingRequest[] = [];
  const site = await serveSite('127.0.0.1', async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const asked = JSON.parse(text) as EmbeddingRequest;
    requests.push(asked);
    const answer = reply(asked, requests.length);
    if (answer === null) return;
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  const open = (settings: Partial<OpenAiSettings> = {}, dependencies: Partial<OpenAiDependencies> = {}) =>
    openOpenAiEmbedder(
      {
        provider: 'openai',
        baseUrl: `http://127.0.0.1:${site.port}/v1/`,
        model: 'm-1',
        dimensions: 4,
        apiKeySecret: 'openai',
        pricePerMillionTokens: 0.02,
        ...settings,
      },
      {
        fetch: guardedFetch({ blockPrivateAddresses: false }),
        readKey: async () => lentHere(`${key}\n`),
        countTokens: (words) => words.length / 4,
        ...dependencies,
      },
      { signal },
    );
  return { site, requests, open };
}

/** Vectors that tell their text: its length comes first. */
const vectorOf = (text: string) => [text.length, 1, 0, 0];
const base64Of = (values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString('base64');
const answerOf = ({ input, encoding_format }: EmbeddingRequest): Reply => ({
  body: {
    object: 'list',
    data: input.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: encoding_format === 'base64' ? base64Of(vectorOf(text)) : vectorOf(text),
    })),
  },
});
const refusal =
  (status: number, error: unknown, headers: Record<string, string> = {}) =>
  () => ({
    status,
    headers,
    body: { error },
  });
const firstOf = (vectors: Float32Array[]) =>
  vectors.map(([first = 0, second = 1]) => Math.round(first / second));

describe('a call', () => {
  test('sends model, texts, dimensions and key, and returns vectors of length 1 in order', async () => {
    const { site, requests, open } = await openProvider(answerOf);
    const embedder = await open();
    const vectors = await embedder.embed(['a', 'bbb', 'cc'], { signal });
    expect(requests).toEqual([
      { model: 'm-1', input: ['a', 'bbb', 'cc'], encoding_format: 'base64', dimensions: 4 },
    ]);
    expect(site.requests[0]).toMatchObject({
      method: 'POST',
      url: '/v1/embeddings',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    expect(firstOf(vectors)).toEqual([1, 3, 2]);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 6);
    expect(embedder).toMatchObject({
      provider: 'openai',
      model: 'm-1',
      dimensions: 4,
      pricePerMillionTokens: 0.02,
    });
  });

  test('takes the order from the indexes, not from the position in the response', async () => {
    const { open } = await openProvider((request) => {
      const { data } = answerOf(request).body as { data: unknown[] };
      return { body: { data: data.toReversed() } };
    });
    expect(firstOf(await (await open()).embed(['a', 'bbb', 'cc'], { signal }))).toEqual([1, 3, 2]);
  });

  test('sends neither key nor dimensions if the settings have none', async () => {
    const { site, requests, open } = await openProvider(answerOf);
    const embedder = await open({ dimensions: null }, { readKey: async () => null });
    expect(embedder.dimensions).toBe(4);
    await embedder.embed(['a'], { signal });
    expect(requests.map((request) => 'dimensions' in request)).toEqual([false, false]);
    expect(site.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  test('knows the dimensions of well-known models without asking', async () => {
    const { requests, open } = await openProvider(answerOf);
    const embedder = await open({ model: 'text-embedding-3-small', dimensions: null });
    expect([embedder.dimensions, requests.length]).toEqual([1536, 0]);
  });

  test('is not made for no texts, and is split if there are more texts than one call may have', async () => {
    const { requests, open } = await openProvider(answerOf);
    const embedder = await open();
    expect(await embedder.embed([], { signal })).toEqual([]);
    expect(requests).toHaveLength(0);
    const texts = Array.from({ length: 150 }, (_, index) => 'x'.repeat(index + 1));
    expect(firstOf(await embedder.embed(texts, { signal }))).toEqual(texts.map(({ length }) => length));
    expect(requests.map(({ input }) => input.length)).toEqual([64, 64, 22]);
    await embedder.embed(Array(20).fill('y'.repeat(8_000)), { signal });
    expect(requests.slice(3).map(({ input }) => input.length)).toEqual([12, 8]);
  });

  test('is not made for a text that is too long, whether it was counted or not', async () => {
    const { requests, open } = await openProvider(answerOf);
    const embedder = await open();
    for (const length of [8_191 * 4 + 4, 8_191 * 16 + 1]) {
      await expect(embedder.embed(['fine', 'x'.repeat(length)], { signal })).rejects.toMatchObject({
        code: 'embedder_text_too_long',
        kind: 'invalid',
        message: expect.stringContaining('Text 2 of 2'),
      });
    }
    expect(requests).toHaveLength(0);
    expect(await embedder.embed(['x'.repeat(8_191 * 4)], { signal })).toHaveLength(1);
  });
});

describe('an endpoint without base64', () => {
  test('may return lists of numbers', async () => {
    const { requests, open } = await openProvider((request) =>
      answerOf({ ...request, encoding_format: 'float' }),
    );
    expect(firstOf(await (await open()).embed(['a', 'bbb'], { signal }))).toEqual([1, 3]);
    expect(requests).toHaveLength(1);
  });

  test.each([
    [400, { error: { message: 'Unknown value', param: 'encoding_format' } }],
    [422, { detail: [{ loc: ['body', 'encoding_format'], msg: 'unexpected' }] }],
  ])(
    'an endpoint without base64 that refuses it (%i) is asked again for numbers, and from then on',
    async (status, body) => {
      const { requests, open } = await openProvider((request) =>
        request.encoding_format === 'base64' ? { status, body } : answerOf(request),
      );
      const embedder = await open();
      await embedder.embed(['a'], { signal });
      await embedder.embed(['b'], { signal });
      expect(requests.map(({ encoding_format: encoding }) => encoding)).toEqual(['base64', 'float', 'float']);
    },
  );
});

describe('a refusal', () => {
  test.each([
    [400, { message: 'bad input' }, 'embedder_refused', 'invalid'],
    [413, { message: 'too large' }, 'embedder_refused', 'invalid'],
    [422, { message: 'input' }, 'embedder_refused', 'invalid'],
    [400, { message: 'no', param: 'dimensions' }, 'embedder_misconfigured', 'conflict'],
    [400, { message: 'no', param: 'model' }, 'embedder_misconfigured', 'conflict'],
    [401, { message: 'who?' }, 'embedder_unauthorized', 'forbidden'],
    [403, { message: 'no' }, 'embedder_unauthorized', 'forbidden'],
    [402, { message: 'pay' }, 'embedder_quota_exhausted', 'forbidden'],
    [429, { message: 'pay', code: 'insufficient_quota' }, 'embedder_quota_exhausted', 'forbidden'],
    [404, { message: 'no model', code: 'model_not_found' }, 'embedder_not_found', 'not_found'],
    [405, {}, 'embedder_not_found', 'not_found'],
    [307, {}, 'embedder_misconfigured', 'conflict'],
    [408, {}, 'embedder_failed', 'transient'],
    [429, { message: 'slow down' }, 'embedder_rate_limited', 'rate_limited'],
    [500, 'plain words', 'embedder_failed', 'transient'],
    [503, {}, 'embedder_failed', 'transient'],
  ])('%i %j is %s', async (status, error, code, kind) => {
    const { requests, open } = await openProvider(refusal(status, error, { location: '/v1/other' }));
    await expect((await open()).embed(['a'], { signal })).rejects.toMatchObject({
      code,
      kind,
      message: expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:\\d+ answered ${status}`)),
    });
    expect(requests).toHaveLength(1);
  });

  test('says how long to wait: in seconds, in milliseconds, by a date of the provider’s own clock', async () => {
    const waits: unknown[] = [];
    const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
    const headers: Record<string, string>[] = [
      { 'retry-after': '7' },
      { 'retry-after': '7', 'retry-after-ms': '1500' },
      { 'retry-after': 'Sun, 06 Nov 1994 08:51:37 GMT', date },
      { 'retry-after': '999999999' },
      { 'retry-after': 'soon' },
    ];
    const { open } = await openProvider((_, call) => refusal(429, {}, headers[call - 1])());
    const embedder = await open();
    for (const _ of headers) {
      const error = await embedder.embed(['a'], { signal }).catch((caught) => caught);
      expect(error.kind).toBe('rate_limited');
      waits.push(error.details.retryInMs);
    }
    expect(waits).toEqual([7_000, 1_500, 120_000, 24 * 3_600_000, undefined]);
  });

  test('with status 503 and a time to wait counts as a rate limit', async () => {
    const { open } = await openProvider(refusal(503, {}, { 'retry-after': '3' }));
    await expect((await open()).embed(['a'], { signal })).rejects.toMatchObject({
      code: 'embedder_rate_limited',
      details: { retryInMs: 3_000 },
    });
  });

  test('never shows the key, even if the provider does', async () => {
    const said = `Incorrect API key provided: ${key}. ${'and more '.repeat(100)}`;
    const { open } = await openProvider(refusal(401, { message: said }));
    const error = await (await open()).embed(['a'], { signal }).catch((caught) => caught);
    const { message, details, stack, cause } = error;
    expect(message).toContain('Incorrect API key provided: [redacted]');
    expect(message.length).toBeLessThan(400);
    expect(JSON.stringify({ message, details, stack, cause })).not.toContain('very-secret');
  });

  test('without a key says that none was sent', async () => {
    const { open } = await openProvider(refusal(401, {}));
    const embedder = await open({}, { readKey: async () => null });
    await expect(embedder.embed(['a'], { signal })).rejects.toThrow('api_key_secret');
  });
});

describe('a response', () => {
  const entry = (embedding: unknown, index: unknown = 0) => ({ index, embedding });
  test.each([
    ['no JSON', '<html>maintenance</html>', 'embedder_answer_unreadable'],
    ['nothing', '', 'embedder_answer_unreadable'],
    ['no list', { data: {} }, 'embedder_answer_unreadable'],
    ['too few vectors', { data: [] }, 'embedder_answer_unreadable'],
    [
      'too many vectors',
      { data: [entry([1, 0, 0, 0]), entry([1, 0, 0, 0], 1)] },
      'embedder_answer_unreadable',
    ],
    ['an index that is none', { data: [entry([1, 0, 0, 0], 5)] }, 'embedder_answer_unreadable'],
    ['an index as text', { data: [entry([1, 0, 0, 0], 'length')] }, 'embedder_answer_unreadable'],
    ['no vector', { data: [{ index: 0 }] }, 'embedder_answer_unreadable'],
    ['half a float', { data: [entry('AAAA')] }, 'embedder_answer_unreadable'],
    ['three dimensions', { data: [entry([1, 0, 0])] }, 'embedder_misconfigured'],
    ['five dimensions', { data: [entry(base64Of([1, 0, 0, 0, 0]))] }, 'embedder_misconfigured'],
    ['null among numbers', { data: [entry([1, null, 0, 0])] }, 'embedder_vector_unusable'],
    ['text among numbers', { data: [entry([1, '2', 0, 0])] }, 'embedder_vector_unusable'],
    ['NaN', { data: [entry(base64Of([1, Number.NaN, 0, 0]))] }, 'embedder_vector_unusable'],
    [
      'infinity',
      { data: [entry(base64Of([1, Number.POSITIVE_INFINITY, 0, 0]))] },
      'embedder_vector_unusable',
    ],
    ['only zeros', { data: [entry([0, 0, 0, 0])] }, 'embedder_vector_unusable'],
  ])('with %s is refused', async (_what, body, code) => {
    const { open } = await openProvider(() => ({ body }));
    await expect((await open()).embed(['a'], { signal })).rejects.toMatchObject({ code });
  });

  test('a response that gives two vectors the same index is refused', async () => {
    const { open } = await openProvider(() => ({
      body: { data: [entry([1, 0, 0, 0]), entry([1, 0, 0, 0])] },
    }));
    await expect((await open()).embed(['a', 'b'], { signal })).rejects.toMatchObject({
      code: 'embedder_answer_unreadable',
    });
  });

  test('a response that is endless is cut off', async () => {
    const { open } = await openProvider(() => ({ body: `"${'x'.repeat(3 * 1024 * 1024)}"` }));
    await expect((await open()).embed(['a'], { signal })).rejects.toMatchObject({
      code: 'embedder_answer_unreadable',
    });
  });
});

describe('without a response', () => {
  test('a provider that is down or silent is a transient error', async () => {
    const { open } = await openProvider(() => null);
    const silent = await open({}, { timeoutMs: 200 });
    await expect(silent.embed(['a'], { signal })).rejects.toMatchObject({ code: 'embedder_unreachable' });
    const down = await open({ baseUrl: 'http://127.0.0.1:2/v1' });
    await expect(down.embed(['a'], { signal })).rejects.toMatchObject({ kind: 'transient' });
  });

  test('an address that may not be called is an error of the settings, not of the text', async () => {
    const { requests, open } = await openProvider(answerOf);
    const embedder = await open({}, { fetch: guardedFetch({ blockPrivateAddresses: true }) });
    await expect(embedder.embed(['a'], { signal })).rejects.toMatchObject({
      code: 'embedder_misconfigured',
      kind: 'conflict',
    });
    expect(requests).toHaveLength(0);
  });

  test('a key that is not valid in a header is reported without its value', async () => {
    const { open } = await openProvider(answerOf);
    const embedder = await open({}, { readKey: async () => lentHere('sk-two\nlines-of-key') });
    const error = await embedder.embed(['a'], { signal }).catch((caught) => caught);
    expect(error).toMatchObject({ code: 'embedder_misconfigured' });
    expect(error.message).toContain('authorization');
    expect(error.message).not.toContain('lines-of-key');
  });

  test('a caller that aborts gets its own reason, before and during the call', async () => {
    const giveUp = new AbortController();
    // One of ours, which must not be taken for an error of the exchange.
    const reason = fetchErrors.raise.fetch_failed('the lease is gone');
    const { requests, open } = await openProvider(() => {
      giveUp.abort(reason);
      return null;
    });
    const embedder = await open();
    await expect(embedder.embed(['a'], { signal: giveUp.signal })).rejects.toBe(reason);
    await expect(embedder.embed(['a'], { signal: giveUp.signal })).rejects.toBe(reason);
    expect(requests).toHaveLength(1);
  });
});
