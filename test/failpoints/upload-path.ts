import { isDeepStrictEqual } from 'node:util';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { sweepOrphans } from '../../src/kernel/files/service.ts';
import type { Files } from '../../src/kernel/files/types.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface UploadAnswers {
  uploadId: string;
}

const header =
  'Campaign name,Campaign ID,Ad set name,Ad set ID,Ad name,Ad ID,Day,Impressions,Clicks (all),Amount spent (USD)';
const lineCount = 30;
const badLine = 17;

interface Line {
  adSet: string;
  ad: string;
  day: string;
  impressions: number;
  clicks: number;
  spend: string;
}

const lines: Line[] = Array.from({ length: lineCount }, (_, n) => ({
  adSet: `12021000000000001${n % 3}`,
  ad: `1202100000000001${10 + (n % 15)}`,
  day: n === badLine ? 'not a day' : `2026-03-${n < 15 ? '01' : '02'}`,
  impressions: 100 + n,
  clicks: n,
  spend: `${n}.25`,
}));
const validLines = lines.filter((_, n) => n !== badLine);
const report = `${[
  header,
  ...lines.map(({ adSet, ad, day, impressions, clicks, spend }) =>
    [
      'Spring',
      '120210000000000001',
      `Set ${adSet}`,
      adSet,
      `Ad ${ad}`,
      ad,
      day,
      impressions,
      clicks,
      spend,
    ].join(),
  ),
].join('\n')}\n`;

/** From the request with the file to the event that says what arrived. */
export function uploadPath(
  database: TestDatabase,
  servers: FailpointServers,
): CrashPath<UploadAnswers> & { readonly orphans: number } {
  let orphans = 0;
  return {
    get orphans() {
      return orphans;
    },
    async prepare(tenantId) {
      await servers.query(
        `insert into workspaces (tenant_id, workspace_id, name) values ($1, gen_random_uuid(), 'Main')`,
        [tenantId],
      );
    },
    take: (server, tenantId) => upload(servers, server, tenantId),
    async check(server, tenantId, { uploadId }) {
      const files = createFiles({ filesBackend: 'local', dataDir: servers.dataDir });
      const sweep = { db: database.db, files };
      // The product deletes only what is older than an hour; nothing else runs here.
      orphans += (await sweepOrphans(sweep, { olderThanMs: -3_600_000 })).removed;
      const { storageKeys, ...found } = await recount(servers, tenantId);
      return [
        ...differences(found, expected(uploadId)),
        ...(await checkStored(servers, { files, tenantId, storageKeys })),
        ...(await checkVisible(server, { tenantId, uploadId })),
      ];
    },
  };
}

