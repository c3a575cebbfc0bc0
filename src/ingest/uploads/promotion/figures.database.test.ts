import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { adLine, adReport, range, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import { cancel } from '../../../kernel/jobs/dispatch/service.ts';
import { failAbandoned, purgeStaging } from '../service.ts';
import type { Upload } from '../types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const eightOfTen = adReport([
  ...range(8).map((n) => adLine(n)),
  adLine(9).replace('2026-03-01', 'the first of March'),
  adLine(10).replace('2026-03-01', 'the first of March'),
]);

/** Uploads a file and runs it as far as possible without a decision. */
async function send(content: string, options: { review?: boolean } = {}) {
  const place = await uploads.place();
  const { kernel, deps } = await uploads.start();
  const upload = await uploads.take(place, content, options);
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  return { upload, kernel, deps };
}

const figuresOf = async (upload: Upload) => {
  const { status, error_code: code, ...record } = await uploads.upload(upload);
  const { total_rows: total, valid_rows: valid, promoted_rows: promoted, failed_rows: failed } = record;
  return { status, code, total, valid, promoted, failed };
};

const nothingPromoted = { status: 'failed', total: 10, valid: 8, promoted: 0, failed: 10 };

test('an upload with too few valid rows has failed with all of its rows', async () => {
  const { upload } = await send(eightOfTen);
  expect(await figuresOf(upload)).toEqual({ ...nothingPromoted, code: 'too_many_invalid_rows' });
});

test('an upload without a valid row has failed with all of its rows', async () => {
  const { upload } = await send(adReport(range(3).map((n) => adLine(n, { day: 'some day' }))));
  expect(await figuresOf(upload)).toMatchObject({ code: 'no_valid_rows', total: 3, promoted: 0, failed: 3 });
});

test('an upload that is canceled after it was parsed has failed with all of its rows', async () => {
  const { upload, kernel } = await send(eightOfTen, { review: true });
  expect(await figuresOf(upload)).toMatchObject({ status: 'staging_complete', total: 10, failed: 0 });
  await cancel(kernel, upload);
  expect(await figuresOf(upload)).toEqual({ ...nothingPromoted, code: 'canceled_by_user' });
});

test('an upload that was held until its staged rows expired has failed with all of its rows', async () => {
  const { upload, deps } = await send(eightOfTen, { review: true });
  for (const table of ['data_uploads', 'staging_rows']) {
    await database.owner(
      `update ${table} set created_at = clock_timestamp() - interval '8 days' where upload_id = $1`,
      [upload.uploadId],
    );
  }
  await purgeStaging(deps, { days: 7 });
  expect(await figuresOf(upload)).toEqual({ ...nothingPromoted, code: 'staging_expired' });
});

test('an upload whose job becomes a dead letter after parsing has failed with all of its rows', async () => {
  const { upload, deps } = await send(eightOfTen, { review: true });
  await database.owner(
    `update ingestion_jobs
        set status = 'dead_letter', finished_at = clock_timestamp(), error_code = 'poison', error_message = 'Crashed'
      where job_id = $1`,
    [upload.jobId],
  );
  await failAbandoned(deps);
  expect(await figuresOf(upload)).toEqual({ ...nothingPromoted, code: 'upload_abandoned' });
});
