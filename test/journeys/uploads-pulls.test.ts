import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayIn } from '../../src/ingest/pulls/places/days.ts';
import { AdAccount } from '../support/fakes/ad-account.ts';
import { googleFailure, googleSecrets, startFakeGoogle } from '../support/fakes/fake-google-ads.ts';
import { failure, metaAppSecret, metaToken, startFakeMeta } from '../support/fakes/fake-meta-insights.ts';
import { startFakeTiktok, tiktokFailure, tiktokToken } from '../support/fakes/fake-tiktok-report.ts';
import { type ReportingServer, type Said, startReporting } from '../support/fakes/reporting-server.ts';
import { type SourceView, type Stage, usePulls } from '../support/servers/pull-server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const database = useDatabase();
const server = useServerProcess(database, {
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  PULL_RETRY_BASE_SECONDS: '0.2',
  PULL_POLL_SECONDS: '0.2',
});
const { call, ok, newStage, storeSecret, newSource, pull, uploads, stored } = usePulls(server, database);

const dayMs = 86_400_000;
const daysAgo = (days: number) =>
  new Date(Date.parse(dayIn('UTC', new Date())) - days * dayMs).toISOString().slice(0, 10);
const lastDays = (count: number) => Array.from({ length: count }, (_, at) => daysAgo(count - at));

interface Platform {
  start(account: AdAccount): Promise<ReportingServer>;
  place(stage: Stage, fake: ReportingServer): Promise<object>;
  /** What the platform says when it asks for fewer requests, and when it has a fault. */
  tooMany: Said;
  fault: Said;
}

const platforms: Record<string, Platform> = {
  meta: {
    start: startFakeMeta,
    place: async (stage, { url: endpoint, host }) => {
      await storeSecret(stage, 'meta_token', { value: metaToken, host });
      await storeSecret(stage, 'meta_app', { value: `${metaAppSecret}\n`, host });
      return {
        ...{ kind: 'meta', account_id: 'act_1234567890', endpoint },
        ...{ access_token_secret: 'meta_token', app_secret_secret: 'meta_app' },
      };
    },
    tooMany: failure(400, { code: 80_000, message: 'There have been too many calls from this ad-account.' }),
    fault: failure(500, { code: 2, is_transient: true, message: 'Service temporarily unavailable' }),
  },
  google: {
    start: startFakeGoogle,
    place: async (stage, { url: endpoint, host }) => {
      const named = { client: 'g_client', refresh: 'g_refresh', developer: 'g_developer' } as const;
      for (const [what, name] of Object.entries(named))
        await storeSecret(stage, name, { value: googleSecrets[what as keyof typeof named], host });
      return {
        ...{ kind: 'google', customer_id: '123-456-7890', login_customer_id: '111-222-3333', endpoint },
        ...{ client_id: 'app.example', token_endpoint: `${endpoint}/token`, level: 'ad' },
        client_secret_secret: named.client,
        refresh_token_secret: named.refresh,
        developer_token_secret: named.developer,
      };
    },
    tooMany: googleFailure(429, 'RESOURCE_EXHAUSTED', 'Too many requests.', {
      quotaErrorDetails: { rateScope: 'DEVELOPER', retryDelay: '0s' },
    }),
    fault: googleFailure(503, 'UNAVAILABLE', 'The service is currently unavailable.'),
  },
  tiktok: {
    start: startFakeTiktok,
    place: async (stage, { url: endpoint, host }) => {
      await storeSecret(stage, 'tiktok_token', { value: tiktokToken, host });
      return {
        kind: 'tiktok',
        advertiser_id: '6900000000000000000',
        access_token_secret: 'tiktok_token',
        endpoint,
      };
    },
    tooMany: tiktokFailure(40_100, 'Too many requests. Please retry in some time.'),
    fault: tiktokFailure(50_000, 'System error'),
  },
};

