import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type FlakyProvider,
  type Misbehaviour,
  startFlakyProvider,
} from '../../../../../../test/support/fakes/flaky-provider.ts';
import { itemsOf, processorContext } from '../../../../../../test/support/worlds/processor-context.ts';
import { jobErrors } from '../../../../../kernel/jobs/errors.ts';
import { secretErrors } from '../../../../../kernel/secrets/errors.ts';
import { createGuardedFetch } from '../../../../../lib/fetch/guarded-fetch.ts';
import type { ItemInput, ItemOutcome, ProcessorContext, ProviderCall } from '../types.ts';
import { httpProcessor } from './http.ts';

const fetch = createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'test/1' });
afterAll(() => fetch.close());

let provider: FlakyProvider;
let logged: ProviderCall[];

beforeEach(async () => {
  provider = await startFlakyProvider();
  logged = [];
  return () => provider.close();
});

function contextWith(changes: Partial<ProcessorContext> = {}): ProcessorContext {
  return processorContext({
    fetch,
    secret: async (name) => `the-${name}-secret`,
    log: (call) => logged.push(call),
    ...changes,
  });
}

const lookup = () => ({ request: { url: `${provider.url}/items/{{sku}}` } });
const process = (items: ItemInput[], options: unknown, changes?: Partial<ProcessorContext>) =>
  httpProcessor.process(items, options, contextWith(changes));

async function processOne(options: unknown, step?: Misbehaviour): Promise<ItemOutcome | undefined> {
  if (step) provider.script(step);
  return (await process(itemsOf({ sku: 'a' }), options))[0];
}

describe('a call per item', () => {
  test('gives each item its own result, in order, and is logged', async () => {
    const outcomes = await process(itemsOf({ sku: 'a' }, { sku: 'missing' }, { sku: 'c' }), lookup());
    expect(outcomes).toEqual([
      { status: 'DONE', result: { sku: 'a', title: 'Title of a' } },
      { status: 'NOT_FOUND', reason: expect.stringContaining(provider.host) },
      { status: 'DONE', result: { sku: 'c', title: 'Title of c' } },
    ]);
    const byItem = logged.toSorted((a, b) => Number(a.itemIds[0]) - Number(b.itemIds[0]));
    expect(byItem.map(({ itemIds, status, outcome }) => [itemIds, status, outcome])).toEqual([
      [[1], 200, 'done'],
      [[2], 404, 'not_found'],
      [[3], 200, 'done'],
    ]);
    expect(logged[0]).toMatchObject({ provider: `http:${provider.host}`, strategy: 'default' });
  });

  test('keeps every digit of long numbers', async () => {
    const text = '{"id":1234567890123456789,"price":1.5}';
    expect(await processOne(lookup(), { type: 'json', text })).toEqual({
      status: 'DONE',
      result: { id: '1234567890123456789', price: 1.5 },
    });
  });

  test('maps the response by dotted paths and JSON pointers', async () => {
    const body = { product: { names: [{ de: 'Rad' }] }, 'a/b': 1, nothing: null };
    const result = {
      title: 'product.names[0].de',
      same: '/product/names/0/de',
      odd: '/a~1b',
      gone: 'product.price',
      inherited: '__proto__',
      method: 'product.names.length',
    };
    const outcome = await processOne(
      { ...lookup(), response: { result } },
      { type: 'answer', status: 200, body },
    );
    expect(outcome).toEqual({
      status: 'DONE',
      result: { title: 'Rad', same: 'Rad', odd: 1, gone: null, inherited: null, method: null },
    });
  });

  test('keeps a result storable: no NUL, no broken surrogate pairs, and __proto__ as a key', async () => {
    const body = JSON.parse('{"a": "x\\u0000y", "b": "\\ud800", "__proto__": {"polluted": true}}');
    const outcome = await processOne(lookup(), { type: 'answer', status: 200, body });
    const result = outcome?.status === 'DONE' ? outcome.result : null;
    expect(JSON.stringify(result)).toBe('{"a":"x\ufffdy","b":"\ufffd","__proto__":{"polluted":true}}');
  });

  test('never runs more calls at once than it is allowed', async () => {
    provider.misbehave([{ misbehaviour: { type: 'slow', delayMs: 10 }, rate: 1 }]);
    const rows = Array.from({ length: 30 }, (_, index) => ({ sku: `s${index}` }));
    const outcomes = await process(itemsOf(...rows), lookup(), { concurrency: 3 });
    expect(outcomes.every(({ status }) => status === 'DONE')).toBe(true);
    expect(provider.calls).toHaveLength(30);
    expect(provider.mostAtOnce).toBe(3);
  });

  test('asks whether the items are still held before each call, and ends when they are not', async () => {
    let asked = 0;
    const assertHeld = async () => {
      asked += 1;
      if (asked === 3) throw jobErrors.raise.lease_lost('another worker has it');
    };
    const rows = Array.from({ length: 10 }, (_, index) => ({ sku: `s${index}` }));
    const outcome = process(itemsOf(...rows), lookup(), { assertHeld, concurrency: 1 });
    await expect(outcome).rejects.toMatchObject({ code: 'lease_lost' });
    expect(provider.calls).toHaveLength(2);
  });

  test('keeps what is finished when the slice is stopped, and gives the other attempts back', async () => {
    const stop = new AbortController();
    provider.script({ type: 'ok' }, { type: 'hang' });
    const changes = {
      signal: stop.signal,
      concurrency: 1,
      fetch: Object.assign((url: string, options: object) => {
        if (provider.calls.length === 1) setTimeout(() => stop.abort(new Error('shutting down')), 50);
        return fetch(url, options);
      }, fetch),
    };
    const outcomes = await process(itemsOf({ sku: 'a' }, { sku: 'b' }, { sku: 'c' }), lookup(), changes);
    expect(outcomes).toMatchObject([
      { status: 'DONE' },
      { code: 'slice_stopped', attemptUnused: true },
      { code: 'slice_stopped', attemptUnused: true },
    ]);
    expect(logged).toHaveLength(2);
    expect(provider.calls.length).toBeLessThanOrEqual(2);
  });
});

