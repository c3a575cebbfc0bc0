import { type FactOptions, type ReportFact, reportFacts } from './facts.ts';
import {
  type Assembly,
  assemble,
  type Figure,
  type GeneratedReport,
  type ReportSize,
} from './generated-report.ts';
import { fixed } from './written-numbers.ts';

const words = ['Sale', 'Größe "XL"', 'セール'];
const money = (cents: number) => fixed(BigInt(cents), 2);

interface JsonShape extends Pick<Assembly, 'platform' | 'filename'> {
  has: readonly Figure[];
  record: (fact: ReportFact) => string;
  /** Around all records, and between two of them. */
  before: string;
  between: string;
  after: string;
}

function jsonReport(shape: JsonShape, { seed, rows }: ReportSize): GeneratedReport {
  const facts: FactOptions = { seed, rows, words };
  const pieces: Buffer[] = [Buffer.from(shape.before)];
  let records: string[] = [];
  const flush = () => {
    const lead = pieces.length > 1 && records.length > 0 ? shape.between : '';
    pieces.push(Buffer.from(lead + records.join(shape.between)));
    records = [];
  };
  for (const fact of reportFacts(facts)) {
    records.push(shape.record(fact));
    if (records.length === 5_000) flush();
  }
  if (records.length > 0) flush();
  pieces.push(Buffer.from(shape.after));
  return assemble({
    platform: shape.platform,
    filename: shape.filename,
    bytes: Buffer.concat(pieces),
    facts,
    has: shape.has,
    levels: 3,
    hasIds: true,
    currency: 'USD',
    currencyDigits: 2,
    totalsFirst: 0,
    totalsLast: 0,
  });
}

/** Strings everywhere; one purchase under three action types, which must not be added up. */
function metaRecord(fact: ReportFact): string {
  const purchases = money(fact.conversions);
  const types = ['link_click', 'offsite_conversion.fb_pixel_purchase', 'purchase', 'omni_purchase'];
  const valuesOf = (value: string) =>
    types
      .slice(1)
      .map((action_type) => ({ action_type, value: action_type === 'omni_purchase' ? value : '1' }));
  return JSON.stringify({
    account_currency: 'USD',
    campaign_id: fact.campaign.id,
    campaign_name: fact.campaign.name,
    adset_id: fact.adSet.id,
    adset_name: fact.adSet.name,
    ad_id: fact.ad.id,
    ad_name: fact.ad.name,
    date_start: fact.day,
    date_stop: fact.day,
    spend: money(fact.spend),
    impressions: String(fact.impressions),
    clicks: String(fact.clicks),
    reach: String(fact.reach),
    ctr: '4.86',
    actions: [{ action_type: 'link_click', value: String(fact.clicks) }, ...valuesOf(purchases)],
    action_values: valuesOf(money(fact.value)),
  });
}

const everything: readonly Figure[] = [
  'impressions',
  'clicks',
  'linkClicks',
  'reach',
  'spend',
  'conversions',
  'conversionValue',
];

export function metaInsights(size: ReportSize): GeneratedReport {
  return jsonReport(
    {
      platform: 'meta',
      filename: 'insights.json',
      has: everything,
      record: metaRecord,
      before: '{"data":[',
      between: ',',
      after: '],"paging":{"cursors":{"before":"MAZD","after":"MQZD"}}}',
    },
    size,
  );
}

export function metaArray(size: ReportSize): GeneratedReport {
  return jsonReport(
    {
      platform: 'meta',
      filename: 'rows.json',
      has: everything,
      record: metaRecord,
      before: '[\n',
      between: ',\n',
      after: '\n]\n',
    },
    size,
  );
}

export function metaNdjson(size: ReportSize): GeneratedReport {
  return jsonReport(
    {
      platform: 'meta',
      filename: 'rows.ndjson',
      has: everything,
      record: metaRecord,
      before: '',
      between: '\n',
      after: '\n',
    },
    size,
  );
}

/** Money in millionths, ids and counts as strings, conversions as numbers; two responses in a row. */
export function googleSearchStream(size: ReportSize): GeneratedReport {
  return jsonReport(
    {
      platform: 'google',
      filename: 'search-stream.json',
      has: ['impressions', 'clicks', 'spend', 'conversions', 'conversionValue'],
      record: googleRecord,
      before: '[{"results":[',
      between: ',',
      after: `${googleEnd},{"results":[],${googleEnd.slice(2)}]`,
    },
    size,
  );
}

const googleEnd = '],"fieldMask":"campaign.id,metrics.costMicros","requestId":"abc"}';

function googleRecord(fact: ReportFact): string {
  // Written by hand: `4.0` must stand in the file as it does in Google's answers.
  const text = JSON.stringify({
    customer: { currencyCode: 'USD' },
    campaign: { id: fact.campaign.id, name: fact.campaign.name, status: 'ENABLED' },
    adGroup: { id: fact.adSet.id, name: fact.adSet.name },
    adGroupAd: { ad: { id: fact.ad.id, name: fact.ad.name } },
    segments: { date: fact.day },
    metrics: {
      costMicros: `${BigInt(fact.spend) * 10_000n}`,
      impressions: String(fact.impressions),
      clicks: fact.clicks,
      ctr: 0.05,
    },
  });
  const numbers = `"conversions":${money(fact.conversions)},"conversionsValue":${money(fact.value)}`;
  return `${text.slice(0, -2)},${numbers}}}`;
}

export function tiktokReport(size: ReportSize): GeneratedReport {
  return jsonReport(
    {
      platform: 'tiktok',
      filename: 'report.json',
      // The API's `clicks` are those to the destination, as in the exports.
      has: ['impressions', 'linkClicks', 'reach', 'spend', 'conversions'],
      record: tiktokRecord,
      before: '{"code":0,"message":"OK","data":{"list":[',
      between: ',',
      after: '],"page_info":{"page":1,"total_page":1}}}',
    },
    size,
  );
}

const tiktokRecord = (fact: ReportFact): string =>
  JSON.stringify({
    dimensions: { ad_id: fact.ad.id, stat_time_day: `${fact.day} 00:00:00` },
    metrics: {
      campaign_id: fact.campaign.id,
      campaign_name: fact.campaign.name,
      adgroup_id: fact.adSet.id,
      adgroup_name: fact.adSet.name,
      ad_name: fact.ad.name,
      currency: 'USD',
      spend: money(fact.spend),
      impressions: String(fact.impressions),
      clicks: fact.clicks,
      reach: String(fact.reach),
      conversion: money(fact.conversions),
      ctr: '1.18',
    },
  });
