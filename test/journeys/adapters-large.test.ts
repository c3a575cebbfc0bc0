import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const mebibyte = 1024 * 1024;
const root = mkdtempSync(path.join(tmpdir(), 'sluice-large-'));
const database = useDatabase();
const server = useServerProcess(database, {
  ADAPTER_FOLDER: root,
  MAX_UPLOAD_BYTES: String(400 * mebibyte),
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('a file of 300 MiB is copied and hashed in little memory', { timeout: 120_000 }, async () => {
  const tenantId = await newTenant(database);
  const folder = path.join(root, tenantId);
  mkdirSync(folder);
  // One cell without an end: it is read to the last byte by the adapter, and then refused by the reader of rows.
  await writeFile(path.join(folder, 'huge.csv'), 'sku\n"');
  await truncate(path.join(folder, 'huge.csv'), 300 * mebibyte);
  const headers = { ...(await server.bearer({ tenantId })), 'content-type': 'application/json' };
  const ask = async (method: string, route: string, body: object) => {
    const answer = await fetch(`${server.url}${route}`, { method, headers, body: JSON.stringify(body) });
    return (await answer.json()) as Record<string, unknown>;
  };
  const place = { kind: 'folder', settle_seconds: 0, target: { kind: 'items' } };
  await ask('PUT', '/api/ingestion/adapters/in', place);
  const grown = await server.growthDuring(async () => {
    const { data } = await ask('POST', '/api/ingestion/scan', { adapter: 'in' });
    expect(data).toMatchObject([{ seen: 1, failed: 1, error: null }]);
  });
  expect(grown).toBeLessThan(100 * mebibyte);
});
