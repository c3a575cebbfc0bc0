import type { AdAccount, AdDay } from './ad-account.ts';
import { type ReportingServer, type Said, startReporting } from './reporting-server.ts';

export const tiktokToken = 'tiktok-token-of-the-tests';

const levels: Record<string, { id: string; by: keyof AdDay }> = {
  AUCTION_CAMPAIGN: { id: 'campaign_id', by: 'campaignId' },
  AUCTION_ADGROUP: { id: 'adgroup_id', by: 'adSetId' },
  AUCTION_AD: { id: 'ad_id', by: 'adId' },
};

/** `report/integrated/get` of the Business API v1.3: always HTTP 200, `code` says how it went; pages by number. */
export function startFakeTiktok(account: AdAccount, { rowsPerPage = 3 } = {}): Promise<ReportingServer> {
  return startReporting(account, (asked) => {
    const { headers, method, path, query } = asked;
    if (method !== 'GET' || path !== '/open_api/v1.3/report/integrated/get/')
      return tiktokFailure(40_006, `Path not found: ${method} ${path}`);
    if (headers['access-token'] === undefined) return tiktokFailure(40_104, 'Access token is empty');
    if (headers['access-token'] !== tiktokToken)
      return tiktokFailure(40_105, 'Access token is incorrect or has been revoked.');
    const wrong = wrongParam(query);
    if (wrong !== null) return tiktokFailure(40_002, wrong);
    return report(account, query, rowsPerPage);
  });
}

function wrongParam(query: URLSearchParams): string | null {
  const level = levels[query.get('data_level') ?? ''];
  if (!/^\d+$/.test(query.get('advertiser_id') ?? '')) return 'advertiser_id: Not a valid integer.';
  if (query.get('report_type') !== 'BASIC') return 'report_type: must be BASIC here';
  if (level === undefined) return 'data_level: Invalid value';
  const dimensions = JSON.parse(query.get('dimensions') ?? '[]') as string[];
  if (dimensions.join() !== `${level.id},stat_time_day`)
    return 'dimensions: Invalid combination of dimensions';
  const days =
    (Date.parse(query.get('end_date') ?? '') - Date.parse(query.get('start_date') ?? '')) / 86_400_000;
  if (!(days >= 0)) return 'start_date: must not be after end_date';
  if (days >= 30) return 'Your request time range exceeds the limit of 30 days';
  if (Number(query.get('page_size')) > 1_000) return 'page_size: must be at most 1000';
  const known =
    /^(spend|currency|impressions|clicks|reach|conversion|total_purchase_value|(campaign|adgroup)_(id|name)|ad_name)$/;
  const unknown = (JSON.parse(query.get('metrics') ?? '[]') as string[]).find(
    (metric) => !known.test(metric),
  );
  return unknown === undefined ? null : `metrics: ${unknown} is not supported`;
}

function report(account: AdAccount, query: URLSearchParams, rowsPerPage: number): Said {
  const { id, by } = levels[query.get('data_level') ?? ''] ?? { id: '', by: 'adId' as const };
  const metrics = JSON.parse(query.get('metrics') ?? '[]') as string[];
  const rows = account.grouped(query.get('start_date') ?? '', query.get('end_date') ?? '', (row) =>
    String(row[by]),
  );
  const page = Number(query.get('page') ?? 1);
  const size = Math.min(rowsPerPage, Number(query.get('page_size') ?? 10));
  const list = rows.slice((page - 1) * size, page * size).map((row) => ({
    dimensions: { [id]: String(row[by]), stat_time_day: `${row.day} 00:00:00` },
    metrics: Object.fromEntries(metrics.map((name) => [name, metricOf(row, name, account)])),
  }));
  const total = { total_number: rows.length, total_page: Math.ceil(rows.length / size) };
  return {
    body: {
      code: 0,
      message: 'OK',
      request_id: '20261118',
      data: { page_info: { page, page_size: size, ...total }, list },
    },
  };
}

function metricOf(row: AdDay, name: string, account: AdAccount): string {
  const values: Record<string, string> = {
    spend: (row.cents / 100).toFixed(2),
    currency: account.currency,
    impressions: String(row.impressions),
    clicks: String(row.clicks),
    reach: String(Math.floor(row.impressions / 2)),
    conversion: String(row.conversions),
    total_purchase_value: (row.valueCents / 100).toFixed(2),
    campaign_id: row.campaignId,
    campaign_name: `Campaign ${row.campaignId.slice(-1)}`,
    adgroup_id: row.adSetId,
    adgroup_name: `Group ${row.adSetId.slice(-1)}`,
    ad_name: `Ad ${row.adId.slice(-1)}`,
  };
  return values[name] ?? '0';
}

export function tiktokFailure(code: number, message: string): Said {
  return { body: { code, message, request_id: '20261118', data: {} } };
}
