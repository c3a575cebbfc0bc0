import { readdirSync, readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { longestBlockMs, useBlockingProbe } from '../event-loop/blocking.ts';
import { greedyWorkbook } from '../generators/workbook-bombs.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// One tenant sends eight workbooks that each unfold from less than a megabyte to 149 MB of texts, and goes away.
const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, { ...blocking.env, SLUICE_WORKER: 'false' });

const mebibyte = 1024 * 1024;
/** The thread's heap of 512 MB, and what the process needs for eight requests. */
const mostGrowthBytes = 600 * mebibyte;

/** Uploaded workbooks that the server has open: their temporary files are unlinked at once. */
function openBooks(): number {
  const folder = `/proc/${blocking.pid()}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return /\/sluice-\S+ \(deleted\)$/.test(readlinkSync(`${folder}/${fd}`));
    } catch {
      // It was closed in the meantime.
      return false;
    }
  }).length;
}

test('eight greedy workbooks at once block nothing, need little memory, and end with their clients', {
  timeout: 300_000,
}, async () => {
  const book = greedyWorkbook();
  expect(book.length).toBeLessThan(mebibyte);
  const [greedy, quiet] = [await newTenant(database), await newTenant(database)];
  const clients = new AbortController();
  const send = async () => {
    const body = new FormData();
    body.set('file', new Blob([new Uint8Array(book)]), 'greedy.xlsx');
    const headers = await server.bearer({ tenantId: greedy });
    return fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body, signal: clients.signal });
  };
  let answered = 0;
  const blocks = await blocking.during('eight greedy workbooks', async () => {
    const grownBytes = await server.growthDuring(async () => {
      const sent = Promise.allSettled(Array.from({ length: 8 }, send));
      await eventually(async () => openBooks() >= 4, 'workbooks are being read', 60_000);
      const headers = await server.bearer({ tenantId: quiet });
      for (; answered < 50; answered += 1) {
        expect((await fetch(`${server.url}/api/me`, { headers })).status).toBe(200);
      }
      expect(openBooks()).toBeGreaterThan(0);
      clients.abort();
      await sent;
      await eventually(async () => openBooks() === 0, 'reading stops when the clients have gone', 30_000);
    });
    expect(grownBytes).toBeLessThan(mostGrowthBytes);
  });
  expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestBlockMs);
  const left = async () =>
    (await database.owner('select from ingestion_jobs where tenant_id = $1', [greedy])).length;
  await eventually(async () => (await left()) === 0, 'nothing is left of the aborted jobs', 30_000);
});

test('a greedy workbook whose client waits is read to its end', { timeout: 120_000 }, async () => {
  const tenantId = await newTenant(database);
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(greedyWorkbook())]), 'greedy.xlsx');
  const headers = await server.bearer({ tenantId });
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body });
  expect(answer.status, await answer.clone().text()).toBe(201);
  expect(await database.owner('select from job_items where tenant_id = $1', [tenantId])).toHaveLength(1);
});
