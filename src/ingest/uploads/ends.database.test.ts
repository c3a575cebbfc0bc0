import { expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { adLine, adReport, range, useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';
import { sql } from '../../lib/postgres/sql.ts';
import { failAbandoned } from './service.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

async function completesOf({ uploadId }: { uploadId: string }) {
  const events = await uploads.events({ uploadId });
  return events.filter(({ type }) => type === 'ingestion.complete').map(({ data }) => data);
}

test('the event states exactly what arrived: rows, distinct keys and days', async () => {
  const place = await uploads.place();
  const clientId = '11111111-2222-4333-8444-555555555555';
  const { kernel } = await uploads.start();
  const lines = [
    adLine(1, { campaign: 1, day: '2026-03-02' }),
    adLine(2, { campaign: 2, day: '2026-03-01', spend: '9.00' }),
    adLine(2, { campaign: 2, day: '2026-03-01', spend: '9.00' }),
    adLine(1, { campaign: 1, day: '2026-03-09' }),
    ...range(20).map((n) => adLine(n + 2, { campaign: 2, day: '2026-03-02' })),
    adLine(50, { day: 'someday' }),
  ];
  const upload = await uploads.take(place, adReport(lines), { clientId });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const [event, ...more] = await completesOf(upload);
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    upload_id: upload.uploadId,
    workspace_id: place.workspaceId,
    client_id: clientId,
    platform: 'meta',
    status: 'partial',
    metrics: {
      total_rows: 25,
      promoted_rows: 24,
      failed_rows: 1,
      campaigns_upserted: 2,
      ad_sets_upserted: 2,
      ads_upserted: 22,
      daily_metrics_upserted: 23,
    },
    affected_dates: ['2026-03-01', '2026-03-02', '2026-03-09'],
  });
  expect(new Date(String(event?.timestamp)).getTime()).not.toBeNaN();
  const spent = await database.owner<{ spend: string }>(
    `select spend from daily_metrics where last_upload = $1 and metric_date = '2026-03-01'`,
    [upload.uploadId],
  );
  expect(spent.map(({ spend }) => Number(spend))).toEqual([9]);
  expect(await uploads.upload(upload)).toMatchObject({ event_emitted: true, row_count: 24 });
});

test('the final status and the event are committed together or not at all', async () => {
  const place = await uploads.place();
  const upload = await uploads.take(place, adReport([adLine(1)]));
  let broken = 0;
  const refused = new AbortController();
  const { kernel } = await uploads.start({
    // The job is released at once: the cycle ends with the slice in which the event was refused.
    pipeline: (real) => ({
      ...real,
      advance: (slice) =>
        real.advance(slice).catch((error: unknown) => {
          refused.abort();
          throw error;
        }),
    }),
    hooks: {
      inside: async (tx) => {
        // The event is refused at first, in the transaction that ends the upload.
        if (broken === 0) await tx.run(sql`select set_config('app.refuse_complete', 'yes', true)`);
      },
    },
  });
  await database.owner(`
    create function refuse_complete() returns trigger language plpgsql as $$
    begin
      if new.type = 'ingestion.complete' and current_setting('app.refuse_complete', true) = 'yes' then
        raise exception 'the server dies here' using errcode = '57P01';
      end if;
      return new;
    end $$;
    create trigger refuse_complete before insert on events for each row execute function refuse_complete()`);
  try {
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId, signal: refused.signal });
    expect(refused.signal.aborted).toBe(true);
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'promoting',
      event_emitted: false,
      row_count: null,
    });
    expect(await completesOf(upload)).toEqual([]);
    broken = 1;
    await uploads.bringForward(upload);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', event_emitted: true });
    expect(await completesOf(upload)).toHaveLength(1);
  } finally {
    await database.owner('drop trigger refuse_complete on events');
  }
});

test.each([
  ['only invalid rows', { bad: 10, good: 0 }, false, 'no_valid_rows'],
  ['too many invalid rows', { bad: 2, good: 8 }, false, 'too_many_invalid_rows'],
  ['only invalid rows, although forced', { bad: 3, good: 0 }, true, 'no_valid_rows'],
])('an upload of %s fails without an event', async (_what, { bad, good }, forcePartial, code) => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const lines = [
    ...range(good).map((n) => adLine(n)),
    ...range(bad).map((n) => adLine(n + 50, { day: 'never' })),
  ];
  const upload = await uploads.take(place, adReport(lines), { forcePartial });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'failed',
    error_code: code,
    invalid_rows: bad,
    promoted_rows: 0,
    event_emitted: false,
  });
  expect(await completesOf(upload)).toEqual([]);
  expect(await uploads.count('daily_metrics', upload)).toBe(0);
});

