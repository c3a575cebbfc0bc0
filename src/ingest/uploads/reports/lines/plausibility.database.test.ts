import { expect, test } from 'vitest';
import { useDatabase } from '../../../../../test/support/worlds/database.ts';
import { useUploadRuns } from '../../../../../test/support/worlds/upload-runs.ts';
import { plausibilityChecks } from './plausibility.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const content = [
  'Day,Campaign,Campaign ID,Impr.,Clicks,Cost,Currency code',
  '2026-03-01,A,1,10,1,5,USD',
  '2026-03-02,A,1,10,11,5,USD',
  '2026-03-04,A,1,10,1,-5,USD',
  '2199-01-01,B,2,10,1,5,USD',
  '2026-03-05,A,1,10,1',
  '',
].join('\n');

async function warningsWith(checks: string): Promise<string[]> {
  const place = await uploads.place();
  const { kernel } = await uploads.start({ plausibilityChecks: checks });
  const upload = await uploads.take(place, content, { platform: 'google' });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  const record = await uploads.upload(upload);
  expect(record).toMatchObject({ status: 'completed', promoted_rows: 5 });
  return (record.warnings as { code: string; message: string }[]).map(
    ({ code, message }) => `${code}: ${message}`,
  );
}

test('each oddity of a report causes a warning that names a line, and every line is stored', async () => {
  expect(await warningsWith(plausibilityChecks.join(','))).toEqual([
    'clicks_above_impressions: There are more clicks than impressions, for example 11 of 10 on line 3.',
    'negative_spend: The spend is negative, for example -5 on line 4. It is stored as the file states it.',
    'future_date: The day is in the future, for example 2199-01-01 on line 5.',
    'row_cut_short: The row is cut short: line 6 has 5 of 7 cells. The others count as empty.',
    expect.stringMatching(
      /^days_missing: The file has no figures for 2026-03-03, 2026-03-06, .* and \d+ more,/,
    ),
  ]);
});

test('a check that is switched off causes none', async () => {
  expect(await warningsWith('negative_spend')).toEqual([expect.stringMatching(/^negative_spend/)]);
  expect(await warningsWith('none')).toEqual([]);
});
