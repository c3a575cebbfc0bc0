// A daily report of ads as Meta exports it, with ids: all days of an ad one after the other.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

const daysPerAd = 90;
const adsPerSet = 5;
const setsPerCampaign = 4;
const firstDayMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;
const linesAtOnce = 5_000;

/** Header of the report, and the name of its column in a flat table. */
export const reportColumns = [
  ['Reporting starts', 'reporting_starts'],
  ['Reporting ends', 'reporting_ends'],
  ['Campaign name', 'campaign_name'],
  ['Ad set name', 'ad_set_name'],
  ['Ad name', 'ad_name'],
  ['Day', 'day'],
  ['Campaign delivery', 'campaign_status'],
  ['Campaign ID', 'campaign_id'],
  ['Ad set ID', 'ad_set_id'],
  ['Ad ID', 'ad_id'],
  ['Reach', 'reach'],
  ['Impressions', 'impressions'],
  ['Amount spent (USD)', 'spend'],
  ['Link clicks', 'link_clicks'],
  ['Purchases', 'conversions'],
  ['Purchases conversion value', 'conversion_value'],
];

export const flatColumns = reportColumns.map(([, column]) => column);

/** The figures depend on the line number alone, so every run has the same file. */
export async function writeAdReport(path, lines) {
  const file = createWriteStream(path);
  file.write(`${reportColumns.map(([header]) => header).join(',')}\n`);
  for (let from = 0; from < lines; from += linesAtOnce) {
    const until = Math.min(from + linesAtOnce, lines);
    const text = Array.from({ length: until - from }, (_, at) => lineOf(from + at)).join('\n');
    if (!file.write(`${text}\n`)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
}

/** How many of each a report of so many lines has. */
export function countsOf(lines) {
  const ads = Math.ceil(lines / daysPerAd);
  const adSets = Math.ceil(ads / adsPerSet);
  return { campaigns: Math.ceil(adSets / setsPerCampaign), adSets, ads, dailyMetrics: lines };
}

function lineOf(n) {
  const ad = Math.floor(n / daysPerAd);
  const adSet = Math.floor(ad / adsPerSet);
  const campaign = Math.floor(adSet / setsPerCampaign);
  const day = new Date(firstDayMs + (n % daysPerAd) * dayMs).toISOString().slice(0, 10);
  const impressions = 500 + ((n * 7919) % 20_000);
  const clicks = impressions % 97;
  const reach = Math.floor(impressions * 0.8);
  return [
    day,
    day,
    `Spring ${campaign}`,
    // A comma inside quotes: splitting at commas would be wrong.
    `"Women, ${adSet}"`,
    `Video ${ad}`,
    day,
    'active',
    idOf(1, campaign),
    idOf(2, adSet),
    idOf(3, ad),
    reach,
    impressions,
    (impressions / 73).toFixed(2),
    clicks,
    clicks % 7,
    ((clicks % 7) * 24.95).toFixed(2),
  ].join(',');
}

/** 18 digits, as Meta's ids have. */
function idOf(kind, number) {
  return `1202${kind}${String(number).padStart(13, '0')}`;
}
