import { appendFile, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { zipOf } from '../../../test/generators/zip-archive.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import {
  adLine,
  adReport,
  type Place,
  type Run,
  range,
  useUploadRuns,
} from '../../../test/support/worlds/upload-runs.ts';
import { Workbooks } from '../../kernel/files/workbooks.ts';
import { pause } from '../../kernel/jobs/dispatch/service.ts';
import { FolderWatch } from './intake/folder-watch.ts';
import { purgeStaging } from './service.ts';
import type { Upload } from './types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);
const report = adReport(range(3).map((n) => adLine(n)));

async function age({ uploadId }: Upload, days: number): Promise<void> {
  const past = `clock_timestamp() - ${days} * interval '1 day'`;
  await database.owner(`update data_uploads set created_at = ${past} where upload_id = $1`, [uploadId]);
  await database.owner(`update staging_rows set created_at = ${past} where upload_id = $1`, [uploadId]);
}

const staged = (upload: Upload) => uploads.count('staging_rows', upload);

describe('the purge of staging', () => {
  test('deletes staged rows older than 7 days, and leaves newer ones and production', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const [old, young] = [await uploads.take(place, report), await uploads.take(place, report)];
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await age(old, 7.1);
    await age(young, 6.9);
    const production = () =>
      database.owner('select * from daily_metrics where tenant_id = $1 order by metric_id', [place.tenantId]);
    const before = await production();
    expect(before).toHaveLength(3);
    expect(await purgeStaging(deps, { days: 7 })).toEqual({ removed: 8, expired: 0 });
    expect([await staged(old), await staged(young)]).toEqual([0, 8]);
    expect(await uploads.count('staging_id_resolution', old)).toBe(0);
    expect(await production()).toEqual(before);
    expect(await uploads.upload(old)).toMatchObject({ status: 'completed', promoted_rows: 3 });
    expect(await purgeStaging(deps, { days: 7 })).toEqual({ removed: 0, expired: 0 });
  });

  test('runs in batches: no transaction deletes more than 10,000 rows', async () => {
    const place = await uploads.place();
    const { deps, kernel } = await uploads.start();
    const upload = await uploads.take(place, report);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await database.owner(
      `insert into staging_rows (tenant_id, upload_id, workspace_id, entity_type, row_index, natural_key_hash,
         raw_data, validation_status)
       select $1, $2, $3, 'daily_metric', n, 'x', '{}', 'invalid' from generate_series(100, 24099) n`,
      [place.tenantId, upload.uploadId, place.workspaceId],
    );
    await age(upload, 8);
    await database.owner(`
      create table purged (xid xid8 not null, n integer not null);
      create function count_purged() returns trigger language plpgsql security definer as $$
      begin
        insert into purged select pg_current_xact_id(), count(*) from gone;
        return null;
      end $$;
      create trigger count_purged after delete on staging_rows referencing old table as gone
        for each statement execute function count_purged()`);
    try {
      expect(await purgeStaging(deps, { days: 7 })).toEqual({ removed: 24_008, expired: 0 });
      const batches = await database.owner<{ n: number }>(
        'select sum(n)::integer as n from purged group by xid having sum(n) > 0 order by 1',
      );
      expect(batches.map(({ n }) => n)).toEqual([4_008, 10_000, 10_000]);
    } finally {
      await database.owner('drop trigger count_purged on staging_rows');
    }
  });

  test('fails an upload that was held for review until then, and leaves work in progress alone', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const drive = () => kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const held = await uploads.take(place, report, { review: true });
    const paused = await uploads.take(place, report, { review: true });
    await drive();
    await database.owner('update data_uploads set review = false where upload_id = $1', [paused.uploadId]);
    await pause(kernel, paused);
    for (const one of [held, paused]) await age(one, 8);
    expect(await purgeStaging(deps, { days: 7 })).toEqual({ removed: 8, expired: 1 });
    expect(await uploads.upload(held)).toMatchObject({ status: 'failed', error_code: 'staging_expired' });
    expect((await uploads.upload(held)).error_text).toMatch(/upload the file again\.$/);
    expect(await uploads.upload(paused)).toMatchObject({ status: 'staging_complete' });
    expect(await staged(paused)).toBe(8);
    await drive();
    const [job] = await database.owner<{ status: string }>(
      'select status from ingestion_jobs where job_id = $1',
      [held.jobId],
    );
    expect(job?.status).toBe('dead_letter');
  });

  test('reaches expired uploads, however many uploads in progress are older', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const upload = await uploads.take(place, report);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await age(upload, 8);
    await database.owner(
      `with made as (
         insert into data_uploads (tenant_id, upload_id, workspace_id, platform, source, file_id, file_url, status,
                                   job_id, created_by, user_id, created_at)
         select $1, gen_random_uuid(), $2, 'meta', 'manual', gen_random_uuid(), 'x', 'processing',
                gen_random_uuid(), 'x', 'x', clock_timestamp() - interval '9 days'
           from generate_series(1, 120)
         returning upload_id)
       insert into staging_rows (tenant_id, upload_id, workspace_id, entity_type, row_index, natural_key_hash, raw_data,
                                 validation_status, created_at)
       select $1, upload_id, $2, 'ad', 1, 'x', '{}', 'valid', clock_timestamp() - interval '9 days' from made`,
      [place.tenantId, place.workspaceId],
    );
    expect(await purgeStaging(deps, { days: 7 })).toEqual({ removed: 8, expired: 0 });
    expect(await staged(upload)).toBe(0);
  });

  test('does not fail an upload that a reviewer releases at that moment', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const drive = () => kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const upload = await uploads.take(place, report, { review: true });
    await drive();
    await age(upload, 8);
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query('begin');
    await client.query('update data_uploads set review = false where upload_id = $1', [upload.uploadId]);
    const purging = purgeStaging(deps, { days: 7 });
    await eventually(async () => {
      const waiting = await database.owner(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return waiting.length > 0;
    }, 'the purge waits for the decision');
    await client.query('commit');
    await client.end();
    expect(await purging).toEqual({ removed: 0, expired: 0 });
    await uploads.bringForward(upload);
    await drive();
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 3 });
  });
});

