import { pullFailures } from '../errors.ts';
import type { TiktokPlace } from '../form.ts';
import type { DayRange } from '../types.ts';
import { type Caller, callJson } from './caller.ts';
import { piecesOf } from './days.ts';
import { type Answered, type ProblemClass, PullProblem, quoted, retryAfterOf } from './problems.ts';
import { asObject, asRows, type Row } from './rows.ts';

const who = 'TikTok';
/** A daily report covers at most 30 days, and a page has at most 1,000 rows. */
const daysPerRequest = 30;
const pageSize = 1_000;
const maxPages = 10_000;

const levels = {
  campaign: { dataLevel: 'AUCTION_CAMPAIGN', id: 'campaign_id', names: ['campaign_name'] },
  ad_set: {
    dataLevel: 'AUCTION_ADGROUP',
    id: 'adgroup_id',
    names: ['campaign_id', 'campaign_name', 'adgroup_name'],
  },
  ad: {
    dataLevel: 'AUCTION_AD',
    id: 'ad_id',
    names: ['campaign_id', 'campaign_name', 'adgroup_id', 'adgroup_name', 'ad_name'],
  },
} as const;
const figures = ['spend', 'currency', 'impressions', 'clicks', 'reach', 'conversion', 'total_purchase_value'];

export async function* readTiktok(
  caller: Caller,
  place: TiktokPlace,
  range: DayRange,
): AsyncGenerator<Row[]> {
  for (const piece of piecesOf(range, daysPerRequest)) yield* pagesOf(caller, place, piece);
}

async function* pagesOf(caller: Caller, place: TiktokPlace, range: DayRange): AsyncGenerator<Row[]> {
  for (let page = 1; page <= maxPages; page += 1) {
    const { list, page_info: info } = asObject(await ask(caller, place, { range, page }));
    if (!Array.isArray(list)) {
      throw pullFailures.raise.pull_answer_unreadable(`${who} sent a page without a list`);
    }
    yield asRows(list);
    if (page >= Number(asObject(info).total_page ?? 0)) return;
  }
  throw pullFailures.raise.pull_answer_unreadable(`${who} sent pages without an end`);
}

async function ask(
  caller: Caller,
  place: TiktokPlace,
  { range, page }: { range: DayRange; page: number },
): Promise<unknown> {
  const { dataLevel, id, names } = levels[place.level];
  const params = new URLSearchParams({
    advertiser_id: place.advertiser_id,
    report_type: 'BASIC',
    data_level: dataLevel,
    dimensions: JSON.stringify([id, 'stat_time_day']),
    metrics: JSON.stringify([...names, ...figures]),
    start_date: range.from,
    end_date: range.to,
    page: String(page),
    page_size: String(pageSize),
  });
  const base = `${place.endpoint.replace(/\/+$/, '')}/open_api/${place.api_version}`;
  const token = (await caller.purse.take(place.access_token_secret)).trim();
  const { answer, answered } = await callJson(caller, {
    who,
    url: `${base}/report/integrated/get/?${params}`,
    headers: { 'access-token': token },
  });
  // TikTok answers 200 and says in `code` how it went.
  const { code, message, data, request_id: requestId } = asObject(answer);
  if (code === 0) return data;
  const words = `${who} answered: ${quoted(message)} (code ${quoted(code)}, request ${quoted(requestId)})`;
  throw new PullProblem(classOf(Number(code), answered), words, retryAfterOf(answered));
}

function classOf(code: number, { status }: Answered): ProblemClass {
  // 40100 and 40133: too many requests of the app or for the advertiser; 40016: too many at once.
  if ([40_016, 40_100, 40_133].includes(code) || status === 429) return 'rate_limit';
  // 40001: no permission; 40101 to 40119: tokens that are missing, expired or revoked.
  if (code === 40_001 || (code > 40_100 && code < 40_120)) return 'auth';
  return code >= 50_000 || status >= 500 ? 'server' : 'permanent';
}
