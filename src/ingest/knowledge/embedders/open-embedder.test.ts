import { describe, expect, onTestFinished, test } from 'vitest';
import { guardedFetch, serveSite } from '../../../../test/support/fakes/local-site.ts';
import { secretsHere } from '../../../../test/support/worlds/secrets.ts';
import { secretErrors } from '../../../kernel/secrets/errors.ts';
import { defineEmbedder, type EmbedderDefinition } from './define-embedder.ts';
import type { EmbedderSettings } from './embedder.ts';
import { localModelNames, settingsForIndex, settingsOfIndex } from './local-models.ts';
import { embedderSettings, fingerprintOf, openEmbedders } from './open-embedder.ts';

const { signal } = new AbortController();

function open({
  custom = [],
  keys = {},
}: {
  custom?: EmbedderDefinition[];
  keys?: Record<string, string>;
} = {}) {
  const embedders = openEmbedders({
    fetch: guardedFetch({ blockPrivateAddresses: false }),
    countTokens: (text) => text.length,
    custom,
    secrets: secretsHere((name, tenantId) => {
      const key = keys[`${tenantId}/${name}`];
      if (key === undefined) throw secretErrors.raise.secret_not_found(`There is no secret ${name}`);
      return key;
    }),
  });
  onTestFinished(() => embedders.close());
  return embedders;
}

async function openProvider() {
  const site = await serveSite('127.0.0.1', (request, response) => {
    request
      .resume()
      .on('end', () => response.end(JSON.stringify({ data: [{ index: 0, embedding: [0, 2, 0] }] })));
  });
  const settings: EmbedderSettings = {
    provider: 'openai',
    baseUrl: `http://127.0.0.1:${site.port}/v1`,
    model: 'small',
    dimensions: null,
    apiKeySecret: 'openai',
    pricePerMillionTokens: 0,
  };
  return { site, settings };
}

describe('the built-in model', () => {
  test('an index that names no model has the first one, and new indexes name the current one', async () => {
    const settings = { provider: 'local' } as const;
    expect(settingsOfIndex(settings)).toEqual({ provider: 'local', model: 'use-lite-en-q7' });
    expect(settingsForIndex(settings)).toEqual({ provider: 'local', model: 'all-minilm-l6-v2-q8' });
    for (const model of localModelNames) {
      const named = { provider: 'local', model } as const;
      expect([settingsOfIndex(named), settingsForIndex(named)]).toEqual([named, named]);
    }
    const custom = { provider: 'custom', name: 'house' } as const;
    expect([settingsOfIndex(custom), settingsForIndex(custom)]).toEqual([custom, custom]);
  });
});

describe('the embedder of a knowledge base', () => {
  test('is shared by all that use the local one, and opening it starts no thread', async () => {
    const embedders = open();
    const first = await embedders.get('t1', { provider: 'local' });
    expect(await embedders.get('t2', { provider: 'local' })).toBe(first);
    expect(first).toMatchObject({ provider: 'local', model: 'all-minilm-l6-v2-q8', dimensions: 384 });
  });

  test('is opened once per tenant and settings, and each tenant’s has its own key', async () => {
    const { site, settings } = await openProvider();
    const embedders = open({ keys: { 't1/openai': 'key-of-one', 't2/openai': 'key-of-two' } });
    const [one, again] = await Promise.all([
      embedders.get('t1', settings),
      embedders.get('t1', { ...settings }),
    ]);
    expect(again).toBe(one);
    expect(one.dimensions).toBe(3);
    expect(await embedders.get('t2', settings)).not.toBe(one);
    expect(site.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer key-of-one',
      'Bearer key-of-two',
    ]);
    expect(await one.embed(['x'], { signal })).toEqual([Float32Array.of(0, 1, 0)]);
  });

  test('an embedder that could not be opened is tried again, and a missing secret is named', async () => {
    const { settings } = await openProvider();
    const keys: Record<string, string> = {};
    const embedders = open({ keys });
    await expect(embedders.get('t1', settings)).rejects.toMatchObject({
      code: 'embedder_unauthorized',
      kind: 'forbidden',
      message: expect.stringContaining('openai'),
    });
    keys['t1/openai'] = 'key';
    expect((await embedders.get('t1', settings)).dimensions).toBe(3);
  });

  test('is found by name if it is custom, and an unknown name is refused with the defined ones', async () => {
    const flat = defineEmbedder({ name: 'flat', model: 'f-1', dimensions: 2, embed: () => [[3, 4]] });
    const embedders = open({ custom: [flat] });
    const embedder = await embedders.get('t1', { provider: 'custom', name: 'flat' });
    expect(embedder).toMatchObject({ provider: 'flat', model: 'f-1', dimensions: 2 });
    await expect(embedders.get('t1', { provider: 'custom', name: 'flut' })).rejects.toMatchObject({
      code: 'embedder_unknown',
      message: expect.stringContaining('defined: flat'),
    });
  });

  test('is refused if its settings are not valid', async () => {
    const { settings } = await openProvider();
    const broken = { ...settings, baseUrl: 'ftp://x', dimensions: 0 };
    await expect(open().get('t1', broken)).rejects.toMatchObject({
      code: 'embedder_misconfigured',
      message: expect.stringMatching(/baseUrl: .*; dimensions: /),
    });
    expect(embedderSettings.safeParse({ provider: 'local', model: 'x' }).success).toBe(false);
    expect(embedderSettings.parse(settings)).toEqual(settings);
  });

  test('is closed with all the others', async () => {
    const closed: string[] = [];
    const embed = () => [];
    const close = () => void closed.push('flat');
    await open({ custom: [{ name: 'flat', model: 'f', dimensions: 1, embed, close }] }).close();
    expect(closed).toContain('flat');
  });
});

describe('a fingerprint', () => {
  const embedder = { provider: 'local', model: 'm', dimensions: 512 };
  const chunker = { strategy: 'fixed', maxTokens: 100, overlapTokens: 10 } as const;

  test('is the same for the same settings in any order', () => {
    const turned = { overlapTokens: 10, maxTokens: 100, strategy: 'fixed' } as const;
    expect(fingerprintOf(embedder, turned)).toBe(fingerprintOf(embedder, chunker));
  });

  test('differs with the provider, the model, the dimensions and every setting of the chunker', () => {
    const all = [
      fingerprintOf(embedder, chunker),
      fingerprintOf({ ...embedder, provider: 'openai' }, chunker),
      fingerprintOf({ ...embedder, model: 'n' }, chunker),
      fingerprintOf({ ...embedder, dimensions: 256 }, chunker),
      fingerprintOf(embedder, { ...chunker, maxTokens: 101 }),
      fingerprintOf(embedder, { ...chunker, overlapTokens: 11 }),
      fingerprintOf(embedder, { strategy: 'markdown', maxTokens: 100 }),
      fingerprintOf(embedder, { strategy: 'recursive', maxTokens: 100 }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});
