import { expect, test } from 'vitest';
import { beginningOf, guessPlatform } from './guess-platform.ts';

test.each([
  ['meta', 'Reporting starts,Reporting ends,Campaign name,Ad set name,Amount spent (USD)'],
  ['meta', 'レポート開始日,キャンペーン名,消化金額 (JPY)'],
  ['meta', '{"data":[{"campaign_id":"1","adset_id":"2","date_start":"2026-03-01"}]}'],
  [
    'google',
    'Campaign report\nAll time\nCampaign status,Campaign,Impr.,Clicks,CTR,Currency code,Avg. CPC,Cost',
  ],
  ['google', '[{"results":[{"adGroup":{"id":"1"},"metrics":{"costMicros":"2500000000"}}]}]'],
  ['tiktok', 'By Day,Campaign name,Ad group name,Website URL (Ad level）,Cost,CPC (destination)'],
  ['microsoft', '"Gregorian date","Campaign","Delivered match type","Spend"'],
  ['linkedin', 'Start Date (in UTC)\tCampaign Group Name\tTotal Spent'],
  ['pinterest', 'Date,Campaign name,Spend in account currency,Pin clicks'],
  ['tiktok', '{"code":0,"data":{"list":[{"dimensions":{"stat_time_day":"2021-10-25"}}]}}'],
])('a report from %s is recognised by its headers', (platform, beginning) => {
  expect(guessPlatform('report.csv', beginning)).toBe(platform);
});

test('the file name helps, and nothing is guessed without a clue', () => {
  expect(guessPlatform('tiktok_march.csv', 'Campaign,Day,Clicks')).toBe('tiktok');
  expect(guessPlatform('report.csv', 'Campaign,Day,Clicks')).toBeNull();
  expect(guessPlatform('report.csv', 'Ad set name,By Day')).toBeNull();
});

test('the beginning is read in the encodings of exports', async () => {
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Impr.\tCost', 'utf16le')]);
  expect(await beginningOf(new Blob([utf16]))).toBe('Impr.\tCost');
  expect(await beginningOf(new Blob(['日付,Cost']))).toBe('日付,Cost');
  const shiftJis = Buffer.from([0x93, 0xfa, 0x95, 0x74]);
  expect(await beginningOf(new Blob([shiftJis]))).toBe('日付');
});