describe.each(Object.entries(platforms))('a pull of %s', (name, platform) => {
  let fake: ReportingServer;
  const days = lastDays(40);
  const account = AdAccount.over(days);
  // What TikTok's API calls clicks are those to the destination.
  const clicks = name === 'tiktok' ? 'link_clicks' : 'clicks';
  beforeAll(async () => {
    fake = await platform.start(account);
  });
  afterAll(() => fake.close());

  test('stores the last days as the platform has them in its books, over pages and pieces', async () => {
    const stage = await newStage();
    const source = await newSource(stage, await platform.place(stage, fake), { restate_days: 35 });
    const after = await pull(stage, source);
    expect(after).toMatchObject({
      state: 'ok',
      last_result: { range: { from: daysAgo(35), to: daysAgo(1) } },
    });
    const [upload, ...others] = await uploads(stage);
    expect(others).toEqual([]);
    expect(upload).toMatchObject({ status: 'completed', platform: name, origin: 'pull' });
    expect(upload?.upload_id).toBe(after.last_result.upload_ids[0]);
    expect(await stored(stage, '2000-01-01', '2100-01-01', clicks)).toEqual(
      account.sums(daysAgo(35), daysAgo(1)),
    );
    const { agrees } = await ok<{ agrees: boolean }>(
      stage,
      `/api/uploads/${upload?.upload_id}/reconciliation`,
    );
    expect(agrees).toBe(true);
  });

  test('makes no upload of the same figures, and replaces earlier ones after late conversions', async () => {
    const stage = await newStage();
    const source = await newSource(stage, await platform.place(stage, fake), { restate_days: 7 });
    await pull(stage, source);
    const again = await pull(stage, source);
    expect(again.last_result).toMatchObject({ unchanged: 1, upload_ids: [] });
    expect(again.last_result.message).toContain('no new upload');
    expect(await uploads(stage)).toHaveLength(1);
    account.convertLate(daysAgo(3), { conversions: 5, valueCents: 12_345 });
    const late = await pull(stage, source);
    expect(late.last_result.upload_ids).toHaveLength(1);
    expect(await uploads(stage)).toHaveLength(2);
    expect(await stored(stage, '2000-01-01', '2100-01-01', clicks)).toEqual(
      account.sums(daysAgo(7), daysAgo(1)),
    );
  });

  test('pulls other days on request', async () => {
    const stage = await newStage();
    const source = await newSource(stage, await platform.place(stage, fake), { restate_days: 1 });
    const after = await pull(stage, source, { date_from: daysAgo(20), date_to: daysAgo(11) });
    expect(after.last_result.range).toEqual({ from: daysAgo(20), to: daysAgo(11) });
    await uploads(stage);
    expect(await stored(stage, '2000-01-01', '2100-01-01', clicks)).toEqual(
      account.sums(daysAgo(20), daysAgo(11)),
    );
  });

  test('goes on after a fault, a cut connection and a rate limit, and stores everything once', async () => {
    const stage = await newStage();
    const source = await newSource(stage, await platform.place(stage, fake), { restate_days: 5 });
    fake.answerNext(platform.fault, 'hang up', platform.tooMany);
    const after = await pull(stage, source);
    expect(after.state).toBe('ok');
    await uploads(stage);
    expect(await stored(stage, '2000-01-01', '2100-01-01', clicks)).toEqual(
      account.sums(daysAgo(5), daysAgo(1)),
    );
  });

  test('ends at once with the platform’s words when the credentials are refused, and shows no secret', async () => {
    const stage = await newStage();
    const source = await newSource(stage, await platform.place(stage, fake));
    const value = 'a-revoked-token-that-nobody-may-see';
    for (const secret of ['meta_token', 'g_refresh', 'tiktok_token'])
      await storeSecret(stage, secret, { value, host: fake.host });
    const before = fake.asked.length;
    const after = await pull(stage, source);
    expect(after).toMatchObject({ state: 'failing', last_error_code: 'pull_login_refused' });
    expect(fake.asked.length).toBe(before + 1);
    expect(JSON.stringify(after)).not.toContain(value);
    expect(server.logs()).not.toContain(value);
    expect(await uploads(stage)).toEqual([]);
  });

  test('sends its secrets to no other host', async () => {
    const stage = await newStage();
    const place = await platform.place(stage, fake);
    const stranger = await platform.start(account);
    const login = name === 'google' ? { token_endpoint: `${stranger.url}/token` } : {};
    const elsewhere = { ...place, endpoint: stranger.url, ...login };
    const body = { name: 'Elsewhere', workspace_id: stage.workspaceId, place: elsewhere };
    const refused = await call(stage, '/api/uploads/sources', { method: 'POST', body });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({ code: 'secret_host_not_allowed' });
    expect(stranger.asked).toEqual([]);
    await stranger.close();
  });

  test('says that there are no figures for days without any, and makes no upload', async () => {
    const stage = await newStage();
    const source = await newSource(stage, await platform.place(stage, fake));
    const after = await pull(stage, source, { date_from: '2020-01-01', date_to: '2020-01-02' });
    expect(after.last_result.message).toContain('no figures');
    expect(await uploads(stage)).toEqual([]);
  });
});

