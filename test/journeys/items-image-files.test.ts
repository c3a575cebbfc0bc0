import { expect, test } from 'vitest';
import { purgeItems } from '../../src/ingest/items/service.ts';
import { purgeEnded } from '../../src/kernel/jobs/ended/ended-jobs.ts';
import { eraseTenant } from '../../src/kernel/tenancy/erasure.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { noRows, png, useImageJobs } from '../support/worlds/image-jobs.ts';
import { eventually } from '../support/worlds/kernel.ts';

// What an image job has on disk, and when it goes.
const database = useDatabase();
const { files, server, post, ask, itemsOf, drive, storedFiles, rowsOf, sweep } = useImageJobs(database);

async function finished(seed: number): Promise<{ tenantId: string; jobId: string }> {
  const tenantId = await newTenant(database);
  const sent = [
    { name: 'a.png', bytes: await png(seed) },
    { name: 'bad.png', bytes: Buffer.from('no image') },
  ];
  const { jobId } = (await post(tenantId, sent)).body;
  await drive(tenantId);
  return { tenantId, jobId };
}

test('the files of an image job are replaced by reprocessing, not added to', async () => {
  const { tenantId, jobId } = await finished(20);
  const before = await rowsOf(tenantId);
  const stored = (await storedFiles()).length;
  expect(before).toEqual({ jobs: '1', items: '2', files: '3', images: '3' });
  const body = JSON.stringify({ statuses: ['DONE', 'ERROR'], resetAttempts: true });
  const headers = { 'content-type': 'application/json' };
  const told = await ask(tenantId, `/api/jobs/${jobId}/reprocess`, { method: 'POST', body, headers });
  expect(await told.json()).toMatchObject({ reset: 2 });
  await drive(tenantId);
  expect(await itemsOf(tenantId, jobId)).toMatchObject([{ status: 'DONE' }, { status: 'ERROR' }]);
  expect(await rowsOf(tenantId)).toEqual(before);
  await eventually(async () => (await storedFiles()).length === stored, 'the old thumbnail is gone');
  expect(await sweep()).toMatchObject({ removed: 0 });
});

test('the files of an image job are deleted with the job after its retention', async () => {
  await sweep();
  const stored = (await storedFiles()).length;
  const { tenantId, jobId } = await finished(21);
  expect((await storedFiles()).length).toBe(stored + 3);
  await database.owner(
    `update ingestion_jobs set finished_at = now() - interval '100 days' where job_id = $1`,
    [jobId],
  );
  expect(await purgeEnded(database.db, { days: 90 })).toBe(1);
  expect(await purgeItems(database.db, { days: 90 })).toEqual({ removed: 2 });
  expect(await rowsOf(tenantId)).toEqual(noRows);
  await sweep();
  expect((await storedFiles()).length).toBe(stored);
});

test('the files of an image job are deleted with their tenant', async () => {
  const stored = (await storedFiles()).length;
  const { tenantId } = await finished(22);
  const report = await eraseTenant({ db: database.db, files }, tenantId);
  expect(report).toMatchObject({ filesRemoved: 3, remaining: {} });
  expect((await storedFiles()).length).toBe(stored);
});

test('the files of an image job are not shown to another tenant', async () => {
  const { tenantId, jobId } = await finished(23);
  const [item] = await itemsOf(tenantId, jobId);
  const stranger = await newTenant(database);
  for (const kind of ['thumbnail', 'image']) {
    const place = `/api/jobs/${jobId}/items/${item?.id}/${kind}`;
    expect((await ask(tenantId, place)).status).toBe(200);
    expect((await ask(stranger, place)).status).toBe(404);
  }
});

test('the files of an image job are deleted after an aborted upload', async () => {
  const tenantId = await newTenant(database);
  const before = (await storedFiles()).length;
  const head = (name: string) =>
    `--x\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: image/png\r\n\r\n`;
  async function* broken(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < 5; at += 1) {
      yield Buffer.from(head(`${at}.png`));
      yield await png(at);
      yield Buffer.from('\r\n');
    }
    yield Buffer.from(head('last.png'));
    yield (await png(6)).subarray(0, 50);
  }
  const answer = await fetch(`${server.url}/api/jobs`, {
    method: 'POST',
    headers: {
      ...(await server.bearer({ tenantId })),
      'content-type': 'multipart/form-data; boundary=x',
    },
    body: broken() as unknown as ReadableStream,
    duplex: 'half',
  } as RequestInit);
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'upload_aborted']);
  expect(await rowsOf(tenantId)).toEqual(noRows);
  expect((await storedFiles()).length).toBe(before);
});
