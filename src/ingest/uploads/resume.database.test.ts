import path from 'node:path';
import { expect, test } from 'vitest';
import { startTcpProxy } from '../../../test/support/fakes/tcp-proxy.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import {
  adLine,
  adReport,
  gate,
  type RunHooks,
  range,
  useUploadRuns,
} from '../../../test/support/worlds/upload-runs.ts';
import { Database } from '../../lib/postgres/db.ts';
import type { Upload } from './types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const lines = 7;
/**
 * Three batches of staging, so that a worker can be interrupted in the middle. There is no heartbeat meanwhile: a
 * worker that has lost its job must find out when it writes.
 */
const batches = { linesPerBatch: 3, heartbeatMs: 60_000 };
const report = adReport(range(lines).map((n) => adLine(n, { campaign: (n % 2) + 1 })));

/** Everything that an upload leaves in the database. */
async function leavings({ uploadId }: Upload) {
  const [staged] = await database.owner<{ facts: number; rows: number }>(
    `select count(*) filter (where entity_type = 'daily_metric')::integer as facts,
            count(distinct row_index)::integer as rows
       from staging_rows where upload_id = $1`,
    [uploadId],
  );
  const events = await uploads.events({ uploadId });
  const { status, total_rows, valid_rows, promoted_rows, failed_rows, layout } = await uploads.upload({
    uploadId,
  });
  return {
    status,
    figures: [total_rows, valid_rows, promoted_rows, failed_rows],
    staged,
    metrics: await uploads.count('daily_metrics', { uploadId }),
    ads: await uploads.count('ads', { uploadId }),
    moves: events.map(({ type }) => type),
    sources: Object.keys((layout as { sources: object }).sources).length,
  };
}

const whole = {
  status: 'completed',
  figures: [lines, lines, lines, 0],
  staged: { facts: lines, rows: lines },
  metrics: lines,
  ads: lines,
  moves: [
    'upload.pending',
    'upload.processing',
    'upload.staging_complete',
    'upload.promoting',
    'upload.completed',
    'ingestion.complete',
  ],
  sources: 10,
};

/** Runs one upload with these hooks, then lets another kernel finish what the first one left. */
async function runTwice(hooks: RunHooks) {
  const place = await uploads.place();
  let transactions = 0;
  const first = await uploads.start({
    ...batches,
    hooks: {
      ...hooks,
      before: async (count, slice) => {
        transactions = count;
        await hooks.before?.(count, slice);
      },
    },
  });
  const upload = await uploads.take(place, report);
  await first.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const second = await uploads.start(batches);
  await uploads.bringForward(upload);
  await second.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const refused = (await first.kernel.metrics.zombieWritesRefused.get()).values[0]?.value ?? 0;
  const left = await leavings(upload);
  await Promise.all([first.kernel.stop(1_000), second.kernel.stop(1_000)]);
  return { upload, first, second, transactions, refused, left };
}

test('an undisturbed upload leaves one fact per row and one event', {
  timeout: 60_000,
}, async () => {
  const { left, second } = await runTwice({});
  expect(left).toEqual(whole);
  expect(second.reads).toEqual([]);
});

test('a worker that loses its job before any of its transactions writes nothing more, and the next one finishes it', {
  timeout: 240_000,
}, async () => {
  for (let at = 1; ; at += 1) {
    let isTaken = false;
    const { left, refused, transactions } = await runTwice({
      before: async (count, { job }) => {
        if (count !== at) return;
        isTaken = true;
        await uploads.takeOver(job);
      },
    });
    expect(left, `taken away before transaction ${at}`).toEqual(whole);
    if (!isTaken) break;
    expect(refused).toBeGreaterThan(0);
    expect(transactions).toBeLessThan(40);
  }
});

test('a worker that dies after any of its transactions leaves nothing out and nothing done twice', {
  timeout: 240_000,
}, async () => {
  for (let at = 1; ; at += 1) {
    let isTaken = false;
    const { left } = await runTwice({
      after: async (count, { job }) => {
        if (count !== at) return;
        isTaken = true;
        await uploads.takeOver(job);
      },
    });
    expect(left, `died after transaction ${at}`).toEqual(whole);
    if (!isTaken) break;
  }
});

