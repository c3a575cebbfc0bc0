import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type FlakyProvider,
  startFlakyProvider,
} from '../../../../../../test/support/fakes/flaky-provider.ts';
import { itemsOf, processorContext } from '../../../../../../test/support/worlds/processor-context.ts';
import { createGuardedFetch } from '../../../../../lib/fetch/guarded-fetch.ts';
import type { ItemInput, ProcessorContext, ProviderCall } from '../types.ts';
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

const process = (items: ItemInput[], options: unknown, changes: Partial<ProcessorContext> = {}) =>
  httpProcessor.process(
    items,
    options,
    processorContext({ fetch, log: (call) => logged.push(call), ...changes }),
  );

describe('a batch', () => {
  const batch = (changes: object = {}) => ({
    request: { method: 'POST', url: `${provider.url}/batch`, body: { items: '{{*}}' } },
    batch: { size: 2, item: { sku: '{{sku}}' }, path: 'results', ...changes },
    response: { result: { title: 'title' } },
  });
  const rows = [{ sku: 'a' }, { sku: 'missing' }, { sku: 'c' }];

  test('makes one call per group of items and gives each item its own result', async () => {
    expect(await process(itemsOf(...rows), batch(), { concurrency: 1 })).toEqual([
      { status: 'DONE', result: { title: 'Title of a' } },
      { status: 'NOT_FOUND', reason: expect.any(String) },
      { status: 'DONE', result: { title: 'Title of c' } },
    ]);
    expect(provider.calls.map(({ body }) => JSON.parse(body))).toEqual([
      { items: [{ sku: 'a' }, { sku: 'missing' }] },
      { items: [{ sku: 'c' }] },
    ]);
    expect(logged.map(({ itemIds }) => itemIds)).toEqual([[1, 2], [3]]);
  });

  test('matches results by key, in whatever order they come', async () => {
    const results = [
      { id: 'c', title: 'C' },
      { id: 'a', title: 'A' },
      { id: 'a', title: 'second' },
    ];
    provider.script({ type: 'answer', status: 200, body: { results } });
    const match = { by: 'key', column: 'sku', path: 'id' };
    expect(await process(itemsOf(...rows), batch({ size: 10, match }))).toMatchObject([
      { status: 'DONE', result: { title: 'A' } },
      { status: 'NOT_FOUND' },
      { status: 'DONE', result: { title: 'C' } },
    ]);
  });

  test('fails all its items when the response has too few entries or no list', async () => {
    for (const body of [{ results: [{ title: 'A' }] }, { other: [] }, []]) {
      provider.script({ type: 'answer', status: 200, body });
      const outcomes = await process(itemsOf(...rows), batch({ size: 10 }));
      expect(outcomes.map((outcome) => outcome.status === 'ERROR' && outcome.code)).toEqual(
        Array(3).fill('provider_garbage'),
      );
    }
  });

  test('fails all its items when the call fails, and 404 means a wrong address', async () => {
    provider.script({ type: 'answer', status: 404 }, { type: 'throttle', retryAfter: '1' });
    const outcomes = await process(itemsOf(...rows), batch(), { concurrency: 1 });
    expect(outcomes).toMatchObject([
      { class: 'permanent', code: 'provider_refused' },
      { class: 'permanent', code: 'provider_refused' },
      { class: 'throttled', retryAfterMs: 1000 },
    ]);
  });

  test('is not shared by items on different variants', async () => {
    const options = { ...batch({ size: 10 }), strategies: [{ name: 'one' }, { name: 'two' }] };
    const items = itemsOf(...rows).map((item, index) => ({ ...item, strategy: index }));
    await process(items, options, { concurrency: 1 });
    expect(logged.map(({ itemIds, strategy }) => [itemIds, strategy])).toEqual([
      [[1, 3], 'one'],
      [[2], 'two'],
    ]);
  });
});