test.each([
  ['nine of ten valid', { bad: 1, good: 9 }, false],
  ['half of them valid, but forced', { bad: 5, good: 5 }, true],
])('an upload with %s is partial, with its event', async (_what, { bad, good }, forcePartial) => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const lines = [
    ...range(good).map((n) => adLine(n)),
    ...range(bad).map((n) => adLine(n + 50, { day: 'never' })),
  ];
  const upload = await uploads.take(place, adReport(lines), { forcePartial });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'partial',
    promoted_rows: good,
    failed_rows: bad,
  });
  expect(await completesOf(upload)).toHaveLength(1);
});

/** The database refuses facts from the 1,201st on: some of the second batch, and all of the third. */
async function refuseLater(tenantId: string, entity: string): Promise<void> {
  await database.owner(`
    create or replace function refuse_later() returns trigger language plpgsql as $$
    begin
      if new.tenant_id = '${tenantId}' and ${entity} then
        raise exception 'permission denied' using errcode = '42501';
      end if;
      return new;
    end $$`);
}

test('a critical error after committed batches keeps what was promoted, and the event states exactly that', {
  timeout: 60_000,
}, async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  await refuseLater(place.tenantId, 'new.impressions > 12000');
  await database.owner(
    'create trigger refuse_later before insert on daily_metrics for each row execute function refuse_later()',
  );
  const lines = range(2_300).map((n) => adLine(n, { day: n > 1_000 ? '2026-04-02' : '2026-04-01' }));
  const upload = await uploads.take(place, adReport(lines));
  await kernel.cycle({ budgetMs: 30_000, tenantId: place.tenantId });
  await database.owner('drop trigger refuse_later on daily_metrics');
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'partial',
    error_code: 'database_refused',
    promoted_rows: 1_200,
    failed_rows: 1_100,
    row_count: 1_200,
    daily_metrics_upserted: 1_200,
  });
  expect(await completesOf(upload)).toMatchObject([
    {
      status: 'partial',
      metrics: { total_rows: 2_300, promoted_rows: 1_200 },
      affected_dates: ['2026-04-01', '2026-04-02'],
    },
  ]);
  expect(await uploads.count('daily_metrics', upload)).toBe(1_200);
});

test('a critical error before the first fact fails the upload, and counts only the campaigns that were stored', {
  timeout: 60_000,
}, async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  await refuseLater(place.tenantId, `new.name >= 'Campaign 2'`);
  await database.owner(
    'create trigger refuse_later before insert on campaigns for each row execute function refuse_later()',
  );
  const lines = range(1_100).map((n) =>
    adLine(n, { campaign: n, name: n > 1_000 ? 'Campaign 2' : 'Campaign 1' }),
  );
  const upload = await uploads.take(place, adReport(lines));
  await kernel.cycle({ budgetMs: 30_000, tenantId: place.tenantId });
  await database.owner('drop trigger refuse_later on campaigns');
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'failed',
    error_code: 'database_refused',
    promoted_rows: 0,
    failed_rows: 1_100,
    campaigns_upserted: 1_000,
    ad_sets_upserted: 0,
    ads_upserted: 0,
    daily_metrics_upserted: 0,
    affected_dates: [],
    event_emitted: false,
  });
  expect(await completesOf(upload)).toEqual([]);
});

test('an upload whose job becomes a dead letter during promotion is partial, with one event', {
  timeout: 60_000,
}, async () => {
  const place = await uploads.place();
  let batches = 0;
  const { kernel, deps } = await uploads.start({
    hooks: {
      inside: async (_tx, _count, { job }) => {
        const [row] = await database.owner<{ after: number }>(
          `select (checkpoint #>> '{promotion,afterRow}')::integer as after from ingestion_jobs
            where job_id = $1 and checkpoint #>> '{promotion,entityType}' = 'daily_metric'`,
          [job.jobId],
        );
        if ((row?.after ?? -1) < 0) return;
        batches += 1;
        throw new Error('a bug that nobody foresaw');
      },
    },
  });
  const upload = await uploads.take(place, adReport(range(1_200).map((n) => adLine(n))));
  for (let turn = 0; turn < 5; turn += 1) {
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await uploads.bringForward(upload);
  }
  expect(batches).toBeGreaterThan(1);
  expect(await uploads.upload(upload)).toMatchObject({ status: 'promoting' });
  await Promise.all([failAbandoned(deps), failAbandoned(deps)]);
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'partial',
    error_code: 'upload_abandoned',
    promoted_rows: 1_000,
    failed_rows: 200,
  });
  expect(await completesOf(upload)).toHaveLength(1);
});