test('a worker that was stopped while another one finished its upload changes nothing when it wakes', {
  timeout: 60_000,
}, async () => {
  for (const at of [3, 6, 10, 14]) {
    const place = await uploads.place();
    const reached = gate();
    const wake = gate();
    const zombie = await uploads.start({
      ...batches,
      hooks: {
        before: async (count) => {
          if (count !== at) return;
          reached.open();
          await wake.opened;
        },
      },
    });
    const upload = await uploads.take(place, report);
    const asleep = zombie.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await reached.opened;
    await uploads.takeOver(upload);
    const other = await uploads.start(batches);
    await other.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const rows = () =>
      database.owner('select xmin, ctid, * from daily_metrics where last_upload = $1 order by metric_id', [
        upload.uploadId,
      ]);
    const before = await rows();
    wake.open();
    await asleep;
    expect(await leavings(upload)).toEqual(whole);
    expect(await rows()).toEqual(before);
    const refused = await zombie.kernel.metrics.zombieWritesRefused.get();
    expect(refused.values[0]?.value).toBeGreaterThan(0);
  }
});

test('a commit whose response is lost is neither repeated nor left out, whichever it is', {
  timeout: 240_000,
}, async () => {
  const { hostname, username, password, pathname } = new URL(database.appUrl);
  const proxy = await startTcpProxy({ path: path.join(decodeURIComponent(hostname), '.s.PGSQL.5432') });
  const url = `postgres://${username}:${password}@127.0.0.1:${proxy.port}${pathname}`;
  const db = new Database({ url, applicationName: 'sluice-proxied', maxConnections: 5 });
  let noticed = 0;
  try {
    for (let at = 1; ; at += 1) {
      const place = await uploads.place();
      let armed = 0;
      const { kernel, delays } = await uploads.start({
        ...batches,
        db,
        hooks: {
          inside: async (_tx, count) => {
            if (count !== at) return;
            armed += 1;
            void proxy.loseNextCommit();
          },
        },
      });
      const upload = await uploads.take(place, report);
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      await kernel.stop(1_000);
      expect(await leavings(upload), `lost the response to commit ${at}`).toEqual(whole);
      if (armed === 0) break;
      expect(delays.length).toBeLessThanOrEqual(1);
      noticed += delays.length;
      // The rescuer commits too, and sometimes it loses the response instead of the upload: then try once more.
      if (delays.length === 0) at -= 1;
    }
    expect(noticed).toBeGreaterThan(8);
  } finally {
    await db.close();
    await proxy.close();
  }
});

test('reading resumes at the byte where the last transaction stopped, not at the beginning', async () => {
  const place = await uploads.place();
  const content = adReport(range(400).map((n) => adLine(n)));
  let resumeAt = 0;
  let readsBefore = 0;
  const run = await uploads.start({
    linesPerBatch: 100,
    hooks: {
      after: async (_count, { job }) => {
        const [row] = await database.owner<{ next: number | null; at: number }>(
          `select (checkpoint #>> '{resume,nextRowIndex}')::integer as next,
                  (checkpoint #>> '{resume,byteOffset}')::integer as at
             from ingestion_jobs where job_id = $1`,
          [job.jobId],
        );
        if ((row?.next ?? 0) < 200 || resumeAt > 0) return;
        resumeAt = row?.at ?? 0;
        readsBefore = run.reads.length;
        await uploads.takeOver(job);
      },
    },
  });
  const upload = await uploads.take(place, content);
  await run.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(resumeAt).toBeGreaterThan(Buffer.byteLength(content) / 3);
  const later = run.reads.slice(readsBefore);
  expect(later).toEqual([{ start: resumeAt, bytes: Buffer.byteLength(content) - resumeAt }]);
  expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 400 });
});
