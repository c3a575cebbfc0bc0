import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { adLine, adReport, gate, range, useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';
import { cancel, pause, resume } from '../../kernel/jobs/dispatch/service.ts';
import { releaseForPromotion } from './service.ts';
import { moveUpload } from './store.ts';
import { type Upload, type UploadStatus, uploadStatuses } from './types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);
const report = adReport(range(3).map((n) => adLine(n)));

/** Taken from the documentation, not from the code. */
const legal: Record<UploadStatus, UploadStatus[]> = {
  pending: ['processing', 'failed'],
  processing: ['staging_complete', 'failed'],
  staging_complete: ['promoting', 'failed'],
  promoting: ['completed', 'partial', 'failed'],
  completed: [],
  partial: [],
  failed: [],
};

describe('the record', () => {
  const pairs = uploadStatuses.flatMap((from) => uploadStatuses.map((to) => [from, to] as const));

  test.each(pairs)('moves from %s to %s only if the table of moves allows it', async (from, to) => {
    const place = await uploads.place();
    const upload = await uploads.take(place, report);
    await database.owner(
      `update data_uploads
          set status = $2, finished_at = case when $2 in ('completed', 'partial', 'failed') then clock_timestamp() end
        where upload_id = $1`,
      [upload.uploadId, from],
    );
    const before = await uploads.upload(upload);
    const moved = await database.db.tenant(place.tenantId, (tx) =>
      tx.as('sluice_promote', (own) => moveUpload(own, upload, to)),
    );
    expect(moved).toBe(legal[from].includes(to));
    const after = await uploads.upload(upload);
    if (moved) expect(after.status).toBe(to);
    else expect(after).toEqual(before);
    const isEnd = ['completed', 'partial', 'failed'].includes(after.status);
    expect(after.finished_at !== null).toBe(isEnd);
  });
});

const jobKey = ({ tenantId, jobId }: Upload) => ({ tenantId, jobId });

async function leftOf({ uploadId }: Upload) {
  const slots = await database.owner('select from upload_slots where upload_id = $1', [uploadId]);
  return { slots: slots.length, staged: await uploads.count('staging_rows', { uploadId }) };
}

/** Stops an upload at the first transaction that finds it in this state. */
async function stopIn(status: UploadStatus) {
  const reached = gate();
  const goOn = gate();
  let isStopped = false;
  const run = await uploads.start({
    linesPerBatch: 1,
    sliceMs: 1,
    hooks: {
      before: async (_count, { job }) => {
        if (isStopped || (await uploads.upload({ uploadId: job.subjectId })).status !== status) return;
        isStopped = true;
        reached.open();
        await goOn.opened;
      },
    },
  });
  return { ...run, reached: reached.opened, goOn: goOn.open };
}

describe('canceling', () => {
  test.each(['pending', 'processing', 'staging_complete'] as const)(
    'an upload that is %s fails it as canceled, deletes its staged rows and frees its slot',
    async (status) => {
      const place = await uploads.place();
      const { kernel, reached, goOn } = await stopIn(status);
      const upload = await uploads.take(place, report);
      const driving = kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      await reached;
      await cancel(kernel, jobKey(upload));
      expect(await uploads.upload(upload)).toMatchObject({
        status: 'failed',
        error_code: 'canceled_by_user',
        error_text: 'Canceled by user',
      });
      const other = await uploads.take(place, report);
      goOn();
      await driving;
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      expect(await leftOf(upload)).toEqual({ slots: 0, staged: 0 });
      expect(await uploads.upload(upload)).toMatchObject({ status: 'failed', promoted_rows: 0 });
      expect(await uploads.count('daily_metrics', upload)).toBe(0);
      expect(await uploads.upload(other)).toMatchObject({ status: 'completed', promoted_rows: 3 });
    },
  );

  test('an upload that is promoting is refused with 409, and it completes', async () => {
    const place = await uploads.place();
    const { kernel, reached, goOn } = await stopIn('promoting');
    const upload = await uploads.take(place, report);
    const driving = kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await reached;
    await expect(cancel(kernel, jobKey(upload))).rejects.toMatchObject({
      code: 'upload_promoting',
      definition: { status: 409 },
    });
    goOn();
    await driving;
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 3 });
  });

  test('a finished upload is refused with 409 and changes nothing', async () => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const upload = await uploads.take(place, report);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await expect(cancel(kernel, jobKey(upload))).rejects.toMatchObject({ definition: { status: 409 } });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed' });
  });

  test('an upload that no worker has claimed leaves nothing to clean up', async () => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const upload = await uploads.take(place, report);
    await cancel(kernel, jobKey(upload));
    expect(await uploads.upload(upload)).toMatchObject({ status: 'failed', error_text: 'Canceled by user' });
    expect(await leftOf(upload)).toEqual({ slots: 0, staged: 0 });
  });

  test('an upload that is held for review deletes its staged rows', async () => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const upload = await uploads.take(place, report, { review: true });
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await leftOf(upload)).toEqual({ slots: 0, staged: 8 });
    await cancel(kernel, jobKey(upload));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await leftOf(upload)).toEqual({ slots: 0, staged: 0 });
  });
});