/** With its key, as often as it is asked to; then until the work is over or the server is dead. */
async function upload(
  servers: FailpointServers,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<UploadAnswers>> {
  const [workspace] = await servers.query<{ id: string }>(
    'select workspace_id as id from workspaces where tenant_id = $1',
    [tenantId],
  );
  const answer = await server.call(tenantId, '/api/uploads', {
    method: 'POST',
    headers: { 'idempotency-key': 'the-one-upload' },
    body: uploadForm(report, { workspace_id: workspace?.id ?? '' }),
  });
  if (answer === null) return {};
  if (answer.status !== 201) throw new Error(`The upload was answered with ${answer.status}: ${answer.text}`);
  await untilOverOrDead(server, { isOver: () => isOver(servers, tenantId), what: 'the upload is over' });
  return { uploadId: (JSON.parse(answer.text) as { upload_id: string }).upload_id };
}

async function isOver(servers: FailpointServers, tenantId: string): Promise<boolean> {
  const jobs = await servers.query<{ status: string }>(
    'select status from ingestion_jobs where tenant_id = $1',
    [tenantId],
  );
  return jobs.length > 0 && jobs.every(({ status }) => ['success', 'dead_letter'].includes(status));
}

function expected(uploadId: string) {
  const valid = validLines.length;
  const [adSets, ads] = [
    new Set(lines.map((line) => line.adSet)),
    new Set(validLines.map((line) => line.ad)),
  ];
  return {
    uploads: [
      { uploadId, status: 'partial', total: lineCount, valid, invalid: 1, promoted: valid, failed: 1 },
    ],
    jobs: [{ status: 'success', leased: false }],
    dimensions: { campaigns: 1, adSets: adSets.size, ads: ads.size },
    metrics: validLines.map((line) => ({ ...line, currency: 'USD' })).sort(byDayAndAd),
    staged: { ad: ads.size, ad_set: adSets.size, campaign: 1, daily_metric: valid, invalid: 1 },
    slotsHeld: 0,
    events: {
      'ingestion.complete': 1,
      'job.completed': 1,
      'upload.partial': 1,
      'upload.pending': 1,
      'upload.processing': 1,
      'upload.promoting': 1,
      'upload.staging_complete': 1,
    },
    told: [{ promoted_rows: valid, daily_metrics_upserted: valid }],
  };
}

type Expected = ReturnType<typeof expected>;

function byDayAndAd(a: Line, b: Line): number {
  return a.day + a.ad < b.day + b.ad ? -1 : 1;
}

async function recount(
  servers: FailpointServers,
  tenantId: string,
): Promise<Expected & { storageKeys: string[] }> {
  const [found] = await servers.query<Expected & { storageKeys: string[] }>(recountQuery, [tenantId]);
  if (!found) throw new Error('The recount gave no row');
  return found;
}

const recountQuery = `
  select
    (select coalesce(json_agg(json_build_object(
              'uploadId', upload_id, 'status', status, 'total', total_rows, 'valid', valid_rows,
              'invalid', invalid_rows, 'promoted', promoted_rows, 'failed', failed_rows)), '[]')
       from data_uploads where tenant_id = $1) as uploads,
    (select coalesce(json_agg(json_build_object('status', status, 'leased', leased_by is not null)), '[]')
       from ingestion_jobs where tenant_id = $1) as jobs,
    json_build_object(
      'campaigns', (select count(*) from campaigns where tenant_id = $1),
      'adSets', (select count(*) from ad_sets where tenant_id = $1),
      'ads', (select count(*) from ads where tenant_id = $1)) as dimensions,
    (select coalesce(json_agg(json_build_object(
              'adSet', s.external_id, 'ad', a.external_id, 'day', m.metric_date, 'impressions', m.impressions,
              'clicks', m.clicks, 'spend', m.spend::text, 'currency', m.currency)
              order by m.metric_date, a.external_id), '[]')
       from daily_metrics m
       left join ads a using (tenant_id, ad_id)
       left join ad_sets s on s.tenant_id = m.tenant_id and s.ad_set_id = m.ad_set_id
      where m.tenant_id = $1) as metrics,
    (select coalesce(json_object_agg(kind, count order by kind), '{}')
       from (select case validation_status when 'invalid' then 'invalid' else entity_type end as kind, count(*)
               from staging_rows where tenant_id = $1 group by 1) s) as staged,
    (select count(*)::integer from upload_slots where tenant_id = $1 and upload_id is not null) as "slotsHeld",
    (select coalesce(json_object_agg(type, count order by type), '{}')
       from (select type, count(*)
               from events
              where tenant_id = $1
                and (type like 'upload.%' or type in ('ingestion.complete', 'job.completed'))
              group by type) e) as events,
    (select coalesce(json_agg(json_build_object(
              'promoted_rows', data -> 'metrics' -> 'promoted_rows',
              'daily_metrics_upserted', data -> 'metrics' -> 'daily_metrics_upserted')), '[]')
       from events where tenant_id = $1 and type = 'ingestion.complete') as told,
    (select coalesce(json_agg(storage_key), '[]') from files where tenant_id = $1) as "storageKeys"`;

/** One row with its bytes, and after the sweep no bytes that no row names. */
async function checkStored(
  servers: FailpointServers,
  { files, tenantId, storageKeys }: { files: Files; tenantId: string; storageKeys: string[] },
): Promise<string[]> {
  if (storageKeys.length !== 1) return [`there are ${storageKeys.length} files of ${tenantId}`];
  const stored: string[] = [];
  for await (const one of files.listOlderThan(-3_600_000))
    stored.push(one.kind === 'stored' ? one.storageKey : 'tmp');
  const named = await servers.query<{ key: string }>('select storage_key as key from files');
  const isSame = isDeepStrictEqual(stored.sort(), named.map(({ key }) => key).sort());
  return isSame ? [] : [`${stored.length} files are stored and ${named.length} are named`];
}

async function checkVisible(
  server: FailpointServer,
  { tenantId, uploadId }: { tenantId: string; uploadId: string },
): Promise<string[]> {
  const answer = await server.call(tenantId, '/api/uploads', {});
  const { data } = JSON.parse(answer?.text ?? '{"data":[]}') as { data: { upload_id: string }[] };
  const ids = data.map((one) => one.upload_id);
  return isDeepStrictEqual(ids, [uploadId]) ? [] : [`the client sees the uploads ${ids.join(', ')}`];
}
