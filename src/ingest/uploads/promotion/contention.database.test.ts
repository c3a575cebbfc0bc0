import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { adLine, adReport, range, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import type { Files } from '../../../kernel/files/types.ts';
import { defineErrors } from '../../../lib/errors.ts';
import { Database } from '../../../lib/postgres/db.ts';
import { withRetries } from '../staging/retries.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

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

describe('a deadlock', () => {
  /** A session that locks the second of two rows and requests the first, each time the upload has locked it. */
  async function openRival(tenantId: string) {
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query("set deadlock_timeout = '60s'");
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await letMeet(tenantId, Number(rows[0]?.pid));
    const spend = (impressions: number) =>
      client.query('update daily_metrics set reach = 0 where tenant_id = $1 and impressions = $2', [
        tenantId,
        impressions,
      ]);
    await client.query('begin');
    await spend(20);
    const isFirstTaken = async () => {
      const free = await database.owner(
        'select from daily_metrics where tenant_id = $1 and impressions = 10 for update skip locked',
        [tenantId],
      );
      return free.length === 0;
    };
    return async (times: number, onTurn: () => void): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        await eventually(isFirstTaken, 'the upload has the first row', 30_000);
        await client.query('savepoint again');
        // Waits for the row that the upload has locked, until the database aborts the upload's transaction.
        await spend(10);
        await client.query('rollback to savepoint again');
        if (time + 1 === times) await client.query('rollback');
        onTurn();
      }
      await client.end();
    };
  }

  /** The upload requests the second row once the rival waits or has gone, which closes the cycle. */
  async function letMeet(tenantId: string, rival: number): Promise<void> {
    await database.owner(`
      create or replace function meet_rival() returns trigger language plpgsql as $$
      begin
        while exists (select from pg_locks where pid = ${rival} and locktype = 'transactionid' and granted)
          and not pg_backend_pid() = any(pg_blocking_pids(${rival}) || ${rival}) loop
          perform pg_sleep(0.01);
        end loop;
        return new;
      end $$;
      create or replace trigger meet_rival before update on daily_metrics for each row
        when (new.tenant_id = '${tenantId}' and new.impressions = 10) execute function meet_rival()`);
  }

  async function meetDeadlocks(times: number) {
    await database.owner(
      `alter database ${new URL(database.ownerUrl).pathname.slice(1)} set deadlock_timeout = '100ms'`,
    );
    const db = new Database({ url: database.appUrl, applicationName: 'sluice-rival', maxConnections: 5 });
    const place = await uploads.place();
    // One ad on 1,300 days: the rival and the upload conflict on the first two.
    const day = (n: number) => new Date(Date.UTC(2020, 0, n)).toISOString().slice(0, 10);
    const lines = (spend: string) =>
      range(1_300).map((n) =>
        adLine(n, { spend, day: day(n) }).replace(/Ad \d+,12023\d+/, 'Ad,12023000000000001'),
      );
    let turns = 0;
    // An immediate retry could lock the row again before the waiting rival wakes up.
    const meanwhile = (n: number) => eventually(async () => turns >= n, `the rival has had its turn ${n}`);
    const first = await uploads.start({ db, meanwhile });
    await uploads.take(place, adReport(lines('1.00')));
    await first.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const upload = await uploads.take(place, adReport(lines('2.00')));
    const play = await openRival(place.tenantId);
    const rival = play(times, () => {
      turns += 1;
    });
    await first.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await rival;
    await first.kernel.stop(1_000);
    await db.close();
    return { upload, delays: first.delays, tenantId: place.tenantId };
  }

  test('is retried, and the upload completes', { timeout: 60_000 }, async () => {
    const { upload, delays } = await meetDeadlocks(1);
    expect(delays).toEqual([100]);
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 1_300 });
  });

  test('fails its batch after retries of 100, 200 and 400 ms, and the rest continues', {
    timeout: 60_000,
  }, async () => {
    const { upload, delays, tenantId } = await meetDeadlocks(4);
    expect(delays).toEqual([100, 200, 400]);
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'partial',
      promoted_rows: 300,
      failed_rows: 1_000,
      daily_metrics_upserted: 300,
    });
    const [spent] = await database.owner<{ n: number }>(
      'select count(*)::integer as n from daily_metrics where tenant_id = $1 and spend = 2',
      [tenantId],
    );
    expect(spent?.n).toBe(300);
    const refused = await refusedOf(upload.uploadId);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['batch_failed']));
    expect(await completes(upload.uploadId)).toBe(1);
  });
});

