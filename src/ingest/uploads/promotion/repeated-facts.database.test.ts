import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import {
  type IntakeOptions,
  type Place,
  useUploadRuns,
} from '../../../../test/support/worlds/upload-runs.ts';
import { releaseForPromotion } from '../service.ts';
import type { Reconciliation } from '../types.ts';
import { undo } from '../undo/undo.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const header = 'Day,Campaign,Campaign ID,Device,Impr.,Clicks,Cost,Currency code';
const byDevice = [
  '2026-03-01,Summer,1001,Computers,100,7,10.10,USD',
  '2026-03-01,Summer,1001,Mobile phones,50,5,5.05,USD',
  '2026-03-01,Summer,1001,Tablets,10,1,1,USD',
  '2026-03-02,Summer,1001,Tablets,10,1,1,USD',
];
const table = (columns: string, lines: string[]) => `${columns}\n${lines.join('\n')}\n`;
const report = (lines: string[]) => table(header, lines);

async function send(place: Place, content: string, options: IntakeOptions = {}) {
  const { kernel, deps } = await uploads.start();
  const upload = await uploads.take(place, content, { platform: 'google', ...options });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  await kernel.stop(1_000);
  return { upload, deps, record: await uploads.upload(upload) };
}

const factsIn = ({ tenantId }: Place) =>
  database.owner(
    `select metric_date::text as day, impressions::integer, clicks::integer, reach::integer, spend::float
       from daily_metrics where tenant_id = $1 order by metric_date, impressions`,
    [tenantId],
  );

const breakdownsIn = ({ tenantId }: Place) =>
  database.owner<{ dimensions: Record<string, string> }>(
    `select date_from::text as day, dimensions, impressions::integer, line_no
       from metric_breakdowns where tenant_id = $1 order by line_no`,
    [tenantId],
  );

const refusedIn = ({ tenantId }: Place) =>
  database.owner<{ line_no: number; code: string; message: string }>(
    `select line_no, promotion_error ->> 'code' as code, promotion_error ->> 'message' as message
       from staging_rows where tenant_id = $1 and promotion_error is not null order by line_no`,
    [tenantId],
  );

const codes = (warnings: unknown) => (warnings as { code: string }[]).map(({ code }) => code);
const spendOf = ({ reconciliation }: Record<string, unknown>) =>
  (reconciliation as Reconciliation).figures.spend;

describe('lines that differ in a breakdown', () => {
  test('are added up to the day, and each is kept', async () => {
    const place = await uploads.place();
    const { record } = await send(place, report(byDevice));
    expect(record).toMatchObject({
      status: 'completed',
      promoted_rows: 4,
      daily_metrics_upserted: 2,
      breakdowns_stored: 4,
    });
    expect(codes(record.warnings)).toEqual(['lines_added_up']);
    expect(await factsIn(place)).toEqual([
      { day: '2026-03-01', impressions: 160, clicks: 13, reach: null, spend: 16.15 },
      { day: '2026-03-02', impressions: 10, clicks: 1, reach: null, spend: 1 },
    ]);
    expect(await breakdownsIn(place)).toMatchObject([
      { day: '2026-03-01', dimensions: { Device: 'Computers' }, impressions: 100, line_no: 2 },
      { dimensions: { Device: 'Mobile phones' } },
      { dimensions: { Device: 'Tablets' } },
      { day: '2026-03-02', dimensions: { Device: 'Tablets' } },
    ]);
    expect(spendOf(record)).toMatchObject({ lines: '17.15', promoted: '17.15', refused: null, agrees: true });
  });

  test('leave reach empty, with the reason, and keep it in each line', async () => {
    const place = await uploads.place();
    const columns = 'Day,Campaign name,Campaign ID,Age,Reach,Impressions,Amount spent (EUR)';
    const lines = [
      '2026-03-01,A,1,18-24,80,100,1.5',
      '2026-03-01,A,1,25-34,70,90,2',
      '2026-03-02,A,1,18-24,5,5,1',
    ];
    const { record } = await send(place, table(columns, lines), { platform: 'meta' });
    expect(codes(record.warnings)).toEqual(['lines_added_up', 'reach_not_added']);
    expect(await factsIn(place)).toMatchObject([
      { reach: null, impressions: 190, spend: 3.5 },
      { reach: 5, impressions: 5 },
    ]);
  });

  test('breakdowns of a later file replace those of an earlier one as a whole', async () => {
    const place = await uploads.place();
    await send(place, report(byDevice));
    await send(place, report([byDevice[0] as string, '2026-03-01,Summer,1001,TV,1,1,2,USD']));
    expect(await factsIn(place)).toMatchObject([{ impressions: 101, spend: 12.1 }, { impressions: 10 }]);
    expect((await breakdownsIn(place)).map((row) => row.dimensions)).toEqual([
      { Device: 'Computers' },
      { Device: 'TV' },
      { Device: 'Tablets' },
    ]);
  });

  test('are undone with their upload', async () => {
    const place = await uploads.place();
    const { upload, deps } = await send(place, report(byDevice));
    expect(await undo(deps, upload)).toMatchObject({
      deleted: { campaigns: 1, daily_metrics: 2, metric_breakdowns: 4 },
    });
    expect([await factsIn(place), await breakdownsIn(place)]).toEqual([[], []]);
  });

  test('in different currencies are refused and never added', async () => {
    const place = await uploads.place();
    const lines = [
      ...byDevice.slice(0, 2),
      (byDevice[2] as string).replace('USD', 'EUR'),
      byDevice[3] as string,
    ];
    const { record } = await send(place, report(lines));
    expect(record).toMatchObject({ status: 'partial', failed_rows: 3 });
    expect(codes(await refusedIn(place))).toEqual(Array(3).fill('currencies_differ'));
  });
});

