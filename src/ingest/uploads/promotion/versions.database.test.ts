import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import {
  adLine,
  adReport,
  gate,
  type Place,
  range,
  useUploadRuns,
} from '../../../../test/support/worlds/upload-runs.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { releaseForPromotion } from '../service.ts';
import type { Upload } from '../types.ts';
import { previewUndo, undo } from '../undo/undo.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

async function valuesIn({ tenantId }: Place) {
  const [row] = await database.owner<{ campaign: string; ad: string; spend: number }>(
    `select (select name from campaigns where tenant_id = $1) as campaign,
            (select string_agg(name, ',' order by name) from ads where tenant_id = $1) as ad,
            (select sum(spend)::float from daily_metrics where tenant_id = $1) as spend`,
    [tenantId],
  );
  return row;
}

/** No report here has a range or a breakdown. */
const noMore = { period_metrics: 0, metric_breakdowns: 0 };

const countsIn = async ({ tenantId }: Place) => {
  const [row] = await database.owner<Record<string, number>>(
    `select (select count(*)::integer from campaigns where tenant_id = $1) as campaigns,
            (select count(*)::integer from ad_sets where tenant_id = $1) as ad_sets,
            (select count(*)::integer from ads where tenant_id = $1) as ads,
            (select count(*)::integer from daily_metrics where tenant_id = $1) as daily_metrics,
            (select count(*)::integer from period_metrics where tenant_id = $1) as period_metrics,
            (select count(*)::integer from metric_breakdowns where tenant_id = $1) as metric_breakdowns`,
    [tenantId],
  );
  return row;
};

describe('two uploads with the same keys', () => {
  const older = adReport([adLine(1, { name: 'Old', spend: '1.00' })]);
  const newer = adReport([adLine(1, { name: 'New', spend: '2.00' }).replace('Ad 1,', 'Ad one,')]);

  test.each([
    ['in order', false],
    ['in reverse order', true],
  ])(
    'keep the newer values, for entities and for facts, when they are promoted %s',
    async (_how, isTurned) => {
      const place = await uploads.place();
      const { kernel } = await uploads.start();
      const pair = [
        await uploads.take(place, older, { review: true }),
        await uploads.take(place, newer, { review: true }),
      ];
      await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
      for (const one of isTurned ? pair.reverse() : pair) await release(one, kernel);
      expect(await valuesIn(place)).toEqual({ campaign: 'New', ad: 'Ad one', spend: 2 });
      for (const one of pair)
        expect(await uploads.upload(one)).toMatchObject({ status: 'completed', promoted_rows: 1 });
    },
  );

  test('keep the newer values, even when they came in within one millisecond', async () => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const [first, second] = [
      await uploads.take(place, older, { review: true }),
      await uploads.take(place, newer, { review: true }),
    ];
    for (const [one, time] of [
      [first, '2026-05-01T10:00:00.000100Z'],
      [second, '2026-05-01T10:00:00.000900Z'],
    ] as const) {
      await database.owner('update data_uploads set created_at = $2 where upload_id = $1', [
        one.uploadId,
        time,
      ]);
    }
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await release(second, kernel);
    await release(first, kernel);
    expect(await valuesIn(place)).toEqual({ campaign: 'New', ad: 'Ad one', spend: 2 });
  });

  test('both complete when they are promoted at once, whatever the order of their rows', {
    timeout: 60_000,
  }, async () => {
    const place = await uploads.place();
    const lines = range(900).map((n) => adLine(n, { campaign: n % 50, spend: '1.00' }));
    const { kernel, delays } = await uploads.start({ concurrency: 4 });
    const pair = [
      await uploads.take(place, adReport(lines)),
      await uploads.take(place, adReport([...lines].reverse())),
      await uploads.take(place, adReport(lines)),
    ];
    await kernel.cycle({ budgetMs: 30_000, tenantId: place.tenantId });
    for (const one of pair)
      expect(await uploads.upload(one)).toMatchObject({ status: 'completed', promoted_rows: 900 });
    expect(delays.length).toBeLessThan(10);
    expect(await countsIn(place)).toEqual({
      campaigns: 50,
      ad_sets: 50,
      ads: 900,
      daily_metrics: 900,
      ...noMore,
    });
  });

  async function release(
    upload: Upload,
    kernel: { cycle(o: { budgetMs: number; tenantId: string }): Promise<unknown> },
  ) {
    await database.owner('update data_uploads set review = false where upload_id = $1', [upload.uploadId]);
    await uploads.bringForward(upload);
    await kernel.cycle({ budgetMs: 20_000, tenantId: upload.tenantId });
  }
});