describe('a pull of a URL', () => {
  const csv = (spend: string) =>
    `Campaign ID,Day,Impressions,Amount spent (EUR)\n120210000000000001,${daysAgo(2)},10,${spend}\n`;
  let text = csv('1.50');
  let web: ReportingServer;
  beforeAll(async () => {
    web = await startReporting(AdAccount.over([]), ({ headers, path }): Said => {
      if (path === '/moved')
        return { status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' }, body: '' };
      if (headers.authorization !== 'Bearer web-token') return { status: 401, body: 'Who are you?' };
      return { headers: { 'content-type': 'text/csv' }, body: text };
    });
  });
  afterAll(() => web.close());

  const place = (more: object = {}) => ({
    kind: 'url',
    url: `${web.url}/daily.csv?from={date_from}&to={date_to}`,
    auth: { type: 'bearer', secret: 'web' },
    ...more,
  });

  test('asks for the days of its window and uploads each content once', async () => {
    const stage = await newStage();
    await storeSecret(stage, 'web', { value: 'web-token', host: web.host });
    const source = await newSource(stage, place(), { platform: 'meta', restate_days: 3, client_id: null });
    expect((await pull(stage, source)).last_result.upload_ids).toHaveLength(1);
    expect(web.asked.at(-1)?.query.get('from')).toBe(daysAgo(3));
    expect(web.asked.at(-1)?.query.get('to')).toBe(daysAgo(1));
    expect((await pull(stage, source)).last_result).toMatchObject({ unchanged: 1 });
    text = csv('2.75');
    expect((await pull(stage, source)).last_result.upload_ids).toHaveLength(1);
    expect(await uploads(stage)).toHaveLength(2);
    expect(await stored(stage, '2000-01-01', '2100-01-01')).toMatchObject({ spend: 2.75 });
    // The content of the beginning is new again: what is stored comes from another one.
    text = csv('1.50');
    await pull(stage, source);
    await uploads(stage);
    expect(await stored(stage, '2000-01-01', '2100-01-01')).toMatchObject({ spend: 1.5 });
  });

  test('refuses a page that is no report, with its first words', async () => {
    const stage = await newStage();
    await storeSecret(stage, 'web', { value: 'another-token', host: web.host });
    const source = await newSource(stage, place(), { platform: 'meta' });
    const after = await pull(stage, source);
    expect(after).toMatchObject({ state: 'failing', last_error_code: 'pull_login_refused' });
    expect(after.last_error).toContain('Who are you?');
  });
});

describe('a source', () => {
  test.each([
    ['without a platform', { place: { kind: 'url', url: 'https://example.com/a.csv' } }, '/platform'],
    [
      'of a platform that an API does not have',
      { platform: 'google', place: { kind: 'tiktok', advertiser_id: '1', access_token_secret: 'x' } },
      '/platform',
    ],
    [
      'with a password in its URL',
      { platform: 'meta', place: { kind: 'url', url: 'https://me:pw@example.com/a.csv' } },
      '/body/place/url',
    ],
    [
      'of the metadata service',
      { platform: 'meta', place: { kind: 'url', url: 'http://169.254.169.254/latest' } },
      '/place/url',
    ],
    [
      'with cron and a cadence',
      {
        platform: 'meta',
        cadence_hours: 24,
        cron: '0 6 * * *',
        place: { kind: 'url', url: 'https://example.com/a.csv' },
      },
      '/cron',
    ],
    [
      'of no known platform',
      { platform: 'nosuch', place: { kind: 'url', url: 'https://example.com/a.csv' } },
      '/platform',
    ],
  ])('%s is refused, and the field is named', async (_what, body, pointer) => {
    const stage = await newStage();
    const whole = { name: 'Shop', workspace_id: stage.workspaceId, ...body };
    const reply = await call(stage, '/api/uploads/sources', { method: 'POST', body: whole });
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(500);
    const { errors } = reply.body as unknown as { errors: { pointer: string }[] };
    expect(errors.map((error) => error.pointer)).toContain(pointer);
  });

  test('is pulled by its schedule', async () => {
    const stage = await newStage();
    const fake = await startFakeTiktok(AdAccount.over(lastDays(3)));
    const place = await platforms.tiktok?.place(stage, fake);
    const source = await newSource(stage, place ?? {}, { cron: '0 */2 * * *', time_zone: 'Asia/Tokyo' });
    await database.owner(`update upload_sources set next_pull_at = now() where tenant_id = $1`, [
      stage.tenantId,
    ]);
    const isPulled = async () => {
      const { state } = await ok<SourceView>(stage, `/api/uploads/sources/${source.source_id}`);
      return state === 'ok';
    };
    await eventually(isPulled, 'the schedule has pulled the source', 60_000);
    expect(await uploads(stage)).toHaveLength(1);
    await fake.close();
  });

  test('is listed, changed and deleted, and its uploads stay', async () => {
    const stage = await newStage();
    const fake = await startFakeTiktok(AdAccount.over(lastDays(3)));
    const source = await newSource(stage, (await platforms.tiktok?.place(stage, fake)) ?? {});
    await pull(stage, source);
    const route = `/api/uploads/sources/${source.source_id}`;
    const changed = await ok<{ name: string; next_pull_at: string | null }>(
      stage,
      route,
      { name: 'New', enabled: false },
      'PATCH',
    );
    expect(changed).toMatchObject({ name: 'New', next_pull_at: null });
    const { data } = await ok<{ data: SourceView[] }>(stage, '/api/uploads/sources');
    expect(data).toHaveLength(1);
    expect((await call(stage, route, { method: 'DELETE' })).status).toBe(204);
    expect((await call(stage, route)).status).toBe(404);
    expect(await uploads(stage)).toHaveLength(1);
    await fake.close();
  });
});