describe('the watched folder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'sluice-watched-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function watch({ kernel }: Run, logger = pino({ level: 'silent' })): FolderWatch {
    const { db, wake, metrics, registry, quotas } = kernel;
    const deps = {
      db,
      wake,
      metrics,
      registry,
      quotas,
      files: uploads.files,
      maxUploadBytes: 1024 * 1024,
      maxUnfoldedBytes: 8 * 1024 * 1024,
      maxArchiveReports: 10,
      workbooks: new Workbooks({ perTenant: 4 }),
      logger,
    };
    return new FolderWatch(deps, folder);
  }

  async function drop(
    place: Place,
    name: string,
    content: string | Buffer,
    platform = 'meta',
  ): Promise<string> {
    const directory = path.join(folder, place.tenantId, place.workspaceId, platform);
    await mkdir(directory, { recursive: true });
    const file = path.join(directory, name);
    await writeFile(file, content);
    await rest(file);
    return file;
  }

  /** Makes the file look as if it was written a while ago. */
  async function rest(file: string, secondsAgo = 60): Promise<void> {
    const time = new Date(Date.now() - secondsAgo * 1_000);
    await utimes(file, time, time);
  }

  const takenOf = ({ tenantId }: Place) =>
    database.owner<{ filename: string; status: string }>(
      'select filename, status from data_uploads where tenant_id = $1 order by filename',
      [tenantId],
    );
  const refusedOf = ({ tenantId }: Place) =>
    database.owner<{ path: string; error_text: string }>(
      'select path, error_text from dropped_files where tenant_id = $1 and upload_id is null order by path',
      [tenantId],
    );

  test('uploads each file once, and again only when it has changed', async () => {
    const place = await uploads.place();
    const run = await uploads.start();
    const watcher = watch(run);
    const file = await drop(place, 'a.csv', report);
    await drop(place, '.hidden.csv', report);
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 0 });
    expect(await watcher.scan()).toEqual({ taken: 1, refused: 0, misplaced: 0 });
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 0 });
    await run.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await takenOf(place)).toEqual([{ filename: 'a.csv', status: 'completed' }]);
    await writeFile(file, `${report}${adLine(9)}\n`);
    await rest(file, 30);
    const restarted = watch(run);
    await restarted.scan();
    expect(await restarted.scan()).toEqual({ taken: 1, refused: 0, misplaced: 0 });
  });

  test('uploads every report of an archive, and refuses an archive of archives with its reason', async () => {
    const place = await uploads.place();
    const run = await uploads.start();
    const watcher = watch(run);
    const archive = zipOf([
      { name: 'a.csv', content: report },
      { name: 'b.csv', content: adReport([adLine(7)]) },
    ]);
    await drop(place, 'reports.zip', archive);
    await drop(place, 'bad.zip', zipOf([{ name: 'inner.zip', content: archive }]));
    await watcher.scan();
    expect(await watcher.scan()).toEqual({ taken: 1, refused: 1, misplaced: 0 });
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 0 });
    await run.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await takenOf(place)).toEqual([
      { filename: 'a.csv', status: 'completed' },
      { filename: 'b.csv', status: 'completed' },
    ]);
    expect(await refusedOf(place)).toMatchObject([{ error_text: expect.stringMatching(/"inner.zip"/) }]);
  });

  test('uploads each file once when two workers scan at the same time', async () => {
    const place = await uploads.place();
    const run = await uploads.start();
    const watchers = [watch(run), watch(run)];
    for (const n of range(5)) await drop(place, `${n}.csv`, report);
    await Promise.all(watchers.map((one) => one.scan()));
    const reports = await Promise.all(watchers.map((one) => one.scan()));
    expect(reports.reduce((sum, { taken }) => sum + taken, 0)).toBe(5);
    expect(await takenOf(place)).toHaveLength(5);
    const [jobs] = await database.owner<{ n: number }>(
      'select count(*)::integer as n from ingestion_jobs where tenant_id = $1',
      [place.tenantId],
    );
    expect(jobs?.n).toBe(5);
  });

  test('ignores a file that still grows or has just changed', async () => {
    const place = await uploads.place();
    const watcher = watch(await uploads.start());
    const file = await drop(place, 'growing.csv', report);
    await watcher.scan();
    await appendFile(file, `${adLine(7)}\n`);
    await rest(file, 50);
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 0 });
    // A minute ahead, so that the file counts as just changed however late the scans come.
    await rest(file, -60);
    await watcher.scan();
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 0 });
    await rest(file);
    await watcher.scan();
    expect(await watcher.scan()).toEqual({ taken: 1, refused: 0, misplaced: 0 });
  });

  test('records once why a file was refused, and continues with the others', async () => {
    const place = await uploads.place();
    const watcher = watch(await uploads.start());
    await drop(place, 'empty.csv', '');
    await drop(place, 'report.csv', report, 'myspace');
    await drop(place, 'good.csv', report);
    await drop({ ...place, workspaceId: '0b8f7a52-51a8-4b0e-9d4e-1f6b35f6b0aa' }, 'lost.csv', report);
    await watcher.scan();
    expect(await watcher.scan()).toEqual({ taken: 1, refused: 3, misplaced: 0 });
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 0 });
    const refused = await refusedOf(place);
    expect(refused.map(({ path: below }) => path.basename(below)).sort()).toEqual([
      'empty.csv',
      'lost.csv',
      'report.csv',
    ]);
    expect(refused.every(({ error_text }) => error_text.length > 10)).toBe(true);
    // The tenant's events contain each refusal once, with what to do.
    const events = await database.owner<{ data: Record<string, string> }>(
      "select data from events where tenant_id = $1 and type = 'upload.refused' order by data ->> 'filename'",
      [place.tenantId],
    );
    expect(events.map(({ data }) => data)).toMatchObject([
      { filename: 'empty.csv', error_code: 'upload_empty', error_message: expect.stringMatching(/no bytes/) },
      { filename: 'lost.csv', error_code: 'workspace_unknown', next: expect.stringMatching(/workspaces/) },
      {
        filename: 'report.csv',
        error_code: 'upload_form_invalid',
        error_message: expect.stringMatching(/"meta"/),
      },
    ]);
  });

  test('counts files outside every tenant’s folder or at the wrong depth, and logs them once', async () => {
    const place = await uploads.place();
    const said: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => said.push(JSON.parse(line).path) });
    const watcher = watch(await uploads.start(), logger);
    await drop({ tenantId: 'aaa-nobody', workspaceId: place.workspaceId }, 'a.csv', report);
    await drop({ tenantId: 'aaa-nobody', workspaceId: 'no-uuid' }, 'b.csv', report);
    await writeFile(path.join(folder, 'loose.csv'), report);
    await drop(place, 'mine.csv', report);
    await watcher.scan();
    expect(await watcher.scan()).toEqual({ taken: 1, refused: 0, misplaced: 3 });
    expect(await watcher.scan()).toEqual({ taken: 0, refused: 0, misplaced: 3 });
    expect(said.map((below) => path.basename(below)).sort()).toEqual(['a.csv', 'b.csv', 'loose.csv']);
    expect(await takenOf(place)).toEqual([{ filename: 'mine.csv', status: 'pending' }]);
  });

  test('continues with the other files when one cannot be uploaded at the moment', async () => {
    const [first, second] = [await uploads.place(), await uploads.place()];
    const run = await uploads.start();
    const watcher = watch(run);
    await drop(first, 'a.csv', report);
    await drop(second, 'b.csv', report);
    await database.owner(`update tenants set limits = '{"max_queued_jobs": 0}' where tenant_id = $1`, [
      first.tenantId,
    ]);
    await database.owner(`
      create function refuse_upload() returns trigger language plpgsql as $$
      begin
        if new.tenant_id = '${first.tenantId}' then raise exception 'not at the moment'; end if;
        return new;
      end $$;
      create trigger refuse_upload before insert on data_uploads for each row execute function refuse_upload()`);
    await watcher.scan();
    expect(await watcher.scan()).toEqual({ taken: 1, refused: 0, misplaced: 0 });
    await database.owner('drop trigger refuse_upload on data_uploads');
    await database.owner(`update tenants set limits = '{}' where tenant_id = $1`, [first.tenantId]);
    const later = watch(await uploads.start());
    await later.scan();
    expect(await later.scan()).toEqual({ taken: 1, refused: 0, misplaced: 0 });
  });
});