describe('a response', () => {
  const cases: [string, Misbehaviour, Partial<Extract<ItemOutcome, { status: 'ERROR' }>>][] = [
    ['429 with seconds', { type: 'throttle', retryAfter: '7' }, { class: 'throttled', retryAfterMs: 7000 }],
    ['429 without Retry-After', { type: 'throttle' }, { class: 'throttled', code: 'provider_throttled' }],
    [
      '429 with a date, counted from its own clock',
      {
        type: 'answer',
        status: 429,
        headers: { 'retry-after': 'Wed, 01 Jan 2020 00:00:30 GMT', date: 'Wed, 01 Jan 2020 00:00:00 GMT' },
      },
      { class: 'throttled', retryAfterMs: 30_000 },
    ],
    ['429 for a year', { type: 'throttle', retryAfter: '99999999' }, { retryAfterMs: 24 * 3_600_000 }],
    [
      '503 with Retry-After',
      { type: 'answer', status: 503, headers: { 'retry-after': '2' } },
      { class: 'throttled', retryAfterMs: 2000 },
    ],
    ['503 without', { type: 'answer', status: 503 }, { class: 'transient', code: 'provider_failed' }],
    ['500', { type: 'answer', status: 500, body: { error: 'x' } }, { class: 'transient' }],
    ['408', { type: 'answer', status: 408 }, { class: 'transient' }],
    ['400', { type: 'answer', status: 400, body: {} }, { class: 'permanent', code: 'provider_refused' }],
    ['401', { type: 'answer', status: 401 }, { class: 'permanent', code: 'provider_unauthorized' }],
    ['302 without Location', { type: 'answer', status: 302 }, { class: 'permanent' }],
    ['a page of HTML', { type: 'garbage' }, { class: 'transient', code: 'provider_garbage' }],
    ['half a JSON text', { type: 'truncated-json' }, { class: 'transient', code: 'provider_garbage' }],
    ['that is cut off', { type: 'truncated' }, { class: 'transient', code: 'fetch_failed' }],
    ['that never begins', { type: 'reset' }, { class: 'transient', code: 'fetch_failed' }],
    ['that takes too long', { type: 'hang' }, { class: 'transient', code: 'fetch_timeout' }],
    [
      'that is too large',
      { type: 'answer', status: 200, body: 'x'.repeat(200_000) },
      { class: 'permanent', code: 'response_too_large' },
    ],
  ];

  for (const [name, step, expected] of cases) {
    test(`${name} is ${expected.class ?? 'throttled'}`, async () => {
      // Only who never answers is waited for in vain; the others have as long as a busy machine takes.
      const timeoutMs = step.type === 'hang' ? 300 : 60_000;
      const options = { ...lookup(), timeoutMs, maxResponseBytes: 100_000 };
      const outcome = await processOne(options, step);
      expect(outcome).toMatchObject({ status: 'ERROR', ...expected });
      if (expected.retryAfterMs === undefined) expect(outcome).not.toHaveProperty('retryAfterMs');
      expect(logged).toHaveLength(1);
      expect(logged[0]).toMatchObject({ outcome: expected.class ?? 'throttled', error: expect.any(String) });
    });
  }

  test('a response that throttles prevents further calls without using up their attempts', async () => {
    provider.script({ type: 'ok' }, { type: 'throttle', retryAfter: '3' });
    const rows = Array.from({ length: 50 }, (_, index) => ({ sku: `s${index}` }));
    const outcomes = await process(itemsOf(...rows), lookup(), { concurrency: 1 });
    expect(provider.calls).toHaveLength(2);
    expect(outcomes[0]).toMatchObject({ status: 'DONE' });
    expect(outcomes[1]).toMatchObject({ class: 'throttled', retryAfterMs: 3000 });
    expect(outcomes[1]).not.toHaveProperty('attemptUnused');
    expect(outcomes.slice(2).every((outcome) => 'attemptUnused' in outcome && outcome.attemptUnused)).toBe(
      true,
    );
  });

  test('can mean not found, or an error, by what is in it', async () => {
    const options = {
      ...lookup(),
      response: {
        notFoundWhen: [{ path: 'hits', isEmpty: true }],
        errorWhen: [
          { path: 'error.code', equals: 'quota', class: 'throttled' },
          { status: 403, path: 'reason', equals: 'busy', class: 'transient', messagePath: 'detail' },
        ],
      },
    };
    const answer = (status: number, body: unknown) => processOne(options, { type: 'answer', status, body });
    expect(await answer(200, { hits: [] })).toMatchObject({ status: 'NOT_FOUND' });
    expect(await answer(200, { hits: [1] })).toMatchObject({ status: 'DONE' });
    expect(await answer(200, { hits: [1], error: { code: 'quota' } })).toMatchObject({ class: 'throttled' });
    expect(await answer(403, { hits: [1], reason: 'busy', detail: 'come back' })).toMatchObject({
      class: 'transient',
      message: expect.stringContaining('come back'),
    });
    expect(await answer(403, { hits: [1], reason: 'no' })).toMatchObject({ class: 'permanent' });
    expect(await answer(404, { hits: [1] })).toMatchObject({ class: 'permanent' });
  });

  test('a response whose result is too large or too deep fails permanently', async () => {
    const large = await processOne(lookup(), { type: 'answer', status: 200, body: 'x'.repeat(300_000) });
    expect(large).toMatchObject({ code: 'result_too_large', class: 'permanent' });
    const deep = JSON.parse('['.repeat(500) + ']'.repeat(500));
    expect(await processOne(lookup(), { type: 'answer', status: 200, body: deep })).toMatchObject({
      code: 'result_too_deep',
      class: 'permanent',
    });
  });
});