test('uploading the same file again changes no value and no modification time', async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start();
  const content = adReport(range(4).map((n) => adLine(n)));
  const snapshot = () =>
    database.owner(
      `select 'm' as kind, metric_id::text as id, spend::text as said, updated_at, created_by_upload
         from daily_metrics where tenant_id = $1
       union all select 'a', ad_id::text, name, updated_at, created_by_upload from ads where tenant_id = $1
       union all select 's', ad_set_id::text, name, updated_at, created_by_upload from ad_sets where tenant_id = $1
       union all select 'c', campaign_id::text, name, updated_at, created_by_upload from campaigns where tenant_id = $1
       order by kind, id`,
      [place.tenantId],
    );
  await uploads.take(place, content);
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const before = await snapshot();
  expect(before).toHaveLength(10);
  const again = await uploads.take(place, content);
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  expect(await snapshot()).toEqual(before);
  expect(await uploads.upload(again)).toMatchObject({
    status: 'completed',
    promoted_rows: 4,
    daily_metrics_upserted: 4,
  });
});

describe('undoing an upload', () => {
  const key = ({ tenantId, uploadId }: Upload) => ({ tenantId, uploadId });
  const nothing = { campaigns: 0, ad_sets: 0, ads: 0, daily_metrics: 0, ...noMore };

  test('deletes what it created, keeps its status and works once; the file can be uploaded again', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const content = adReport(range(3).map((n) => adLine(n)));
    const upload = await uploads.take(place, content);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await undo(deps, key(upload))).toEqual({
      deleted: { campaigns: 1, ad_sets: 1, ads: 3, daily_metrics: 3, ...noMore },
      not_undone: nothing,
    });
    expect(await countsIn(place)).toEqual(nothing);
    const undone = await uploads.upload(upload);
    expect(undone).toMatchObject({ status: 'completed', promoted_rows: 3 });
    expect(undone.undone_at).not.toBeNull();
    await expect(undo(deps, key(upload))).rejects.toMatchObject({ definition: { status: 409 } });
    const again = await uploads.take(place, content);
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(again)).toMatchObject({ status: 'completed', promoted_rows: 3 });
    expect(await countsIn(place)).toEqual({ campaigns: 1, ad_sets: 1, ads: 3, daily_metrics: 3, ...noMore });
  });

  test('leaves what a later upload has touched, and lists what the upload itself had updated', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const first = await uploads.take(place, adReport([adLine(1), adLine(2)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const second = await uploads.take(place, adReport([adLine(2, { spend: '5.00' }), adLine(3)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await undo(deps, key(first))).toEqual({
      deleted: { campaigns: 0, ad_sets: 0, ads: 1, daily_metrics: 1, ...noMore },
      not_undone: { campaigns: 1, ad_sets: 1, ads: 1, daily_metrics: 1, ...noMore },
    });
    expect(await undo(deps, key(second))).toEqual({
      deleted: { campaigns: 0, ad_sets: 0, ads: 1, daily_metrics: 1, ...noMore },
      not_undone: { campaigns: 1, ad_sets: 1, ads: 1, daily_metrics: 1, ...noMore },
    });
    expect(await valuesIn(place)).toEqual({ campaign: 'Campaign 1', ad: 'Ad 2', spend: 5 });
  });

  describe('when a file was sent twice', () => {
    const all = { campaigns: 1, ad_sets: 1, ads: 3, daily_metrics: 3, ...noMore };

    test.each([
      ['the first', { undone: [0, 1], promoted: [0, 1] }],
      ['the second', { undone: [1, 0], promoted: [0, 1] }],
      ['the first, which was promoted last', { undone: [0, 1], promoted: [1, 0] }],
      ['the second, which was promoted first', { undone: [1, 0], promoted: [1, 0] }],
    ])('leaves everything after undoing %s, and then nothing', async (_which, { undone, promoted }) => {
      const content = adReport(range(3).map((n) => adLine(n)));
      const { place, deps, pair } = await sendPair([content, content], promoted);
      const [one, other] = undone.map((at) => pair[at] as Upload) as [Upload, Upload];
      const first = { deleted: nothing, not_undone: all };
      expect(await previewUndo(deps, key(one))).toEqual(first);
      expect(await undo(deps, key(one))).toEqual(first);
      expect(await countsIn(place)).toEqual(all);
      const second = { deleted: all, not_undone: nothing };
      expect(await previewUndo(deps, key(other))).toEqual(second);
      expect(await undo(deps, key(other))).toEqual(second);
      expect(await countsIn(place)).toEqual(nothing);
    });
  });

  test.each([
    ['after', [0, 1]],
    ['before', [1, 0]],
  ])('leaves what the upload changed when it was promoted %s an older one', async (_when, promoted) => {
    const older = adReport([adLine(1, { name: 'Old' })]);
    const newer = adReport([adLine(1, { name: 'New', spend: '2.00' })]);
    const { place, deps, pair } = await sendPair([older, newer], promoted);
    const left = { campaigns: 1, ad_sets: 1, ads: 1, daily_metrics: 1, ...noMore };
    expect(await undo(deps, key(pair[1] as Upload))).toEqual({ deleted: nothing, not_undone: left });
    expect(await valuesIn(place)).toEqual({ campaign: 'New', ad: 'Ad 1', spend: 2 });
  });

  /** Uploads two files and promotes them in this order. */
  async function sendPair(contents: string[], order: number[]) {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const drive = () => kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const pair: Upload[] = [];
    for (const content of contents) pair.push(await uploads.take(place, content, { review: true }));
    await drive();
    for (const at of order) {
      await releaseForPromotion(deps, key(pair[at] as Upload), {});
      await drive();
    }
    return { place, deps, pair };
  }

  test.each(['failed', 'pending'])('is refused with 409 when it is %s', async (status) => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const upload = await uploads.take(place, 'no report');
    if (status === 'failed') await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect((await uploads.upload(upload)).status).toBe(status);
    await expect(undo(deps, key(upload))).rejects.toMatchObject({
      code: 'upload_state_conflict',
      definition: { status: 409 },
    });
  });

  test('works once when it is requested twice at the same moment', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const upload = await uploads.take(place, adReport(range(3).map((n) => adLine(n))));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const both = await Promise.allSettled([undo(deps, key(upload)), undo(deps, key(upload))]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { definition: { status: 409 } },
    });
  });

  test('leaves a campaign that gets a new fact at the same moment', async () => {
    const place = await uploads.place();
    const { kernel, deps } = await uploads.start();
    const upload = await uploads.take(place, adReport([adLine(1)]));
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const written = gate();
    const commit = gate();
    const other = database.db.transaction(
      { role: 'sluice_promote', tenantId: place.tenantId },
      async (tx) => {
        await tx.run(sql`
        insert into daily_metrics (tenant_id, workspace_id, platform, metric_date, campaign_id, as_of,
          created_by_upload, last_upload)
        select tenant_id, workspace_id, platform, '2026-06-01', campaign_id, clock_timestamp(), gen_random_uuid(),
               gen_random_uuid()
          from campaigns where tenant_id = ${place.tenantId}`);
        written.open();
        await commit.opened;
      },
    );
    await written.opened;
    const undoing = undo(deps, key(upload));
    await eventually(async () => {
      const waiting = await database.owner(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return waiting.length > 0;
    }, 'undo waits for the other transaction');
    commit.open();
    await other;
    expect(await undoing).toMatchObject({
      deleted: { campaigns: 0, ad_sets: 1, ads: 1, daily_metrics: 1, ...noMore },
      not_undone: { campaigns: 1 },
    });
    expect(await countsIn(place)).toEqual({ campaigns: 1, ad_sets: 0, ads: 0, daily_metrics: 1, ...noMore });
  });
});
