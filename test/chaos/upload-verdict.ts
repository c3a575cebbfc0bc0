import { isDeepStrictEqual } from 'node:util';
import type { ProductStage } from './product-stage.ts';
import { type ExpectedFact, expectedFacts, factKey, type SentReport } from './upload-ledger.ts';

type UploadEvidence = Pick<ProductStage, 'database' | 'reports' | 'places' | 'ask'>;

/** Every report once, every fact to the last digit as the newest report says it, every event once. */
export async function examineUploads(stage: UploadEvidence): Promise<string[]> {
  const breaches = [...(await examineRecords(stage)), ...(await examineEvents(stage))];
  for (const [place, { tenantId }] of stage.places.entries()) {
    const reports = stage.reports.filter((report) => report.place === place);
    const found = await readFacts(stage, tenantId);
    breaches.push(...compareFacts(tenantId, found, expectedFacts(reports)));
    breaches.push(...(await examineView(stage, tenantId, reports)));
  }
  return [...breaches, ...(await examineRest(stage))];
}

interface UploadRecord {
  uploadId: string;
  status: string;
  job: string;
  total: number;
  promoted: number;
  failed: number;
}

async function examineRecords({ database, reports }: UploadEvidence): Promise<string[]> {
  const rows = await database.owner<UploadRecord>(
    `select u.upload_id as "uploadId", u.status, j.status as job, u.total_rows as total,
            u.promoted_rows as promoted, u.failed_rows as failed, u.error_code as code, u.error_text as text
       from data_uploads u
       left join ingestion_jobs j using (tenant_id, job_id)`,
  );
  const found = new Map(rows.map((row) => [row.uploadId, row]));
  const sent = new Set(reports.map(({ uploadId }) => uploadId));
  const strangers = rows.filter(({ uploadId }) => !sent.has(uploadId));
  return [
    ...strangers.map(({ uploadId }) => `upload ${uploadId} is there, and no answer named it`),
    ...reports.flatMap(({ uploadId, name, size }) => {
      const row = found.get(uploadId);
      if (!row) return [`upload ${uploadId} of ${name} was acknowledged and is lost`];
      const isRight =
        row.status === 'completed' &&
        row.job === 'success' &&
        row.total === size.rows &&
        row.promoted === size.rows &&
        row.failed === 0;
      return isRight ? [] : [`${name} of ${size.rows} rows ended as ${JSON.stringify(row)}`];
    }),
  ];
}

const eventsOfOne = {
  'ingestion.complete': 1,
  'upload.completed': 1,
  'upload.pending': 1,
  'upload.processing': 1,
  'upload.promoting': 1,
  'upload.staging_complete': 1,
};

async function examineEvents({ database, reports }: UploadEvidence): Promise<string[]> {
  const rows = await database.owner<{ subject: string; events: Record<string, number> }>(
    `select subject, json_object_agg(type, count order by type) as events
       from (select subject, type, count(*)
               from events
              where type like 'upload.%' or type = 'ingestion.complete'
              group by subject, type) e
      group by subject`,
  );
  const found = new Map(rows.map(({ subject, events }) => [subject, events]));
  return reports.flatMap(({ uploadId, name }) => {
    const events = found.get(uploadId) ?? {};
    return isDeepStrictEqual(events, eventsOfOne)
      ? []
      : [`${name} has the events ${JSON.stringify(events)} instead of each once`];
  });
}

type FoundFact = ExpectedFact & Record<'platform' | 'campaign' | 'adSet' | 'ad' | 'day', string | null>;

function readFacts({ database }: UploadEvidence, tenantId: string): Promise<FoundFact[]> {
  return database.owner<FoundFact>(
    `select m.platform, c.external_id as campaign, s.external_id as "adSet", a.external_id as ad,
            m.metric_date::text as day, m.impressions::text, m.clicks::text,
            m.link_clicks::text as "linkClicks", m.reach::text,
            trim_scale(m.spend)::text as spend, trim_scale(m.conversions)::text as conversions,
            trim_scale(m.conversion_value)::text as "conversionValue", m.currency
       from daily_metrics m
       left join campaigns c using (tenant_id, campaign_id)
       left join ad_sets s using (tenant_id, ad_set_id)
       left join ads a using (tenant_id, ad_id)
      where m.tenant_id = $1`,
    [tenantId],
  );
}

function compareFacts(
  tenantId: string,
  found: readonly FoundFact[],
  expected: Map<string, ExpectedFact>,
): string[] {
  const left = new Map(expected);
  const wrong = found.flatMap(({ platform, campaign, adSet, ad, day, ...figures }) => {
    const key = factKey([platform, campaign, adSet, ad, day]);
    const wanted = left.get(key);
    left.delete(key);
    if (!wanted) return [`${tenantId}: the fact ${key} is there twice or in no report`];
    return isDeepStrictEqual({ ...figures }, { ...wanted })
      ? []
      : [`${tenantId}: ${key} is ${JSON.stringify(figures)} instead of ${JSON.stringify(wanted)}`];
  });
  return [...wrong, ...[...left.keys()].map((key) => `${tenantId}: the fact ${key} is lost`)];
}

/** The API shows the same. */
async function examineView(
  stage: UploadEvidence,
  tenantId: string,
  reports: readonly SentReport[],
): Promise<string[]> {
  const breaches: string[] = [];
  for (const { uploadId, name, size } of reports) {
    const { body } = await stage.ask(tenantId, 'GET', `/api/uploads/${uploadId}`, [200]);
    if (body.status !== 'completed' || body.promoted_rows !== size.rows)
      breaches.push(`${name} is shown as ${JSON.stringify(body)}`);
  }
  return breaches;
}

/** Nothing is leased any more. */
async function examineRest({ database }: UploadEvidence): Promise<string[]> {
  const slots = await database.owner<{ uploadId: string }>(
    'select upload_id as "uploadId" from upload_slots where upload_id is not null',
  );
  return slots.map(({ uploadId }) => `a slot is still held by upload ${uploadId}`);
}
