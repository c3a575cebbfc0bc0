import { afterEach, describe, expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { adLine, adReport, range, useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

/** Reverts what a test changes about the database. */
const undoings: string[] = [];
afterEach(async () => {
  for (const statement of undoings.splice(0)) await database.owner(statement);
});

/** Runs this PL/pgSQL before a row of one tenant is written; `%TENANT%` separates the tests. */
async function addTrigger(table: string, tenantId: string, body: string): Promise<void> {
  await database.owner(`
    create or replace function refuse_${table}() returns trigger language plpgsql as $$
    begin
      if new.tenant_id = '${tenantId}' then ${body} end if;
      return new;
    end $$;
    create or replace trigger refuse_${table} before insert or update on ${table}
      for each row execute function refuse_${table}()`);
  undoings.push(`drop trigger refuse_${table} on ${table}`);
}

async function terminate(tx: Tx): Promise<void> {
  const own = await tx.find<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  await database.owner('select pg_terminate_backend($1)', [own?.pid]);
}

/** The kind of rows that comes next. */
async function promotedEntity({ jobId }: { jobId: string }): Promise<string | undefined> {
  const [row] = await database.owner<{ entity: string }>(
    `select checkpoint #>> '{promotion,entityType}' as entity from ingestion_jobs where job_id = $1`,
    [jobId],
  );
  return row?.entity;
}

async function completes(uploadId: string): Promise<number> {
  const events = await uploads.events({ uploadId });
  return events.filter(({ type }) => type === 'ingestion.complete').length;
}

const refusedOf = (uploadId: string) =>
  database.owner<{ row_index: number; code: string }>(
    `select row_index, promotion_error ->> 'code' as code
       from staging_rows
      where upload_id = $1 and entity_type = 'daily_metric' and promotion_error is not null
      order by row_index`,
    [uploadId],
  );

describe('a file that cannot be read', () => {
  test('fails at once with a reason and frees its slot when its bytes are missing', async () => {
    const { kernel } = await uploads.start();
    const place = await uploads.place();
    const upload = await uploads.take(place, adReport([adLine(1)]));
    await uploads.files.remove(upload.fileUrl.replace('local:', ''));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'failed',
      error_code: 'file_lost',
      error_text: `The stored file of upload ${upload.uploadId} is missing; upload it again.`,
    });
    const slots = await database.owner('select from upload_slots where upload_id = $1', [upload.uploadId]);
    expect(slots).toHaveLength(0);
    expect(await completes(upload.uploadId)).toBe(0);
  });

  test.each([
    ['no report', 'once upon a time\nthere was a text\n'],
    ['JSON that breaks off', `[{"campaign_id":"120210000000000001","date_start":"2026-03-01"`],
  ])('fails with a reason and no event when it is %s', async (_what, content) => {
    const { kernel } = await uploads.start();
    const place = await uploads.place();
    const upload = await uploads.take(place, content);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const failed = await uploads.upload(upload);
    expect(failed).toMatchObject({ status: 'failed', promoted_rows: 0 });
    expect(failed.error_text).toMatch(/\.$/);
    expect(await completes(upload.uploadId)).toBe(0);
  });
});

test('rows that cannot be parsed or are invalid are left out with reasons, and the rest is promoted', async () => {
  const { kernel } = await uploads.start();
  const place = await uploads.place();
  const lines = range(40).map((n) => adLine(n));
  lines[3] = adLine(4).replace('2026-03-01', 'the first of March');
  lines[7] = adLine(8).replace(/12023\d+/, '1.2E+17');
  const upload = await uploads.take(place, adReport(lines));
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await uploads.upload(upload)).toMatchObject({
    status: 'partial',
    total_rows: 40,
    valid_rows: 38,
    invalid_rows: 2,
    promoted_rows: 38,
    failed_rows: 2,
    error_code: 'rows_refused',
  });
  const invalid = await database.owner<{ row_index: number; fields: string[] }>(
    `select row_index, array(select p ->> 'field' from jsonb_array_elements(validation_errors) p) as fields
       from staging_rows where upload_id = $1 and validation_status = 'invalid' order by row_index`,
    [upload.uploadId],
  );
  expect(invalid.map(({ row_index }) => row_index)).toEqual([3, 7]);
  expect(await uploads.count('daily_metrics', upload)).toBe(38);
});

