import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { type Place, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import { undo } from '../undo/undo.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

async function send(place: Place, header: string, lines: string[]) {
  const { kernel, deps } = await uploads.start();
  const upload = await uploads.take(place, `${header}\n${lines.join('\n')}\n`, { platform: 'google' });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  await kernel.stop(1_000);
  return { upload, deps, record: await uploads.upload(upload) };
}

const byDevice = (place: Place, lines: string[]) =>
  send(place, 'Day,Campaign,Campaign ID,Device,Impr.,Clicks,Cost,Currency code', lines);
const byNetwork = (place: Place, lines: string[]) =>
  send(place, 'Day,Campaign,Campaign ID,Network,Impr.,Clicks,Cost,Currency code', lines);
const plain = (place: Place, lines: string[]) =>
  send(place, 'Day,Campaign,Campaign ID,Impr.,Clicks,Cost,Currency code', lines);

const twoDays = [
  '2026-03-01,Summer,1001,Computers,100,7,10.10,USD',
  '2026-03-01,Summer,1001,Tablets,10,1,1,USD',
  '2026-03-02,Summer,1001,Computers,20,2,2,USD',
  '2026-03-02,Summer,1001,Tablets,30,3,3,USD',
];

/** Each day with its sum and the sums of its breakdowns: the judge adds them up by itself. */
const daysIn = ({ tenantId }: Place) =>
  database.owner(
    `select m.metric_date::text as day, m.spend::float8 as spend,
            (select json_object_agg(g.names, g.spend)
               from (select array_to_string(b.dimension_names, '+') as names, sum(b.spend)::float8 as spend
                       from metric_breakdowns b
                      where b.tenant_id = m.tenant_id and b.campaign_id = m.campaign_id
                        and b.date_from = m.metric_date
                      group by 1) g) as parts
       from daily_metrics m where m.tenant_id = $1 order by m.metric_date`,
    [tenantId],
  );

const codes = (record: Record<string, unknown>) =>
  (record.warnings as { code: string }[]).map(({ code }) => code);

describe('breakdowns that no longer add up to their day', () => {
  test('go when a later plain report states other figures, and the upload says how many', async () => {
    const place = await uploads.place();
    await byDevice(place, twoDays);
    const { record } = await plain(place, ['2026-03-01,Summer,1001,120,9,12.50,USD']);
    expect(await daysIn(place)).toEqual([
      { day: '2026-03-01', spend: 12.5, parts: null },
      { day: '2026-03-02', spend: 5, parts: { Device: 5 } },
    ]);
    expect(codes(record)).toContain('breakdowns_replaced');
    const { message } = (record.warnings as { code: string; message: string; count: number }[]).find(
      ({ code }) => code === 'breakdowns_replaced',
    ) ?? { message: '' };
    expect(message).toContain('2 lines');
  });

  test('stay when a later plain report states the same figures', async () => {
    const place = await uploads.place();
    await byDevice(place, twoDays);
    const { record } = await plain(place, ['2026-03-01,Summer,1001,110,8,11.10,USD']);
    expect(await daysIn(place)).toMatchObject([{ spend: 11.1, parts: { Device: 11.1 } }, { spend: 5 }]);
    expect(codes(record)).not.toContain('breakdowns_replaced');
  });

  test('stay when a later plain report leaves out the figures that differ', async () => {
    const place = await uploads.place();
    await byDevice(place, twoDays);
    await send(place, 'Day,Campaign,Campaign ID,Impr.', ['2026-03-01,Summer,1001,110']);
    expect(await daysIn(place)).toMatchObject([{ spend: 11.1, parts: { Device: 11.1 } }, { spend: 5 }]);
  });

  test('go when a report with another breakdown states other figures, whose own lines stay', async () => {
    const place = await uploads.place();
    await byDevice(place, twoDays);
    await byNetwork(place, [
      '2026-03-01,Summer,1001,Search,100,7,20,USD',
      '2026-03-01,Summer,1001,Display,10,1,2,USD',
      '2026-03-02,Summer,1001,Search,50,5,5,USD',
    ]);
    expect(await daysIn(place)).toEqual([
      { day: '2026-03-01', spend: 22, parts: { Network: 22 } },
      { day: '2026-03-02', spend: 5, parts: { Device: 5, Network: 5 } },
    ]);
  });

  test('are not added by an older report that is promoted late', async () => {
    const place = await uploads.place();
    const { kernel } = await uploads.start();
    const older = await uploads.take(
      place,
      'Day,Campaign,Campaign ID,Device,Impr.,Cost,Currency code\n' +
        '2026-03-01,Summer,1001,Computers,1,1,USD\n2026-03-01,Summer,1001,TV,1,1,USD\n',
      { platform: 'google', review: true },
    );
    await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await kernel.stop(1_000);
    await plain(place, ['2026-03-01,Summer,1001,120,9,12.50,USD']);
    const again = await uploads.start();
    const { releaseForPromotion } = await import('../service.ts');
    await releaseForPromotion(again.deps, older, {});
    await again.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    await again.kernel.stop(1_000);
    expect(await daysIn(place)).toEqual([{ day: '2026-03-01', spend: 12.5, parts: null }]);
  });

  test('stay gone when the plain report is undone, which says that it cannot bring the day back', async () => {
    const place = await uploads.place();
    await byDevice(place, twoDays);
    const { upload, deps } = await plain(place, ['2026-03-01,Summer,1001,120,9,12.50,USD']);
    expect(await undo(deps, upload)).toMatchObject({
      deleted: { daily_metrics: 0, metric_breakdowns: 0 },
      not_undone: { daily_metrics: 1 },
    });
    expect(await daysIn(place)).toMatchObject([{ spend: 12.5, parts: null }, { parts: { Device: 5 } }]);
  });
});
