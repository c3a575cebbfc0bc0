import type { AdAccount, AdDay } from './ad-account.ts';
import { type Asked, type ReportingServer, type Said, startReporting } from './reporting-server.ts';

export const googleSecrets = {
  client: 'GOCSPX-secret-of-the-tests',
  refresh: '1//refresh-token-of-the-tests',
  developer: 'developer-token-of-the-tests',
};
const accessToken = 'ya29.access-token-of-the-tests';
let requests = 0;

/**
 * The token endpoint of Google's OAuth, and `googleAds:searchStream`: an array of batches with 64-bit numbers as texts
 * and a request id that differs each time; errors as `google.rpc.Status` with a GoogleAdsFailure.
 */
export function startFakeGoogle(account: AdAccount, { batchSize = 3 } = {}): Promise<ReportingServer> {
  return startReporting(account, (asked) =>
    asked.path === '/token' ? login(asked) : search(asked, { account, batchSize }),
  );
}

function login({ method, headers, body }: Asked): Said {
  const given = new URLSearchParams(body);
  const isForm = headers['content-type'] === 'application/x-www-form-urlencoded';
  if (method !== 'POST' || !isForm || given.get('grant_type') !== 'refresh_token')
    return {
      status: 400,
      body: { error: 'unsupported_grant_type', error_description: 'Invalid grant_type' },
    };
  if (given.get('client_secret') !== googleSecrets.client)
    return { status: 401, body: { error: 'invalid_client', error_description: 'Unauthorized' } };
  if (given.get('refresh_token') !== googleSecrets.refresh)
    return {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
    };
  return { body: { access_token: accessToken, expires_in: 3599, token_type: 'Bearer' } };
}

const form =
  /^SELECT (.+) FROM (campaign|ad_group|ad_group_ad) WHERE segments\.date BETWEEN '([-\d]{10})' AND '([-\d]{10})'$/;
const allowed: Record<string, RegExp> = {
  campaign: /^(campaign\.(id|name)|segments\.date|customer\.currency_code|metrics\.\w+)$/,
  ad_group: /^((campaign|ad_group)\.(id|name)|segments\.date|customer\.currency_code|metrics\.\w+)$/,
  ad_group_ad:
    /^((campaign|ad_group|ad_group_ad\.ad)\.(id|name)|segments\.date|customer\.currency_code|metrics\.\w+)$/,
};

function search(
  { method, path, headers, body }: Asked,
  { account, batchSize }: { account: AdAccount; batchSize: number },
): Said {
  if (method !== 'POST' || !/^\/v\d+\/customers\/\d{10}\/googleAds:searchStream$/.test(path))
    return googleFailure(404, 'NOT_FOUND', 'Requested entity was not found.');
  if (headers.authorization !== `Bearer ${accessToken}`)
    return googleFailure(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
  if (headers['developer-token'] !== googleSecrets.developer)
    return googleFailure(403, 'PERMISSION_DENIED', 'The developer token is not valid.');
  if (headers['login-customer-id'] !== undefined && !/^\d{10}$/.test(headers['login-customer-id'] as string))
    return googleFailure(400, 'INVALID_ARGUMENT', 'The login-customer-id header must be digits only.');
  const { query } = JSON.parse(body) as { query: string };
  const [, fields = '', resource = '', from = '', to = ''] = form.exec(query) ?? [];
  const unknown = fields.split(', ').find((field) => !allowed[resource]?.test(field));
  if (unknown !== undefined)
    return googleFailure(400, 'INVALID_ARGUMENT', `Unrecognized field in the query: '${unknown}'.`);
  const by = { campaign: 'campaignId', ad_group: 'adSetId', ad_group_ad: 'adId' }[resource] as keyof AdDay;
  const rows = account
    .grouped(from, to, (row) => String(row[by]))
    .map((row) => rowOf(row, { account, resource }));
  const batches: object[] = [];
  for (let at = 0; at < rows.length; at += batchSize) {
    requests += 1;
    batches.push({
      results: rows.slice(at, at + batchSize),
      fieldMask: fields.replaceAll(' ', ''),
      requestId: `request-${requests}`,
    });
  }
  // Google sends one batch without results for days without figures.
  return { body: batches.length > 0 ? batches : [{ fieldMask: fields, requestId: 'request' }] };
}

function rowOf(row: AdDay, { account, resource }: { account: AdAccount; resource: string }): object {
  const customer = 'customers/1234567890';
  const id = (text: string) => text.slice(-10);
  return {
    customer: { resourceName: customer, currencyCode: account.currency },
    campaign: {
      resourceName: `${customer}/campaigns/${id(row.campaignId)}`,
      id: id(row.campaignId),
      name: `Campaign ${row.campaignId.slice(-1)}`,
    },
    ...(resource === 'campaign'
      ? {}
      : { adGroup: { id: id(row.adSetId), name: `Group ${row.adSetId.slice(-1)}` } }),
    ...(resource === 'ad_group_ad'
      ? { adGroupAd: { ad: { id: id(row.adId), name: `Ad ${row.adId.slice(-1)}` } } }
      : {}),
    metrics: {
      clicks: String(row.clicks),
      conversionsValue: row.valueCents / 100,
      conversions: row.conversions,
      costMicros: String(row.cents * 10_000),
      impressions: String(row.impressions),
    },
    segments: { date: row.day },
  };
}

export function googleFailure(code: number, status: string, message: string, quota: object = {}): Said {
  const type = 'type.googleapis.com/google.ads.googleads.v25.errors.GoogleAdsFailure';
  const error = { code, message: 'The request was refused.', status };
  const details = [{ '@type': type, errors: [{ message, details: quota }], requestId: 'r-1' }];
  return { status: code, body: [{ error: { ...error, details } }] };
}
