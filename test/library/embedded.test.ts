import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineTask, openSluice } from '../../src/library.ts';

vi.setConfig({ testTimeout: 300_000 });

const place = mkdtempSync(path.join(tmpdir(), 'sluice-embedded-'));
afterAll(() => {
  // Root's database is not below the folder, because PostgreSQL does not run as root.
  const location = path.join(place, 'postgres.location');
  try {
    rmSync(path.dirname(readFileSync(location, 'utf8').trim()), { recursive: true, force: true });
  } catch {
    // There is no such file where the tests do not run as root.
  }
  rmSync(place, { recursive: true, force: true });
});

const echo = defineTask({ name: 'echo', input: z.object({ n: z.int() }), run: ({ n }) => n });

test('two of one process share a data directory, handle no signals, print nothing, and end on their own', async () => {
  const printed = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
  const before = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'].map((name) =>
    process.listenerCount(name),
  );
  const worker = await openSluice({ dataDir: place, tasks: [echo] });
  const web = await openSluice({ dataDir: place, tasks: [echo], work: false });
  expect(web.databaseUrl).toBe(worker.databaseUrl);
  const { jobId } = await web.dispatch('echo', { n: 1 }, { tenantId: 'acme' });
  expect(await web.wait('acme', jobId)).toMatchObject({ status: 'success', result: 1 });
  await worker.stop();
  const waiting = await web.dispatch('echo', { n: 2 }, { tenantId: 'acme' });
  expect(await web.job('acme', waiting.jobId)).toMatchObject({ status: 'queued' });
  await web.stop();
  const after = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'].map((name) =>
    process.listenerCount(name),
  );
  expect(after).toEqual(before);
  for (const spy of printed) {
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  }
});

test('another schema than public is refused, and says what is possible', async () => {
  await expect(openSluice({ dataDir: place, schema: 'sluice' })).rejects.toThrow(/Allowed: public/);
});
