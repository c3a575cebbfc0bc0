import { expect, test, vi } from 'vitest';
import { badImages, picture } from '../generators/images.ts';
import { zipOf } from '../generators/zip-archive.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { longestBlockMs, useBlockingProbe } from './blocking.ts';

// Loading the decoder, unpacking an archive and decoding large images must not run on the main thread.
vi.setConfig({ testTimeout: 300_000 });

const blocking = useBlockingProbe();
const database = useDatabase();
const server = useServerProcess(database, blocking.env);

async function runJob(tenantId: string, form: FormData): Promise<Record<string, number>> {
  const headers = await server.bearer({ tenantId, role: 'admin' });
  const made = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  const { jobId } = (await made.json()) as { jobId: string };
  expect(made.status).toBe(201);
  let job = { queueState: '', counts: {} as Record<string, number> };
  const isOver = async () => {
    job = (await (await fetch(`${server.url}/api/jobs/${jobId}`, { headers })).json()) as typeof job;
    return job.queueState === 'DONE';
  };
  await eventually(isOver, 'the images are processed', 120_000);
  return job.counts;
}

const fileOf = (bytes: Buffer, type = 'image/png') => new Blob([new Uint8Array(bytes)], { type });

test('the main thread is not blocked by large images, hostile images or an archive of images', async () => {
  const tenantId = await newTenant(database);
  const small = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((seed) => picture({ seed }).png().toBuffer()));
  const large = await picture({ width: 6_000, height: 4_000 }).jpeg({ progressive: true }).toBuffer();
  const form = new FormData();
  form.append('file', fileOf(large), 'large.jpg');
  for (const { name, bytes } of badImages) form.append('file', fileOf(await bytes()), name);
  for (const [at, bytes] of small.entries()) form.append('file', fileOf(bytes), `${at}.png`);
  const archive = new FormData();
  const entries = Array.from({ length: 200 }, (_, at) => ({
    name: `${at}.png`,
    content: small[at % small.length] ?? '',
  }));
  archive.append('file', fileOf(zipOf(entries), 'application/zip'), 'all.zip');
  const blocks = await blocking.during('images', async () => {
    expect(await runJob(tenantId, form)).toMatchObject({ DONE: 9, ERROR: badImages.length });
    expect(await runJob(tenantId, archive)).toMatchObject({ DONE: 200 });
  });
  expect(blocks[0] ?? 0).toBeLessThanOrEqual(longestBlockMs);
});
