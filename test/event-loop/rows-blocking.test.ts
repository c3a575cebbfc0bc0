import { expect, test, vi } from 'vitest';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { longestRowBlockMs, useBlockingProbe } from './blocking.ts';

// Rows that are large, wide or many, from the request to their last result.
vi.setConfig({ testTimeout: 300_000 });

const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, blocking.env);

/** 30 MB; less is enough to see a blocked thread. */
const flatRows = process.env.SLUICE_CHAOS === 'full' ? 300_000 : 50_000;
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at));

interface Hostile {
  name: string;
  content(): string;
  processor?: string;
  options?: object;
  /** How many rows end. */
  rows: number;
}

const wideRule = {
  rules: many(50, (at) => `c${at}`).map((column) => ({ column, minLength: 1, maxLength: 9 })),
};

const hostile: Record<string, Hostile> = {
  'a flat JSON file in short rows': {
    name: 'flat.json',
    content: () =>
      `[${many(flatRows, (at) => JSON.stringify({ sku: `A-${at}`, a: at, b: [at], c: 'x'.repeat(60) })).join(',')}]`,
    rows: flatRows,
  },
  'JSON rows of 900 members': {
    name: 'wide.json',
    content: () =>
      many(400, () =>
        JSON.stringify(
          Object.fromEntries(many(900, (at) => `member ${at}`).map((key) => [key, 'value '.repeat(8)])),
        ),
      ).join('\n'),
    rows: 400,
  },
  'CSV cells of a megabyte': {
    name: 'cells.csv',
    content: () =>
      ['sku,title', ...many(30, (at) => `A-${at},"${'long "" '.repeat(mebibyte / 8 - 10)}"`)].join('\n'),
    rows: 30,
  },
  'rows of 3 MB that are validated': {
    name: 'rows.csv',
    content: () =>
      ['c0,c1,c2,c3', ...many(20, () => many(4, () => 'text '.repeat(150 * kibibyte)).join(','))].join('\n'),
    processor: 'validate',
    options: wideRule,
    rows: 20,
  },
  'many rows of 100 KB that are validated': {
    name: 'rows.csv',
    content: () =>
      ['c0,c1', ...many(400, () => many(2, () => 'text '.repeat(10 * kibibyte)).join(','))].join('\n'),
    processor: 'validate',
    options: {
      rules: [
        { column: 'c0', required: true },
        { column: 'c2', pattern: 'a' },
      ],
    },
    rows: 400,
  },
};

async function runJob(tenantId: string, { name, content, processor, options, rows }: Hostile): Promise<void> {
  const headers = await server.bearer({ tenantId });
  const body = new FormData();
  if (processor) body.set('processor', processor);
  if (options) body.set('options', JSON.stringify(options));
  body.set('file', new Blob([content()]), name);
  const made = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body });
  expect(made.status, await made.clone().text()).toBe(201);
  const { jobId } = (await made.json()) as { jobId: string };
  let job = { queueState: '', processedItems: 0 };
  const isOver = async () => {
    job = (await (await fetch(`${server.url}/api/jobs/${jobId}`, { headers })).json()) as typeof job;
    return job.queueState === 'DONE';
  };
  await eventually(isOver, 'all rows have ended', 200_000);
  expect(job.processedItems).toBe(rows);
}

test.each(Object.entries(hostile))('the main thread is not blocked by %s', async (what, input) => {
  const tenantId = await newTenant(database);
  const blocks = await blocking.during(what, () => runJob(tenantId, input));
  expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestRowBlockMs);
});

test('the main thread is not blocked by matching long texts against a catalogue', async () => {
  const tenantId = await newTenant(database);
  const headers = await server.bearer({ tenantId });
  const long = (at: number) => `"${many(12_000, (word) => `word${(word * 7 + at) % 997}`).join(' ')}"`;
  const products = new FormData();
  products.set(
    'file',
    new Blob([['sku,brand,title', ...many(100, (at) => `S-${at},brand ${at % 9},${long(at)}`)].join('\n')]),
    'products.csv',
  );
  const rows = ['sku,brand,title', ...many(200, (at) => `X-${at},brand ${at % 9},${long(at + 1)}`)].join(
    '\n',
  );
  const blocks = await blocking.during('catalogue matching', async () => {
    const loaded = await fetch(`${server.url}/api/catalogs/long`, { method: 'PUT', headers, body: products });
    expect(loaded.status, await loaded.clone().text()).toBe(200);
    await runJob(tenantId, {
      name: 'rows.csv',
      content: () => rows,
      processor: 'catalog',
      options: { catalog: 'long', strategies: ['sku', 'brand_title'] },
      rows: 200,
    });
  });
  expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestRowBlockMs);
});