describe('a request template', () => {
  test('encodes every value for its place', async () => {
    const nasty = 'a/b?c=d&e#f"g\\h\r\nx-evil: 1 ü';
    await process(itemsOf({ sku: nasty, price: 12.5, tags: ['x'] }), {
      request: {
        method: 'POST',
        url: `${provider.url}/items/{{ sku }}/x?in={{sku}}`,
        query: { q: '{{sku}}', lang: 'de', gone: '{{missing}}' },
        headers: { 'x-sku': 'is {{sku}}', 'x-gone': '{{missing}}' },
        body: {
          sku: '{{sku}}',
          label: 'SKU {{sku}}!',
          price: '{{price}}',
          tags: '{{tags}}',
          gone: '{{missing}}',
        },
      },
    });
    const [call] = provider.calls;
    const url = new URL(call?.path ?? '', provider.url);
    expect(url.pathname).toBe(`/items/${encodeURIComponent(nasty)}/x`);
    expect([...url.searchParams]).toEqual([
      ['in', nasty],
      ['q', nasty],
      ['lang', 'de'],
    ]);
    expect(call?.headers['x-evil']).toBeUndefined();
    expect(call?.headers['x-gone']).toBeUndefined();
    expect(call?.headers['x-sku']).toBe('is a/b?c=d&e#f"g\\h%0D%0Ax-evil: 1 %C3%BC');
    expect(JSON.parse(call?.body ?? '')).toEqual({
      sku: nasty,
      label: `SKU ${nasty}!`,
      price: 12.5,
      tags: ['x'],
      gone: null,
    });
  });

  test('lets no row climb to another path, or to the whole collection', async () => {
    const values = ['..', '.', '../admin', 'a/../../admin', '..\\admin', '', '  ', null, undefined];
    const outcomes = await process(itemsOf(...values.map((sku) => ({ sku }))), lookup());
    for (const [index, outcome] of outcomes.entries()) {
      expect(outcome, String(values[index])).toMatchObject({
        code: expect.stringMatching(/^template_value_(missing|refused)$/),
        class: 'permanent',
      });
    }
    const dots = { request: { url: `${provider.url}/items/.{{sku}}/x` } };
    expect(await process(itemsOf({ sku: '.' }), dots)).toMatchObject([{ code: 'template_value_refused' }]);
    expect([provider.calls.length, logged.length]).toEqual([0, 0]);
  });

  test('reads only the own columns of a row', async () => {
    expect(
      await process(itemsOf({ sku: 'a' }), { request: { url: `${provider.url}/items/{{constructor}}` } }),
    ).toMatchObject([{ code: 'template_value_missing' }]);
  });

  test('takes the next variant with every retry', async () => {
    const options = {
      request: { url: `${provider.url}/items/{{sku}}` },
      strategies: [{ name: 'by-sku' }, { name: 'by-title', url: `${provider.url}/items/{{title}}` }],
    };
    const [item] = itemsOf({ sku: 'missing-1', title: 'Bike' });
    const outcomes: ItemOutcome[] = [];
    for (const strategy of [0, 1, 2]) {
      outcomes.push(...(await process(item ? [{ ...item, strategy }] : [], options)));
    }
    expect(outcomes.map(({ status }) => status)).toEqual(['NOT_FOUND', 'DONE', 'NOT_FOUND']);
    expect(logged.map(({ strategy }) => strategy)).toEqual(['by-sku', 'by-title', 'by-sku']);
  });
});

