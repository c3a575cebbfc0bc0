import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { GeneratedReport, ReportSize } from '../generators/ad-reports/generated-report.ts';
import * as google from '../generators/ad-reports/google-reports.ts';
import * as json from '../generators/ad-reports/json-reports.ts';
import * as meta from '../generators/ad-reports/meta-reports.ts';
import * as tiktok from '../generators/ad-reports/tiktok-reports.ts';
import { queryOnce } from '../support/fakes/postgres-server.ts';
import { useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Every shape in which the platforms give out their reports, from the form to production.
const database = useDatabase();
// Far from every time zone of the process: a date converted through a point in time would move.
beforeAll(() =>
  database.owner(
    `do $$ begin execute format('alter database %I set timezone to ''Pacific/Auckland''', current_database()); end $$`,
  ),
);
const usual = useUploads(database);
// Every batch is a slice of its own, and the next one opens the file at the byte where it ended.
const inPieces = useUploads(database, { uploadSliceMs: 0, linesPerBatch: 37 });

const { metaEmpty: _, metaNotDaily: __, ...metaShapes } = meta;
const shapes = Object.entries({ ...google, ...metaShapes, ...tiktok, ...json });

afterEach(() => {
  vi.unstubAllEnvs();
});

interface Imported {
  tenantId: string;
  record: Record<string, unknown>;
}

async function importReport(uploads: typeof usual, report: GeneratedReport): Promise<Imported> {
  const { tenantId, workspaceId } = await uploads.tenant();
  const claims = { tenantId, role: 'admin' as const };
  const { platform } = report;
  const made = await uploads.post(claims, report.bytes, { workspace_id: workspaceId, platform });
  expect(made).toMatchObject({ status: 201, body: { status: 'pending' } });
  await uploads.drive(tenantId);
  return { tenantId, record: await uploads.get(claims, made.body.upload_id) };
}

/** The bytes at which the file was opened while the work was done; a resumed JSON file is looked at from 0 as well. */
async function startsDuring(work: () => Promise<void>): Promise<number[]> {
  const opened = vi.spyOn(inPieces.files, 'open');
  try {
    await work();
    return opened.mock.calls.map(([, range]) => range?.start ?? 0).filter((start) => start > 0);
  } finally {
    opened.mockRestore();
  }
}

/** The facts with their entities, written as the generators write what they expect. */
function productionRows(tenantId: string): Promise<object[]> {
  return database.owner(
    `select m.metric_date::text as day, m.platform, c.external_id as campaign, c.name as "campaignName",
            s.external_id as "adSet", s.name as "adSetName", a.external_id as ad, a.name as "adName",
            c.is_name_key as "isNameKey", m.impressions::text, m.clicks::text,
            m.link_clicks::text as "linkClicks", m.reach::text,
            trim_scale(m.spend)::text as spend, trim_scale(m.conversions)::text as conversions,
            trim_scale(m.conversion_value)::text as value, m.currency
       from daily_metrics m
       left join campaigns c using (tenant_id, campaign_id)
       left join ad_sets s using (tenant_id, ad_set_id)
       left join ads a using (tenant_id, ad_id)
      where m.tenant_id = $1
      order by a.external_id collate "C", m.metric_date`,
    [tenantId],
  );
}

function expectedRows({ platform, filename, expected }: GeneratedReport): object[] {
  // Google's tables have no column with the names of ads.
  const hasAdNames = platform !== 'google' || filename.endsWith('.json');
  const rows = [...expected.lines()].map(({ campaign, adSet, ad, metric }) => ({
    day: metric.metricDate,
    platform,
    campaign: campaign.externalId,
    campaignName: campaign.name,
    adSet: adSet?.externalId ?? null,
    adSetName: adSet?.name ?? null,
    ad: ad?.externalId ?? null,
    adName: hasAdNames ? (ad?.name ?? null) : null,
    isNameKey: campaign.externalId.startsWith('name:'),
    impressions: metric.impressions,
    clicks: metric.clicks,
    linkClicks: metric.linkClicks,
    reach: metric.reach,
    spend: metric.spend,
    conversions: metric.conversions,
    value: metric.conversionValue,
    currency: metric.currency,
  }));
  const key = ({ ad, day }: (typeof rows)[number]) => Buffer.from(`${ad}\u0000${day}`);
  return rows.sort((a, b) => Buffer.compare(key(a), key(b)));
}

async function sumsOf(tenantId: string): Promise<object | undefined> {
  const [sums] = await database.owner<object>(
    `select sum(impressions)::text as impressions, sum(clicks)::text as clicks,
            sum(link_clicks)::text as "linkClicks", sum(reach)::text as reach,
            trim_scale(sum(spend))::text as spend, trim_scale(sum(conversions))::text as conversions,
            trim_scale(sum(conversion_value))::text as "conversionValue"
       from daily_metrics where tenant_id = $1`,
    [tenantId],
  );
  return sums;
}

async function expectImported({ tenantId, record }: Imported, report: GeneratedReport): Promise<void> {
  const { expected } = report;
  expect(record).toMatchObject({
    status: 'completed',
    error_text: null,
    total_rows: expected.validRows,
    valid_rows: expected.validRows,
    invalid_rows: 0,
    promoted_rows: expected.validRows,
    failed_rows: 0,
    row_count: expected.validRows,
    campaigns_upserted: expected.campaigns,
    ad_sets_upserted: expected.adSets,
    ads_upserted: expected.ads,
    daily_metrics_upserted: expected.validRows,
    affected_dates: expected.dates,
    mapping: {},
    event_emitted: true,
  });
  expect(await sumsOf(tenantId)).toEqual(expected.totals);
  expect(await productionRows(tenantId)).toEqual(expectedRows(report));
}

const size: ReportSize = { seed: 20_260_327, rows: 400 };

describe.each(shapes)('%s', (_, generate) => {
  const report = generate(size);

  test('is read without a mapping and stored in production to the last digit', async () => {
    await expectImported(await importReport(usual, report), report);
  });

  test('gives the same rows when it is read in eleven pieces, each from its own offset', async () => {
    const starts = await startsDuring(async () => {
      await expectImported(await importReport(inPieces, report), report);
    });
    const resumed = starts.filter((start) => start > 3);
    expect(new Set(resumed).size).toBeGreaterThanOrEqual(10);
    expect(resumed).toEqual(resumed.toSorted((a, b) => a - b));
  });
});

test.each(['America/Los_Angeles', 'Asia/Tokyo', 'UTC'])(
  'dates stay as in the file when the server’s time zone is %s',
  async (zone) => {
    vi.stubEnv('TZ', zone);
    expect(Intl.DateTimeFormat().resolvedOptions().timeZone).toBe(zone);
    // By a login of its own, as the server's are: an older session keeps the zone that it began with.
    const [database_] = await queryOnce<{ TimeZone: string }>(database.ownerUrl, 'show timezone');
    expect(database_?.TimeZone).toBe('Pacific/Auckland');
    for (const [, generate] of shapes) {
      const report = generate({ seed: 7, rows: 28 });
      const { tenantId, record } = await importReport(usual, report);
      expect([record.status, record.affected_dates]).toEqual(['completed', report.expected.dates]);
      const listed = await usual.call({ tenantId, role: 'admin' }, '/api/daily-metrics');
      const days = (listed.body.data as { metric_date: string }[]).map(({ metric_date: day }) => day);
      expect(days).toEqual(report.expected.dates);
    }
  },
);

test('an export without ids says that a rename will look like a new entity', async () => {
  const { record } = await importReport(usual, meta.metaWithoutIds({ seed: 1, rows: 30 }));
  expect(record).toMatchObject({
    status: 'completed',
    // Its total row has nothing to do with its lines.
    warnings: [
      { code: 'name_key', count: 30, message: expect.stringMatching(/rename/) },
      { code: 'total_row_differs' },
    ],
  });
});

test('ids of 19 digits and names in any script come out of the API unchanged', async () => {
  const report = tiktok.tiktokShiftJis({ seed: 3, rows: 40 });
  const { tenantId } = await importReport(usual, report);
  const list = async (name: string) => {
    const { body } = await usual.call({ tenantId, role: 'admin' }, `/api/${name}?platform=tiktok`);
    const rows = body.data as { external_id: string }[];
    return rows.sort((a, b) => (a.external_id < b.external_id ? -1 : 1));
  };
  expect(await list('campaigns')).toMatchObject([
    { external_id: '1201900719925400000', name: 'Total: セール, "A"', is_name_key: false },
  ]);
  expect(await list('ads')).toMatchObject([
    { external_id: '1203900719925400000', campaign_external_id: '1201900719925400000' },
    { external_id: '1203900719925400001', name: 'Ad 表示ソ能 1', ad_set_external_id: '1202900719925400000' },
  ]);
});
