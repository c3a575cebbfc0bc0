import { expect, test } from 'vitest';
import { breakdowns } from '../../../test/generators/ad-reports/ledger-breakdowns.ts';
import {
  type LedgerEntry,
  type LedgerReport,
  type LedgerShape,
  ledgerReport,
} from '../../../test/generators/ad-reports/ledger-report.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { useUploadRuns } from '../../../test/support/worlds/upload-runs.ts';
import { newId } from '../../lib/ids.ts';
import { languages } from './reports/types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const packings = ['none', 'xlsx', 'none', 'gzip', 'zip', 'none', 'xlsx'] as const;

/** Every combination that makes sense, thinned out evenly where there are many. */
function shapes(): LedgerShape[] {
  const all: LedgerShape[] = [];
  let seed = 0;
  const times = {
    meta: ['day', 'columns', 'one day'],
    google: ['day', 'title', 'one day', 'given'],
    tiktok: ['day', 'given'],
  } as const;
  for (const platform of ['meta', 'google', 'tiktok'] as const) {
    for (const time of times[platform]) {
      for (const breakdown of [null, ...Object.keys(breakdowns)]) {
        for (const keys of ['ids', 'names', 'ads only'] as const) {
          const language = languages[seed % languages.length] ?? 'en';
          const isJapanese = language === 'ja';
          const isWestern = ['en', 'de', 'es', 'it', 'nl'].includes(language);
          const encodings = [
            'utf-8',
            'utf-8 with bom',
            'utf-16le with bom',
            // The breakdowns' own words have letters that Shift_JIS lacks.
            isJapanese && (breakdown === null || breakdown === 'device')
              ? 'shift_jis'
              : isWestern
                ? 'windows-1252'
                : 'utf-8',
          ] as const;
          const encoding = encodings[seed % 4] ?? 'utf-8';
          const delimiter = encoding === 'utf-16le with bom' ? '\t' : seed % 5 === 0 ? ';' : ',';
          all.push({
            platform,
            language,
            keys,
            time,
            breakdown,
            encoding,
            delimiter,
            file: 'table',
            packing: packings[(seed >> 1) % packings.length] ?? 'none',
            totals: seed % 2 === 0,
            seed,
          });
          seed += 1;
        }
      }
    }
  }
  for (const platform of ['meta', 'google'] as const) {
    for (const breakdown of [null, ...Object.keys(breakdowns)]) {
      for (const time of platform === 'meta' ? (['day', 'columns'] as const) : (['day'] as const)) {
        all.push({
          platform,
          language: 'en',
          keys: 'ids',
          time,
          breakdown,
          encoding: 'utf-8',
          delimiter: ',',
          file: 'json',
          packing: seed % 3 === 0 ? 'gzip' : 'none',
          totals: false,
          seed,
        });
        seed += 1;
      }
    }
  }
  return all;
}

interface StoredRow {
  client: string;
  from: string;
  to: string;
  campaign: string | null;
  adSet: string | null;
  ad: string | null;
  impressions: string;
  clicks: string;
  reach: string | null;
  spend: string;
  conversions: string;
  value: string;
}

const storedQuery = `
  with facts as (
    select client_id, metric_date as date_from, metric_date as date_to, campaign_id, ad_set_id, ad_id, tenant_id,
           impressions, clicks, reach, spend, conversions, conversion_value from daily_metrics
    union all
    select client_id, date_from, date_to, campaign_id, ad_set_id, ad_id, tenant_id,
           impressions, clicks, reach, spend, conversions, conversion_value from period_metrics)
  select f.client_id::text as client, f.date_from::text as "from", f.date_to::text as "to",
         c.external_id as campaign, s.external_id as "adSet", a.external_id as ad, f.impressions::text, f.clicks::text,
         f.reach::text, (f.spend * 100)::bigint::text as spend, (f.conversions * 100)::bigint::text as conversions,
         (f.conversion_value * 100)::bigint::text as value
    from facts f
    left join campaigns c using (tenant_id, campaign_id)
    left join ad_sets s on s.tenant_id = f.tenant_id and s.ad_set_id = f.ad_set_id
    left join ads a on a.tenant_id = f.tenant_id and a.ad_id = f.ad_id
   where f.tenant_id = $1`;

const textOf = ({ from, to, campaign, adSet, ad, ...entry }: Omit<StoredRow, 'client'>) =>
  [
    from,
    to,
    campaign,
    adSet,
    ad,
    entry.impressions,
    entry.clicks,
    entry.reach,
    entry.spend,
    entry.conversions,
    entry.value,
  ].join(' | ');

function expectedOf({ shape, ledger }: LedgerReport): string[] {
  const hasReach = shape.platform !== 'google';
  return ledger
    .map((entry: LedgerEntry) =>
      textOf({
        ...entry,
        impressions: String(entry.impressions),
        clicks: String(entry.clicks),
        reach: hasReach && entry.reach !== null ? String(entry.reach) : null,
        spend: String(entry.spend),
        conversions: String(entry.conversions),
        value: String(entry.value),
      }),
    )
    .sort();
}

test('the stored sums of every generated report equal the ledger of its generator, key by key', {
  timeout: 600_000,
}, async () => {
  const place = await uploads.place();
  const { kernel } = await uploads.start({ linesPerBatch: 7, promotionBatchRows: 5 });
  const sent = new Map<string, { report: LedgerReport; uploadId: string }>();
  for (const shape of shapes()) {
    const report = ledgerReport(shape);
    const clientId = newId();
    const { platform } = shape;
    const upload = await uploads.take(place, report.bytes, {
      platform,
      clientId,
      filename: report.filename,
      ...report.given,
    });
    sent.set(clientId, { report, uploadId: upload.uploadId });
  }
  expect(sent.size).toBeGreaterThanOrEqual(300);
  await kernel.cycle({ budgetMs: 500_000, tenantId: place.tenantId });
  const rows = await database.owner<StoredRow>(storedQuery, [place.tenantId]);
  const stored = new Map<string, StoredRow[]>();
  for (const row of rows) stored.set(row.client, [...(stored.get(row.client) ?? []), row]);
  const wrong: string[] = [];
  for (const [clientId, { report, uploadId }] of sent) {
    const upload = await uploads.upload({ uploadId });
    const expected = expectedOf(report);
    const found = (stored.get(clientId) ?? []).map(textOf).sort();
    const { reconciliation } = upload as unknown as { reconciliation: { agrees: boolean } | null };
    const lines = Number(upload.promoted_rows);
    const breakdowns = await uploads.count('metric_breakdowns', { uploadId });
    const problems = [
      upload.status === 'completed'
        ? null
        : `${upload.status}: ${upload.error_text ?? JSON.stringify(upload.blockers)}`,
      JSON.stringify(found) === JSON.stringify(expected)
        ? null
        : `stored ${found.slice(0, 3).join('\n')}\nexpected ${expected.slice(0, 3).join('\n')}`,
      reconciliation?.agrees === true ? null : `reconciliation ${JSON.stringify(reconciliation)}`,
      lines === report.lines ? null : `${lines} of ${report.lines} lines were promoted`,
      breakdowns === (report.isBrokenDown ? report.lines : 0)
        ? null
        : `${breakdowns} breakdowns of ${report.lines} lines`,
    ].filter((problem) => problem !== null);
    if (problems.length > 0) wrong.push(`${report.name}\n  ${problems.join('\n  ')}`);
  }
  console.log(`${sent.size} reports, ${wrong.length} wrong`);
  expect(wrong.slice(0, 10)).toEqual([]);
});