describe('a fact that another upload is writing at the same moment', () => {
  const spentOn = (tenantId: string, day: string) =>
    database.owner<{ spend: string }>(
      'select spend::text from daily_metrics where tenant_id = $1 and metric_date = $2',
      [tenantId, day],
    );

  /** An ad with one day, a session that writes its second day, and an upload with the same day. */
  async function meet(rivalIsNewer: boolean) {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    await uploads.take(place, adReport([adLine(1, { day: '2026-01-01', spend: '1.00' })]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const upload = await uploads.take(place, adReport([adLine(1, { day: '2026-01-02', spend: '2.00' })]));
    const rival = new pg.Client({ connectionString: database.ownerUrl });
    await rival.connect();
    const { rows } = await rival.query<{ pid: number }>('select pg_backend_pid() as pid');
    await rival.query('begin');
    await rival.query(
      `insert into daily_metrics (tenant_id, workspace_id, client_id, platform, metric_date, campaign_id, ad_set_id,
         ad_id, spend, as_of, created_by_upload, last_upload)
       select tenant_id, workspace_id, client_id, platform, '2026-01-02', campaign_id, ad_set_id, ad_id, 7,
              clock_timestamp() + $2 * interval '1 hour', created_by_upload, last_upload
         from daily_metrics where tenant_id = $1`,
      [place.tenantId, rivalIsNewer ? 1 : -1],
    );
    const run = kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await eventually(async () => {
      const waiting = await database.owner(
        'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)) and datname = current_database()',
        [rows[0]?.pid],
      );
      return waiting.length > 0;
    }, 'the upload waits for the rival');
    await rival.query('commit');
    await rival.end();
    await run;
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 1 });
    return spentOn(place.tenantId, '2026-01-02');
  }

  test('is replaced when it is older', async () => {
    expect(await meet(false)).toEqual([{ spend: '2' }]);
  });

  test('stays when it is newer', async () => {
    expect(await meet(true)).toEqual([{ spend: '7' }]);
  });
});

describe('a storage that asks to slow down', () => {
  const { raise } = defineErrors({
    slow_down: { kind: 'rate_limited', status: 503, title: 'Slow down', next: 'Wait.' },
  });
  const busy = (times: { left: number }): Files => ({
    ...uploads.files,
    open: async (...given) => {
      if (times.left === 0) return uploads.files.open(...given);
      times.left -= 1;
      throw raise.slow_down('The storage asks to slow down.');
    },
  });

  async function driveRetries(left: number) {
    const times = { left };
    const { kernel } = await uploads.start({ files: busy(times) });
    const place = await uploads.place();
    const upload = await uploads.take(place, adReport([adLine(1)]));
    for (let turn = 0; turn < 7; turn += 1) {
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      await uploads.bringForward(upload);
    }
    const retries = await database.owner<{ delay: number }>(
      `select (data ->> 'delay_seconds')::float as delay from events where subject = $1 and type = 'job.retry'`,
      [upload.jobId],
    );
    return { upload, times, delays: retries.map(({ delay }) => delay) };
  }

  test('is retried five times, every 60 s, and then the upload fails', async () => {
    const { upload, delays } = await driveRetries(6);
    expect(delays).toEqual([60, 60, 60, 60, 60]);
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'failed',
      error_code: 'storage_busy',
      error_text: 'The storage asks to slow down.',
    });
  });

  test('lets the upload complete once it recovers', async () => {
    const { upload, delays, times } = await driveRetries(5);
    expect(delays).toEqual([60, 60, 60, 60, 60]);
    expect(times.left).toBe(0);
    expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 1 });
  });
});

test('a waiting retry ends when its signal is aborted', async () => {
  const controller = new AbortController();
  const tries = { count: 0 };
  const trying = withRetries(
    async () => {
      tries.count += 1;
      throw Object.assign(new Error('gone'), { code: '23503' });
    },
    { signal: controller.signal },
  );
  await sleep(0);
  controller.abort(new Error('the lease is lost'));
  await expect(trying).rejects.toThrow();
  expect(tries.count).toBe(1);
});