describe('a secret', () => {
  const ways: [unknown, (call: FlakyProvider['calls'][number]) => unknown, string][] = [
    [{ type: 'bearer', secret: 'k' }, (call) => call.headers.authorization, 'Bearer the-k-secret'],
    [
      { type: 'header', secret: 'k', header: 'X-Key', prefix: 'v1 ' },
      (call) => call.headers['x-key'],
      'v1 the-k-secret',
    ],
    [
      { type: 'basic', secret: 'k', username: 'me' },
      (call) => call.headers.authorization,
      `Basic ${Buffer.from('me:the-k-secret').toString('base64')}`,
    ],
    [{ type: 'query', secret: 'k', parameter: 'key' }, (call) => call.path, '/items/a?key=the-k-secret'],
  ];

  for (const [auth, find, expected] of ways) {
    test(`is sent as ${JSON.stringify(auth)}, and kept out of what the provider says about it`, async () => {
      provider.script({ type: 'answer', status: 401, body: { error: `bad key ${expected}` } });
      const [outcome] = await process(itemsOf({ sku: 'a' }), { ...lookup(), auth });
      const [call] = provider.calls;
      expect(call && find(call)).toBe(expected);
      expect(outcome).toMatchObject({ message: expect.stringContaining('[redacted]') });
      const shown = JSON.stringify([outcome, logged]);
      expect(shown).not.toContain('the-k-secret');
      expect(shown).not.toContain(Buffer.from('me:the-k-secret').toString('base64'));
    });
  }

  test('a secret that does not exist fails the items without a call', async () => {
    const secret = async () => {
      throw secretErrors.raise.secret_key_malformed('there is no secret k');
    };
    const options = { ...lookup(), auth: { type: 'bearer', secret: 'k' } };
    expect(await process(itemsOf({ sku: 'a' }), options, { secret })).toMatchObject([
      { class: 'permanent', code: 'secret_key_malformed' },
    ]);
    expect(provider.calls).toHaveLength(0);
  });
});

test('a private address is refused permanently, without a call', async () => {
  const guarded = createGuardedFetch({ blockPrivateAddresses: true, userAgent: 'test/1' });
  const outcomes = await process(itemsOf({ sku: 'a' }), lookup(), { fetch: guarded });
  await guarded.close();
  expect(outcomes).toMatchObject([{ code: 'address_blocked', class: 'permanent' }]);
  expect(provider.calls).toHaveLength(0);
});