describe('lines that nothing but figures tells apart', () => {
  const columns = 'Day,Campaign,Campaign ID,Impr.,Cost,Currency code';

  test('count once when they are identical and have ids, and what they would have added is shown', async () => {
    const place = await uploads.place();
    const { record } = await send(
      place,
      table(columns, ['2026-03-01,A,1,10,5,USD', '2026-03-01,A,1,10,5.00,USD']),
    );
    expect(record).toMatchObject({ status: 'completed', promoted_rows: 2, daily_metrics_upserted: 1 });
    expect(codes(record.warnings)).toEqual(['identical_lines']);
    expect(await factsIn(place)).toMatchObject([{ impressions: 10, spend: 5 }]);
    expect(spendOf(record)).toMatchObject({ lines: '5', duplicates: '5', promoted: '5', agrees: true });
  });

  test('are refused when they have ids and contradict each other, each with the lines of all', async () => {
    const place = await uploads.place();
    const lines = ['2026-03-01,A,1,10,5,USD', '2026-03-01,A,2,1,1,USD', '2026-03-01,A,1,10,6,USD'];
    const { record } = await send(place, table(columns, lines));
    expect(record).toMatchObject({ status: 'partial', promoted_rows: 1, failed_rows: 2 });
    const refused = await refusedIn(place);
    expect(refused.map(({ line_no }) => line_no)).toEqual([2, 4]);
    for (const { message } of refused) expect(message).toContain('Lines 2, 4 are about the same day');
    expect(await factsIn(place)).toMatchObject([{ impressions: 1 }]);
    expect(spendOf(record)).toMatchObject({ lines: '12', promoted: '1', refused: '11', agrees: true });
  });

  test('are added up with a warning when only names identify them', async () => {
    const place = await uploads.place();
    const lines = ['2026-03-01,A,10,5,USD', '2026-03-01,A,10,5,USD', '2026-03-01,A,1,1,USD'];
    const { record } = await send(place, table('Day,Campaign,Impr.,Cost,Currency code', lines));
    expect(record).toMatchObject({ status: 'completed', promoted_rows: 3, daily_metrics_upserted: 1 });
    expect(codes(record.warnings)).toEqual(['name_key', 'lines_added_up', 'same_names_added']);
    expect(await factsIn(place)).toMatchObject([{ impressions: 21, spend: 11 }]);
  });
});

describe('a column that looks like a key and is not read', () => {
  const columns = 'Day,Campaign,Ad,Impr.,Cost,Currency code';
  const lines = ['2026-03-01,A,x,1,1,USD', '2026-03-01,A,y,2,2,USD', '2026-03-02,A,x,4,4,USD'];

  test('holds the file for review, and says how many lines would be added together', async () => {
    const place = await uploads.place();
    const { record, upload, deps } = await send(place, table(columns, lines));
    expect(record).toMatchObject({
      status: 'staging_complete',
      review: true,
      blockers: [{ code: 'key_column_unread', column: 'Ad', lines: 2 }],
    });
    expect((record.blockers as { message: string }[])[0]?.message).toContain(
      '2 of 3 lines would be added together because column "Ad" is not read',
    );
    await expect(releaseForPromotion(deps, upload, {})).rejects.toMatchObject({ code: 'upload_blocked' });
    const { kernel } = await uploads.start();
    await releaseForPromotion(deps, upload, { mapping: { Ad: 'ad_name' } });
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    expect(await uploads.upload(upload)).toMatchObject({
      status: 'completed',
      daily_metrics_upserted: 3,
      blockers: [],
    });
  });

  test('is left out when a person says so', async () => {
    const place = await uploads.place();
    const { record } = await send(place, table(columns, lines), { mapping: { Ad: null } });
    expect(record).toMatchObject({ status: 'completed', daily_metrics_upserted: 2 });
    expect(await factsIn(place)).toMatchObject([{ impressions: 3 }, { impressions: 4 }]);
  });
});

test('a total row that contradicts the lines causes a warning, and one that agrees does not', async () => {
  const place = await uploads.place();
  const total = (spend: string) => `Total: Campaigns,,,,170,14,${spend},USD`;
  const agreed = await send(place, report([...byDevice, total('17.15')]));
  expect(spendOf(agreed.record)).toMatchObject({ total_row: '17.15', agrees: true });
  const { record } = await send(place, report([...byDevice, total('99')]));
  expect(codes(record.warnings)).toContain('total_row_differs');
  expect(spendOf(record)).toMatchObject({
    total_row: '99',
    agrees: false,
    difference: 'The total row on line 6 says 99, but the lines add up to 17.15.',
  });
});

test('a worker that loses its job before any of its transactions changes no sum', {
  timeout: 240_000,
}, async () => {
  const batches = { linesPerBatch: 1, promotionBatchRows: 2 };
  for (let at = 1; ; at += 1) {
    const place = await uploads.place();
    let isTaken = false;
    const first = await uploads.start({
      ...batches,
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
    const second = await uploads.start(batches);
    await uploads.bringForward(upload);
    await second.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await Promise.all([first.kernel.stop(1_000), second.kernel.stop(1_000)]);
    const record = await uploads.upload(upload);
    const why = `taken away before transaction ${at}`;
    expect(record, why).toMatchObject({ status: 'completed', reconciliation: { agrees: true } });
    expect(await factsIn(place), why).toMatchObject([{ spend: 16.15 }, { spend: 1 }]);
    expect(await breakdownsIn(place), why).toHaveLength(4);
    if (!isTaken) break;
  }
});