describe('pausing', () => {
  test.each(['processing', 'promoting'] as const)(
    'an upload that is %s keeps its rows, and resuming completes it with every row once',
    async (status) => {
      const place = await uploads.place();
      const { kernel, reached, goOn } = await stopIn(status);
      const upload = await uploads.take(place, report);
      const driving = kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      await reached;
      await pause(kernel, jobKey(upload));
      goOn();
      await driving;
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      expect(await uploads.upload(upload)).toMatchObject({ status });
      await resume(kernel, jobKey(upload));
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 3 });
      expect(await uploads.count('daily_metrics', upload)).toBe(3);
    },
  );

  test('an upload that has not started keeps it pending until it is resumed', async () => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const upload = await uploads.take(place, report);
    await pause(kernel, jobKey(upload));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'pending' });
    await resume(kernel, jobKey(upload));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed' });
  });
});

describe('a decision about a held upload', () => {
  test('is not missed when it comes while the slice that holds the upload is ending', async () => {
    const place = await uploads.place();
    let isDecided = false;
    const { kernel } = await uploads.start({
      pipeline: (real) => ({
        ...real,
        advance: async (slice) => {
          const result = await real.advance(slice);
          if (!isDecided) {
            isDecided = true;
            await releaseForPromotion(kernel, { ...place, uploadId: slice.job.subjectId }, {});
          }
          return result;
        },
      }),
    });
    const upload = await uploads.take(place, report, { review: true });
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(isDecided).toBe(true);
    const [job] = await database.owner<{ seconds: number }>(
      'select extract(epoch from run_at - clock_timestamp())::float as seconds from ingestion_jobs where job_id = $1',
      [upload.jobId],
    );
    expect(job?.seconds).toBeLessThan(60);
    await uploads.bringForward(upload);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed' });
  });

  test('stages the file again with another mapping, in a slot, and every row once', async () => {
    const place = await uploads.place();
    const slots: number[] = [];
    const { kernel } = await uploads.start({
      hooks: {
        inside: async (tx, _count, { job }) => {
          const { rows } = await tx.client.query(
            `select s.slot_no from upload_slots s
               join data_uploads u on u.upload_id = s.upload_id and u.mapping_version > 0
              where s.upload_id = $1`,
            [job.subjectId],
          );
          slots.push(rows.length);
        },
      },
    });
    const upload = await uploads.take(place, report, { review: true });
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    slots.length = 0;
    await releaseForPromotion(
      kernel,
      { ...place, uploadId: upload.uploadId },
      { mapping: { 'Link clicks': null } },
    );
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'completed',
      total_rows: 3,
      promoted_rows: 3,
    });
    const clicks = await database.owner<{ clicks: number | null }>(
      'select clicks from daily_metrics where last_upload = $1',
      [upload.uploadId],
    );
    expect(clicks).toEqual([{ clicks: null }, { clicks: null }, { clicks: null }]);
    // Only reading the upload, taking the slot, and what follows its end happen without a slot.
    expect(slots.indexOf(1)).toBeLessThanOrEqual(2);
    expect(slots.filter((held) => held === 0).length).toBeLessThanOrEqual(3);
  });
});
