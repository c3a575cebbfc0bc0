import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const header = 'Day,Campaign,Campaign ID,Device,Impr.,Cost,Currency code';
const byDevice = [
  '2026-03-01,Summer,1001,Computers,100,10,USD',
  '2026-03-01,Summer,1001,Mobile phones,50,5,USD',
  '2026-03-01,Summer,1001,Tablets,10,1,USD',
  '2026-03-02,Summer,1001,Tablets,10,1,USD',
];
const report = (lines: string[]) => `${header}\n${lines.join('\n')}\n`;

const warning = {
  code: 'repeated_facts',
  count: 2,
  message: expect.stringMatching(
    /^Several lines are about the same day .* without the breakdown .*: "Device"\.$/,
  ),
};

test('lines about the same fact cause a warning that names the unread columns', async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const upload = await uploads.take(place, report(byDevice), { platform: 'google' });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'completed',
    promoted_rows: 4,
    daily_metrics_upserted: 2,
    warnings: [warning],
  });
});

test('one line per fact causes no warning', async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const upload = await uploads.take(place, report(byDevice.slice(2)), { platform: 'google' });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', warnings: [] });
});

test('a reviewer sees the warning before promotion, and it appears once afterwards', async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const upload = await uploads.take(place, report(byDevice), { platform: 'google', review: true });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({ status: 'staging_complete', warnings: [warning] });
  await database.owner('update data_uploads set review = false where upload_id = $1', [upload.uploadId]);
  await uploads.bringForward(upload);
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', warnings: [warning] });
});

test('a worker that loses its job before any of its transactions does not change the warning', {
  timeout: 120_000,
}, async () => {
  for (let at = 1; ; at += 1) {
    const place = await uploads.place();
    let isTaken = false;
    const first = await uploads.start({
      linesPerBatch: 1,
      hooks: {
        before: async (count, { job }) => {
          if (count !== at) return;
          isTaken = true;
          await uploads.takeOver(job);
        },
      },
    });
    const upload = await uploads.take(place, report(byDevice), { platform: 'google' });
    await first.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const second = await uploads.start({ linesPerBatch: 1 });
    await uploads.bringForward(upload);
    await second.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await Promise.all([first.kernel.stop(1_000), second.kernel.stop(1_000)]);
    const record = await uploads.upload(upload);
    expect(record, `taken away before transaction ${at}`).toMatchObject({
      status: 'completed',
      warnings: [warning],
    });
    if (!isTaken) break;
  }
});
