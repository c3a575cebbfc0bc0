import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { type Place, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const header = 'Day,Campaign,Campaign ID,Impr.,Cost,Currency code';
const dayOf = (at: number) => new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10);

async function send(place: Place, lines: string[]) {
  const { kernel } = await uploads.start({ plausibilityChecks: 'spend_outlier' });
  const upload = await uploads.take(place, `${header}\n${lines.join('\n')}\n`, { platform: 'google' });
  await kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
  await kernel.stop(1_000);
  const record = await uploads.upload(upload);
  return { ...record, codes: (record.warnings as { code: string }[]).map(({ code }) => code) };
}

test('an upload warns of a day that spends far more than the account did, and stores it', async () => {
  const place = await uploads.place();
  const history = Array.from({ length: 30 }, (_, at) => `${dayOf(at)},A,1,100,${100 + (at % 7)},USD`);
  expect((await send(place, history)).codes).toEqual([]);
  expect((await send(place, [`${dayOf(30)},A,1,100,110,USD`])).codes).toEqual([]);
  const odd = await send(place, [`${dayOf(31)},A,1,100,10400,USD`]);
  expect(odd).toMatchObject({ status: 'completed', codes: ['spend_outlier'] });
  // Of another account nothing is known.
  const other = await uploads.place();
  expect((await send(other, [`${dayOf(31)},A,1,100,10400,USD`])).codes).toEqual([]);
});
