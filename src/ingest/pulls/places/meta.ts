import { createHmac } from 'node:crypto';
import { pullFailures } from '../errors.ts';
import type { MetaPlace } from '../form.ts';
import type { DayRange } from '../types.ts';
import { type Caller, callJson } from './caller.ts';
import { type Answered, type ProblemClass, PullProblem, quoted, retryAfterOf } from './problems.ts';
import { asObject, asRows, type Row } from './rows.ts';

const who = 'Meta';
const pageSize = 500;
const maxPages = 10_000;

const levels = { campaign: 'campaign', ad_set: 'adset', ad: 'ad' } as const;
const idsOf = {
  campaign: ['campaign_id', 'campaign_name'],
  ad_set: ['campaign_id', 'campaign_name', 'adset_id', 'adset_name'],
  ad: ['campaign_id', 'campaign_name', 'adset_id', 'adset_name', 'ad_id', 'ad_name'],
} as const;
const figures = [
  'account_currency',
  'impressions',
  'clicks',
  'inline_link_clicks',
  'reach',
  'spend',
  'actions',
  'action_values',
];

/** What a report asks for, per day and level. */
function reportParams({ level }: MetaPlace, { from, to }: DayRange): Record<string, string> {
  return {
    level: levels[level],
    fields: [...idsOf[level], ...figures].join(','),
    time_range: JSON.stringify({ since: from, until: to }),
    time_increment: '1',
  };
}

/** Lets Meta prepare the report, which takes seconds to an hour. Returns its id. */
export async function startMetaReport(caller: Caller, place: MetaPlace, range: DayRange): Promise<string> {
  const answer = await ask(caller, place, {
    path: `act_${place.account_id}/insights`,
    params: reportParams(place, range),
    method: 'POST',
  });
  const id = asObject(answer).report_run_id;
  if (typeof id === 'string' && /^\d{1,30}$/.test(id)) return id;
  throw pullFailures.raise.pull_answer_unreadable(
    `${who} started a report without its id: ${quoted(answer)}`,
  );
}

export type MetaReportState =
  | { type: 'ready' }
  | { type: 'running'; percent: number }
  | { type: 'failed'; why: string };

export async function lookAtMetaReport(
  caller: Caller,
  place: MetaPlace,
  reportRunId: string,
): Promise<MetaReportState> {
  const answer = asObject(await ask(caller, place, { path: reportRunId, params: {} }));
  const status = quoted(answer.async_status);
  if (status === 'Job Completed') return { type: 'ready' };
  if (status === 'Job Failed' || status === 'Job Skipped') {
    const why = answer.error_user_msg ?? answer.error_message ?? answer.error_code;
    return { type: 'failed', why: why === undefined ? status : `${status}: ${quoted(why)}` };
  }
  return { type: 'running', percent: Number(answer.async_percent_completion ?? 0) || 0 };
}

/** The rows of a prepared report, or of a direct question when there is none. */
export async function* readMeta(
  caller: Caller,
  place: MetaPlace,
  { range, reportRunId }: { range: DayRange; reportRunId: string | null },
): AsyncGenerator<Row[]> {
  const path = reportRunId === null ? `act_${place.account_id}/insights` : `${reportRunId}/insights`;
  const params = reportRunId === null ? reportParams(place, range) : {};
  let after: string | null = null;
  for (let page = 0; page < maxPages; page += 1) {
    const cursor: Record<string, string> = after === null ? {} : { after };
    const answer = asObject(
      await ask(caller, place, { path, params: { ...params, limit: String(pageSize), ...cursor } }),
    );
    if (!Array.isArray(answer.data)) {
      throw pullFailures.raise.pull_answer_unreadable(`${who} sent a page without data: ${quoted(answer)}`);
    }
    yield asRows(answer.data);
    // `paging.next` repeats the token in its query, so only its cursor is used.
    const { cursors, next } = asObject(answer.paging);
    const following = asObject(cursors).after;
    if (typeof next !== 'string' || typeof following !== 'string') return;
    if (following === after) break;
    after = following;
  }
  throw pullFailures.raise.pull_answer_unreadable(`${who} sent pages without an end`);
}

async function ask(
  caller: Caller,
  place: MetaPlace,
  { path, params, method = 'GET' }: { path: string; params: Record<string, string>; method?: 'GET' | 'POST' },
): Promise<unknown> {
  const token = (await caller.purse.take(place.access_token_secret)).trim();
  const proof: Record<string, string> =
    place.app_secret_secret === null
      ? {}
      : { appsecret_proof: proofOf(token, await caller.purse.take(place.app_secret_secret)) };
  const form = new URLSearchParams({ ...params, ...proof }).toString();
  const url = `${place.endpoint.replace(/\/+$/, '')}/${place.api_version}/${path}`;
  const headers = { authorization: `Bearer ${token}` };
  const { answer, answered } = await callJson(
    caller,
    method === 'POST'
      ? {
          who,
          url,
          method,
          headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
          body: form,
        }
      : { who, url: form === '' ? url : `${url}?${form}`, headers },
  );
  const { error } = asObject(answer);
  if (error !== undefined) throw problemOf(asObject(error), answered);
  if (answered.status >= 400) {
    throw new PullProblem('server', `${who} answered ${answered.status}: ${quoted(answer)}`);
  }
  return answer;
}

function proofOf(token: string, secret: string): string {
  return createHmac('sha256', secret.trim()).update(token).digest('hex');
}

/** 4: the app, 17: the user, 32: the page, 613 and 800xx: the account; each may come with any status. */
const rateLimitCodes = new Set([
  4, 17, 32, 341, 613, 80_000, 80_001, 80_002, 80_003, 80_004, 80_005, 80_006, 80_014,
]);

function problemOf(error: Row, answered: Answered): PullProblem {
  const code = Number(error.code);
  const details = [error.message, error.error_user_msg]
    .filter((text) => typeof text === 'string')
    .map(quoted);
  const subcode = error.error_subcode === undefined ? '' : `, subcode ${quoted(error.error_subcode)}`;
  const message = `${who} answered: ${details.join(' ')} (code ${code}${subcode})`;
  return new PullProblem(classOf(code, error, answered), message, waitOf(answered));
}

function classOf(code: number, { is_transient: isTransient }: Row, { status }: Answered): ProblemClass {
  if (code === 190 || code === 102 || code === 10 || (code >= 200 && code < 300)) return 'auth';
  if (rateLimitCodes.has(code)) return 'rate_limit';
  return isTransient === true || code === 1 || code === 2 || status >= 500 ? 'server' : 'permanent';
}

/** Meta says in a header how many minutes the account has to wait. */
function waitOf(answered: Answered): number | undefined {
  const usage = answered.headers['x-business-use-case-usage'];
  if (usage === undefined) return retryAfterOf(answered);
  try {
    const minutes = Object.values(asObject(JSON.parse(usage)))
      .flatMap(asRows)
      .map(({ estimated_time_to_regain_access: wait }) => Number(wait) || 0);
    const longest = Math.max(0, ...minutes);
    return longest === 0 ? retryAfterOf(answered) : longest * 60_000;
  } catch {
    return retryAfterOf(answered);
  }
}
