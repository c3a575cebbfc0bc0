import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { type Place, type Run, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import { preview } from '../review/review.ts';
import { releaseForPromotion } from '../service.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const wide = (figures: string) =>
  `Campaign name,Day,Campaign ID,Impressions,Clicks (all),Amount spent (USD),Purchases\n` +
  `Summer,2026-03-01,120210000000000001,${figures}\n`;
const narrow = (header: string, value: string) =>
  `Campaign name,Day,Campaign ID,${header}\nSummer,2026-03-01,120210000000000001,${value}\n`;

/** Sends a report, reads the preview, and promotes it. */
async function send({ kernel, deps }: Run, place: Place, content: string) {
  const upload = await uploads.take(place, content, { review: true });
  const drive = () => kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  await drive();
  const { daily_metrics: counts } = await preview(deps, upload);
  await releaseForPromotion(deps, upload, {});
  await drive();
  expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 1 });
  return counts;
}

const storedIn = async ({ tenantId }: Place) => {
  const [row] = await database.owner(
    `select impressions::integer, clicks::integer, reach::integer, spend::float, conversions::float,
            conversion_value::float as value, currency
       from daily_metrics where tenant_id = $1`,
    [tenantId],
  );
  return row;
};

const created = { created: 1, updated: 0, unchanged: 0 };
const updated = { created: 0, updated: 1, unchanged: 0 };
const unchanged = { created: 0, updated: 0, unchanged: 1 };
const first = { impressions: 100, clicks: 10, reach: null, spend: 5.5, conversions: 2, currency: 'USD' };

test('a report with fewer columns leaves the figures of the missing columns unchanged', async () => {
  const place = await uploads.place();
  const run = await uploads.start();
  expect(await send(run, place, wide('100,10,5.5,2'))).toEqual(created);
  expect(await storedIn(place)).toEqual({ ...first, value: null });
  const report = narrow('Purchases conversion value', '40.25');
  expect(await send(run, place, report)).toEqual(updated);
  expect(await storedIn(place)).toEqual({ ...first, value: 40.25 });
  expect(await send(run, place, report)).toEqual(unchanged);
});

test('an empty cell in an existing column clears the figure', async () => {
  const place = await uploads.place();
  const run = await uploads.start();
  await send(run, place, wide('100,10,5.5,2'));
  expect(await send(run, place, narrow('Impressions', ''))).toEqual(updated);
  expect(await storedIn(place)).toEqual({ ...first, impressions: null, value: null });
  expect(await send(run, place, narrow('Impressions', ''))).toEqual(unchanged);
});

test('a currency in the header of an amount is stored, and without one the stored currency stays', async () => {
  const place = await uploads.place();
  const run = await uploads.start();
  await send(run, place, wide('100,10,5.5,2'));
  expect(await send(run, place, narrow('Amount spent', '6'))).toEqual(updated);
  expect(await storedIn(place)).toEqual({ ...first, spend: 6, value: null });
  expect(await send(run, place, narrow('Amount spent (EUR)', '6'))).toEqual(updated);
  expect(await storedIn(place)).toEqual({ ...first, spend: 6, value: null, currency: 'EUR' });
});
