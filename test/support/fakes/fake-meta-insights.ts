import { createHmac } from 'node:crypto';
import type { AdAccount, AdDay } from './ad-account.ts';
import { type Asked, type ReportingServer, type Said, startReporting } from './reporting-server.ts';

export const metaToken = 'EAAB-meta-token-of-the-tests';
export const metaAppSecret = 'meta-app-secret-of-the-tests';
const reportRun = '6023920149050';

/**
 * Insights of the Marketing API, from its public documentation: prepared reports (`report_run_id`, `async_status`),
 * pages with cursors, figures as texts, errors with code and subcode.
 */
export function startFakeMeta(
  account: AdAccount,
  { pageSize = 3, looksUntilReady = 2 } = {},
): Promise<ReportingServer> {
  const runs = new Map<string, { params: URLSearchParams; looks: number }>();
  let started = 0;
  return startReporting(account, (asked) => {
    const refusal = refusalOf(asked);
    if (refusal !== null) return refusal;
    const given = asked.method === 'POST' ? new URLSearchParams(asked.body) : asked.query;
    const [, version, id = '', edge] = asked.path.split('/');
    if (!/^v\d+\.\d+$/.test(version ?? '')) return unknownPath(asked);
    if (id.startsWith('act_') && edge === 'insights') {
      const wrong = wrongParams(given);
      if (wrong !== null) return wrong;
      if (asked.method === 'GET') return pageOf(rowsOf(account, given), given, { asked, pageSize });
      started += 1;
      const runId = `${reportRun}${started}`;
      runs.set(runId, { params: given, looks: 0 });
      return { body: { report_run_id: runId } };
    }
    const run = runs.get(id);
    if (run === undefined || asked.method !== 'GET') return unknownPath(asked);
    if (edge === 'insights') {
      if (run.looks < looksUntilReady) return failure(400, { code: 2601, message: 'Loading async job' });
      return pageOf(rowsOf(account, run.params), given, { asked, pageSize });
    }
    run.looks += 1;
    const isReady = run.looks >= looksUntilReady;
    return {
      body: {
        id,
        account_id: '1234567890',
        async_status: isReady ? 'Job Completed' : 'Job Running',
        async_percent_completion: isReady ? 100 : 40,
      },
    };
  });
}

function refusalOf({ headers, query, body }: Asked): Said | null {
  if (query.has('access_token') || body.includes(metaToken))
    return failure(400, {
      code: 100,
      message: 'This fake wants its token in a header, where no log shows it',
    });
  if (headers.authorization !== `Bearer ${metaToken}`)
    return failure(401, {
      code: 190,
      error_subcode: 463,
      type: 'OAuthException',
      message: 'Error validating access token: Session has expired',
    });
  const proof = query.get('appsecret_proof') ?? new URLSearchParams(body).get('appsecret_proof');
  const right = createHmac('sha256', metaAppSecret).update(metaToken).digest('hex');
  if (proof !== null && proof !== right)
    return failure(400, { code: 100, message: 'Invalid appsecret_proof provided in the API argument' });
  return null;
}

function wrongParams(given: URLSearchParams): Said | null {
  const range = JSON.parse(given.get('time_range') ?? '{}') as { since?: string; until?: string };
  if (!/^\d{4}-\d\d-\d\d$/.test(range.since ?? '') || !/^\d{4}-\d\d-\d\d$/.test(range.until ?? ''))
    return failure(400, {
      code: 100,
      message: '(#100) param time_range must be an object with since and until',
    });
  if (!['account', 'campaign', 'adset', 'ad'].includes(given.get('level') ?? ''))
    return failure(400, {
      code: 100,
      message: '(#100) param level must be one of account, campaign, adset, ad',
    });
  if (given.get('time_increment') !== '1')
    return failure(400, { code: 100, message: 'This fake has daily figures only' });
  const known =
    /^(?:account_currency|\w+_(id|name)|impressions|(inline_link_)?clicks|reach|spend|action(s|_values))$/;
  const unknown = (given.get('fields') ?? '').split(',').find((field) => !known.test(field));
  return unknown === undefined
    ? null
    : failure(400, { code: 100, message: `(#100) ${unknown} is not valid for fields param` });
}

function rowsOf(account: AdAccount, given: URLSearchParams): object[] {
  const { since, until } = JSON.parse(given.get('time_range') ?? '{}') as { since: string; until: string };
  const level = given.get('level') ?? '';
  const by = { campaign: 'campaignId', adset: 'adSetId', ad: 'adId' }[level] as keyof AdDay;
  const fields = (given.get('fields') ?? '').split(',');
  return account.grouped(since, until, (row) => String(row[by])).map((row) => rowOf(row, account, fields));
}

function rowOf(row: AdDay, account: AdAccount, fields: string[]): object {
  const value = (row.valueCents / 100).toFixed(2);
  const all: Record<string, unknown> = {
    account_currency: account.currency,
    campaign_id: row.campaignId,
    campaign_name: `Campaign ${row.campaignId.slice(-1)}`,
    adset_id: row.adSetId,
    adset_name: `Set ${row.adSetId.slice(-1)}`,
    ad_id: row.adId,
    ad_name: `Ad ${row.adId.slice(-1)}`,
    impressions: String(row.impressions),
    clicks: String(row.clicks),
    inline_link_clicks: String(Math.floor(row.clicks / 2)),
    reach: String(Math.floor(row.impressions / 2)),
    spend: (row.cents / 100).toString(),
    // One purchase stands under several types.
    actions: ['link_click', 'purchase', 'omni_purchase', 'offsite_conversion.fb_pixel_purchase'].map(
      (type) => ({
        action_type: type,
        value: type === 'link_click' ? '3' : String(row.conversions),
      }),
    ),
    action_values: ['purchase', 'omni_purchase'].map((type) => ({ action_type: type, value })),
  };
  const shown = Object.fromEntries(fields.map((field) => [field, all[field]]));
  return { ...shown, date_start: row.day, date_stop: row.day };
}

function pageOf(
  rows: object[],
  given: URLSearchParams,
  { asked, pageSize }: { asked: Asked; pageSize: number },
): Said {
  const after = given.get('after');
  const start = after === null ? 0 : Number(Buffer.from(after, 'base64url').toString());
  const end = Math.min(start + Math.min(pageSize, Number(given.get('limit') ?? 25)), rows.length);
  const cursors = { before: cursor(start), after: cursor(end) };
  // Like Meta's, the address of the next page repeats the token: following it would leak it.
  const next = `http://127.0.0.1:9${asked.path}?access_token=${metaToken}&after=${cursors.after}`;
  return {
    headers: {
      'x-business-use-case-usage': '{"1234567890":[{"call_count":1,"estimated_time_to_regain_access":0}]}',
    },
    body: { data: rows.slice(start, end), paging: { cursors, ...(end < rows.length ? { next } : {}) } },
  };
}

const cursor = (at: number) => Buffer.from(String(at)).toString('base64url');

export function failure(status: number, error: Record<string, unknown>, headers = {}): Said {
  return { status, headers, body: { error: { fbtrace_id: 'AbCdEf', ...error } } };
}

function unknownPath({ method, path }: Asked): Said {
  return failure(400, { code: 2500, message: `Unknown path components: ${method} ${path}` });
}
