import { expect, test, vi } from 'vitest';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { longestRowBlockMs, useBlockingProbe } from './blocking.ts';

// Bodies of JSON that are flat, and therefore pass the limit of depth, but have as many values as fit into them.
vi.setConfig({ testTimeout: 300_000 });

const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, { ...blocking.env, SLUICE_WORKER: 'false' });

const mebibyte = 1024 * 1024;
const filled = (part: string, sizeBytes: number) => part.repeat(Math.floor(sizeBytes / part.length));
const members = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join(',');
const reference = (at: number, more: object) => ({
  ...{ external_id: `e${at}`, url: `https://a.example/${at}`, content: 'words', ...more },
});

const bodies: Record<string, { url: string; body(): string; code: string | null }> = {
  'references that are ten million empty objects': {
    url: '/api/scraping/x/sync',
    body: () => `{"references":[${filled('{},', 30 * mebibyte)}{}]}`,
    code: 'json_too_many_values',
  },
  'references that are too many': {
    url: '/api/scraping/x/sync',
    body: () => `{"references":[${filled('{"content":"x"},', 6 * mebibyte)}{}]}`,
    code: 'malformed_request',
  },
  'metadata of ten million empty lists': {
    url: '/api/scraping/x/sync',
    body: () =>
      JSON.stringify({ references: [reference(1, {})] }).replace(
        '}]',
        `,"metadata":{"a":[${filled('[],', 30 * mebibyte)}[]]}}]`,
      ),
    code: 'json_too_many_values',
  },
  'metadata of half a million numbers': {
    url: '/api/scraping/x/sync',
    body: () =>
      JSON.stringify({ references: [reference(1, {})] }).replace(
        '}]',
        `,"metadata":{"a":[${filled('7,', mebibyte)}7]}}]`,
      ),
    code: 'malformed_request',
  },
  'metadata of a million members': {
    url: '/api/scraping/x/sync',
    body: () =>
      JSON.stringify({ references: [reference(1, {})] }).replace(
        '}]',
        `,"metadata":{${members(1_000_000)}}}]`,
      ),
    code: 'json_too_many_values',
  },
  'references of 5 KB, five thousand of them': {
    url: '/api/scraping/x/sync',
    body: () =>
      JSON.stringify({
        references: Array.from({ length: 5_000 }, (_, at) =>
          reference(at, { content: 'some words '.repeat(450) }),
        ),
      }),
    code: null,
  },
  'references with a thousand members of metadata each': {
    url: '/api/scraping/x/sync',
    body: () => {
      const metadata = Object.fromEntries(
        Array.from({ length: 1_000 }, (_, at) => [`k${(at * 7_919) % 1_000}`, at]),
      );
      return JSON.stringify({
        references: Array.from({ length: 300 }, (_, at) => reference(at, { metadata })),
      });
    },
    code: null,
  },
  'a row of eighty thousand members': {
    url: '/api/catalogs/x/match',
    body: () => `{"rows":[{${members(80_000)}}]}`,
    code: 'json_too_many_values',
  },
  'a list of three hundred thousand empty objects': {
    url: '/api/catalogs/x/match',
    body: () => `{"rows":[${filled('{},', mebibyte - 100)}{}]}`,
    code: 'malformed_request',
  },
};

test.each(Object.entries(bodies))(
  'the main thread is not blocked by %s',
  async (what, { url, body, code }) => {
    const headers = {
      ...(await server.bearer({ tenantId: await newTenant(database) })),
      'content-type': 'application/json',
    };
    const put = (path: string, method: string, content: object) =>
      fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(content) });
    await put('/api/knowledge', 'POST', { kb_id: 'kb', name: 'kb' });
    await put('/api/scraping/sources/x', 'PUT', { mode: 'push', kb_id: 'kb' });
    const sent = body();
    let told = { status: 0, text: '' };
    const blocks = await blocking.during(what, async () => {
      // With a key, the body is hashed as well.
      const reply = await fetch(`${server.url}${url}`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': 'the-key' },
        body: sent,
      });
      told = { status: reply.status, text: await reply.text() };
    });
    expect(
      { status: told.status, code: (JSON.parse(told.text) as { code?: string }).code ?? null },
      told.text.slice(0, 500),
    ).toEqual({
      status: code === null ? 200 : 400,
      code,
    });
    expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestRowBlockMs);
  },
);