describe('a parent that cannot be stored', () => {
  const refusesCampaign2 = `if new.name = 'Campaign 2' then raise exception 'the secret rule' using errcode = 'P0001';
    end if;`;

  test('is looked up three more times, and then its lines are refused with it', async () => {
    const { kernel, delays } = await uploads.start();
    const place = await uploads.place();
    await addTrigger('campaigns', place.tenantId, refusesCampaign2);
    const upload = await uploads.take(
      place,
      adReport([adLine(1), adLine(2, { campaign: 2 }), adLine(3, { campaign: 2 })]),
    );
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(delays).toEqual([100, 200, 400]);
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'partial',
      promoted_rows: 1,
      failed_rows: 2,
      campaigns_upserted: 1,
    });
    expect(await refusedOf(upload.uploadId)).toEqual([
      { row_index: 1, code: 'entity_lost' },
      { row_index: 2, code: 'entity_lost' },
    ]);
    expect(await uploads.count('daily_metrics', upload)).toBe(1);
  });

  test('an entity that a trigger drops silently has its lines refused as well', async () => {
    const { kernel } = await uploads.start();
    const place = await uploads.place();
    await addTrigger('ads', place.tenantId, `if new.name = 'Ad 2' then return null; end if;`);
    const upload = await uploads.take(place, adReport([adLine(1), adLine(2)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'partial',
      promoted_rows: 1,
      failed_rows: 1,
    });
  });

  test('refuses its lines when it was deleted meanwhile', async () => {
    const place = await uploads.place();
    let hasFacts = false;
    const { kernel } = await uploads.start({
      hooks: {
        before: async (_count, { job }) => {
          if (hasFacts || (await promotedEntity(job)) !== 'daily_metric') return;
          hasFacts = true;
          await database.owner('delete from ads where tenant_id = $1', [place.tenantId]);
        },
      },
    });
    const upload = await uploads.take(place, adReport([adLine(1)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(hasFacts).toBe(true);
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'failed',
      promoted_rows: 0,
      failed_rows: 1,
    });
  });
});

test.each(['P0001', '42501', '22003', '0A000', 'XX000', '42P01'])(
  'a row that the database refuses with %s is isolated, and nobody sees what the database said',
  async (state) => {
    const { kernel } = await uploads.start();
    const place = await uploads.place();
    await addTrigger(
      'daily_metrics',
      place.tenantId,
      `if new.impressions = 50 then raise exception 'the secret rule' using errcode = '${state}'; end if;`,
    );
    const upload = await uploads.take(place, adReport(range(20).map((n) => adLine(n))));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const record = await uploads.upload(upload);
    expect(record).toMatchObject({ status: 'partial', promoted_rows: 19, failed_rows: 1 });
    expect(record).toMatchObject({
      reconciliation: { agrees: true, figures: { spend: { promoted: '19', refused: '1' } } },
    });
    const staged = await database.owner('select * from staging_rows where upload_id = $1', [upload.uploadId]);
    expect(JSON.stringify([record, staged])).not.toContain('secret rule');
  },
);

