import { pullFailures } from '../errors.ts';
import type { GooglePlace } from '../form.ts';
import type { DayRange } from '../types.ts';
import { type Caller, callJson } from './caller.ts';
import { piecesOf } from './days.ts';
import { type Answered, type ProblemClass, PullProblem, quoted, retryAfterOf } from './problems.ts';
import { asObject, asRows, type Row } from './rows.ts';

const who = 'Google Ads';
/** One answer holds all rows of its days, so a long range is asked for in pieces. */
const daysPerRequest = 31;

const campaignFields = ['campaign.id', 'campaign.name'];
const groupFields = [...campaignFields, 'ad_group.id', 'ad_group.name'];
const queries = {
  campaign: { resource: 'campaign', fields: campaignFields },
  ad_set: { resource: 'ad_group', fields: groupFields },
  ad: { resource: 'ad_group_ad', fields: [...groupFields, 'ad_group_ad.ad.id', 'ad_group_ad.ad.name'] },
} as const;
const figures = [
  'segments.date',
  'customer.currency_code',
  'metrics.impressions',
  'metrics.clicks',
  'metrics.cost_micros',
  'metrics.conversions',
  'metrics.conversions_value',
];

export async function* readGoogle(
  caller: Caller,
  place: GooglePlace,
  range: DayRange,
): AsyncGenerator<Row[]> {
  const accessToken = await login(caller, place);
  for (const piece of piecesOf(range, daysPerRequest)) {
    yield await search(caller, place, { accessToken, query: queryOf(place, piece) });
  }
}

function queryOf({ level }: GooglePlace, { from, to }: DayRange): string {
  const { resource, fields } = queries[level];
  const wanted = [...fields, ...figures].join(', ');
  return `SELECT ${wanted} FROM ${resource} WHERE segments.date BETWEEN '${from}' AND '${to}'`;
}

/** Exchanges the refresh token for one that lives an hour. */
async function login(caller: Caller, place: GooglePlace): Promise<string> {
  const { purse } = caller;
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: place.client_id,
    client_secret: (await purse.take(place.client_secret_secret)).trim(),
    refresh_token: (await purse.take(place.refresh_token_secret)).trim(),
  }).toString();
  const { answer, answered } = await callJson(caller, {
    who: 'Google',
    url: place.token_endpoint,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  });
  const { access_token: token, error, error_description: description } = asObject(answer);
  if (answered.status === 200 && typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
  const message = `Google refused the login: ${quoted(error)} ${quoted(description)}`;
  const isRefused = answered.status === 400 || answered.status === 401;
  const { status } = answered;
  throw new PullProblem(
    isRefused ? 'auth' : status === 429 ? 'rate_limit' : status >= 500 ? 'server' : 'permanent',
    message,
    retryAfterOf(answered),
  );
}

async function search(
  caller: Caller,
  place: GooglePlace,
  { accessToken, query }: { accessToken: string; query: string },
): Promise<Row[]> {
  const { customer_id: customer, login_customer_id: manager } = place;
  const { answer, answered } = await callJson(caller, {
    who,
    url: `${place.endpoint.replace(/\/+$/, '')}/${place.api_version}/customers/${customer}/googleAds:searchStream`,
    method: 'POST',
    headers: {
      authorization: `Bearer ${accessToken}`,
      'developer-token': (await caller.purse.take(place.developer_token_secret)).trim(),
      'content-type': 'application/json',
      ...(manager === null ? {} : { 'login-customer-id': manager }),
    },
    body: JSON.stringify({ query }),
  });
  // An answer is an array of batches. An error may come alone, in an array, or behind batches that were sent before.
  const batches = Array.isArray(answer) ? answer.map(asObject) : [asObject(answer)];
  const failed = batches.find(({ error }) => error !== undefined);
  if (failed !== undefined) throw problemOf(asObject(failed.error), answered);
  if (answered.status >= 400 || !Array.isArray(answer)) {
    throw pullFailures.raise.pull_answer_unreadable(`${who} answered ${answered.status}: ${quoted(answer)}`);
  }
  return batches.flatMap(({ results }) => asRows(results));
}

function problemOf(error: Row, answered: Answered): PullProblem {
  const status = quoted(error.status);
  const failures = asRows(error.details).flatMap(({ errors }) => asRows(errors));
  const words = [error.message, ...failures.map(({ message }) => message)].filter(
    (text): text is string => typeof text === 'string',
  );
  const message = `${who} answered ${status}: ${[...new Set(words.map(quoted))].join(' ')}`;
  return new PullProblem(
    classOf(status, Number(error.code)),
    message,
    waitOf(failures) ?? retryAfterOf(answered),
  );
}

function classOf(status: string, code: number): ProblemClass {
  if (status === 'UNAUTHENTICATED' || status === 'PERMISSION_DENIED') return 'auth';
  if (status === 'RESOURCE_EXHAUSTED' || code === 429) return 'rate_limit';
  const isFault = ['INTERNAL', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'ABORTED', 'UNKNOWN'].includes(status);
  return isFault || code >= 500 ? 'server' : 'permanent';
}

/** `quotaErrorDetails.retryDelay` is a text such as "900s". */
function waitOf(failures: readonly Row[]): number | undefined {
  const seconds = failures
    .map(({ details }) => asObject(asObject(details).quotaErrorDetails).retryDelay)
    .map((delay) => (typeof delay === 'string' ? Number(/^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1]) : Number.NaN))
    .filter((each) => !Number.isNaN(each));
  return seconds.length === 0 ? undefined : Math.max(...seconds) * 1000;
}