describe('a lost connection', () => {
  test('is retried after 1 s in any transaction of an upload, and no row is lost or doubled', {
    timeout: 240_000,
  }, async () => {
    for (let at = 1; ; at += 1) {
      const place = await uploads.place();
      let isKilled = false;
      const { kernel, delays } = await uploads.start({
        hooks: {
          inside: async (tx, count) => {
            if (count !== at) return;
            isKilled = true;
            await terminate(tx);
          },
        },
      });
      const upload = await uploads.take(place, adReport(range(5).map((n) => adLine(n))));
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      await kernel.stop(1_000);
      const figures = { status: 'completed', promoted_rows: 5, total_rows: 5 };
      expect(await uploads.upload(upload), `lost in transaction ${at}`).toMatchObject(figures);
      expect(await uploads.count('daily_metrics', upload)).toBe(5);
      expect(await completes(upload.uploadId)).toBe(1);
      expect(delays).toEqual(isKilled ? [1_000] : []);
      if (!isKilled) break;
    }
  });

  test('fails the upload after three retries of 1, 2 and 4 s when it happens each time', async () => {
    const place = await uploads.place();
    let killed = 0;
    const { kernel, delays } = await uploads.start({
      hooks: {
        inside: async (tx, _count, { job }) => {
          const now = await uploads.upload({ uploadId: job.subjectId });
          if (now.status !== 'processing' || killed >= 4) return;
          killed += 1;
          await terminate(tx);
        },
      },
    });
    const upload = await uploads.take(place, adReport([adLine(1)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(delays).toEqual([1_000, 2_000, 4_000]);
    expect(await uploads.upload(upload)).toMatchObject({ status: 'failed', error_code: 'database_lost' });
    expect(await completes(upload.uploadId)).toBe(0);
  });
});

test('a statement that takes too long is retried three times, and then the upload fails', async () => {
  const place = await uploads.place();
  await addTrigger('daily_metrics', place.tenantId, 'perform pg_sleep(60);');
  let limited = 0;
  const { kernel, delays } = await uploads.start({
    hooks: {
      // Only the statements for facts: on a busy machine any other statement may take that long too.
      inside: async (tx, _count, { job }) => {
        if (limited === 4 || (await promotedEntity(job)) !== 'daily_metric') return;
        limited += 1;
        await tx.run(sql`select set_config('statement_timeout', '250ms', true)`);
      },
    },
  });
  const upload = await uploads.take(place, adReport([adLine(1)]));
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(delays).toEqual([1_000, 2_000, 4_000]);
  expect(await uploads.upload(upload)).toMatchObject({ status: 'failed', error_code: 'database_lost' });
});

describe('a write that the database refuses', () => {
  test('fails the upload at once with the reason when a permission is missing', async () => {
    await database.owner('revoke insert on daily_metrics from sluice_promote');
    undoings.push('grant insert on daily_metrics to sluice_promote');
    const { kernel, delays } = await uploads.start();
    const place = await uploads.place();
    const upload = await uploads.take(place, adReport([adLine(1)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(delays).toEqual([]);
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'failed',
      error_code: 'database_refused',
      promoted_rows: 0,
      failed_rows: 1,
    });
    expect(await completes(upload.uploadId)).toBe(0);
  });

  test('fails the upload at once with the reason when a policy refuses it', async () => {
    await database.owner(
      `create policy none_of_this on daily_metrics as restrictive for insert to sluice_promote with check (false)`,
    );
    undoings.push('drop policy none_of_this on daily_metrics');
    const { kernel } = await uploads.start();
    const place = await uploads.place();
    const upload = await uploads.take(place, adReport([adLine(1)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({ status: 'failed', error_code: 'database_refused' });
  });

  test('loses exactly the refused rows when an unexpected unique index refuses them', async () => {
    const place = await uploads.place();
    await database.owner(
      `create unique index no_doubles on daily_metrics (spend) where tenant_id = '${place.tenantId}'`,
    );
    undoings.push('drop index no_doubles');
    const { kernel } = await uploads.start();
    const lines = range(1_300).map((n) => adLine(n, { spend: `${n}.00` }));
    const doubles = [17, 512, 999, 1_000, 1_299];
    for (const at of doubles) lines[at] = adLine(at + 1, { spend: '1.00' });
    const upload = await uploads.take(place, adReport(lines));
    await kernel.cycle({ budgetMs: 25_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'partial',
      promoted_rows: 1_295,
      failed_rows: 5,
      row_count: 1_295,
      daily_metrics_upserted: 1_295,
    });
    expect(await refusedOf(upload.uploadId)).toEqual(
      doubles.map((row_index) => ({ row_index, code: 'refused_by_database' })),
    );
    expect(await uploads.count('daily_metrics', upload)).toBe(1_295);
    expect(await completes(upload.uploadId)).toBe(1);
  });
});
