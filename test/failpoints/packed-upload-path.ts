import { createFiles } from '../../src/kernel/files/backends.ts';
import { sweepOrphans } from '../../src/kernel/files/service.ts';
import { cell, row, textRow, workbookOf } from '../generators/workbook.ts';
import { zipOf } from '../generators/zip-archive.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface PackedAnswers {
  /** In order, separated by commas: answers are compared as texts. */
  uploadIds: string;
}

const headings = ['Campaign name', 'Campaign ID', 'Day', 'Age', 'Impressions', 'Amount spent (EUR)'];
const ages = ['18-24', '25-34', '35-44', '45-54', '55-64', '65+'];
const days = ['2026-03-01', '2026-03-02', '2026-03-03'];
const ids = ['120210000000000001', '120210000000000002'];

/** The lines of the broken-down report; spend in cents. */
const lines = ids.flatMap((id, campaign) =>
  days.flatMap((day, at) =>
    ages.map((age, step) => ({ id, day, age, impressions: 10 * step + campaign, spend: 100 * at + step })),
  ),
);

const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
const workbook = workbookOf({
  sheets: [
    {
      name: 'Raw Data Report',
      rows:
        textRow(...headings) +
        lines
          .map(({ id, day, age, impressions, spend }) =>
            row(
              text(`Campaign ${id}`),
              text(id),
              text(day),
              text(age),
              cell(String(impressions)),
              cell(String(spend / 100)),
            ),
          )
          .join(''),
    },
  ],
});
const plain =
  'Campaign name,Campaign ID,Day,Impressions,Amount spent (EUR)\n' +
  'Other,120210000000000009,2026-03-01,77,0.50\n';
const archive = zipOf([
  { name: 'by-age.xlsx', content: workbook },
  { name: '__MACOSX/._by-age.xlsx', content: Buffer.from([0, 5, 22, 7]) },
  { name: 'plain.csv', content: plain },
]);

/** An archive of a broken-down workbook and a plain report, from the request to the events. */
export function packedUploadPath(
  database: TestDatabase,
  servers: FailpointServers,
): CrashPath<PackedAnswers> & { readonly orphans: number } {
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
    take: (server, tenantId) => send(servers, server, tenantId),
    async check(_server, tenantId, { uploadIds }) {
      const files = createFiles({ filesBackend: 'local', dataDir: servers.dataDir });
      // The product deletes only what is older than an hour; nothing else runs here.
      orphans += (await sweepOrphans({ db: database.db, files }, { olderThanMs: -3_600_000 })).removed;
      const { storageKeys, ...found } = await recount(servers, tenantId);
      const missing: string[] = [];
      for (const key of storageKeys)
        if (!(await files.exists(key))) missing.push(`the bytes of ${key} are gone`);
      return [...differences(found, expected(uploadIds.split(','))), ...missing];
    },
  };
}

async function send(
  servers: FailpointServers,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<PackedAnswers>> {
  const [workspace] = await servers.query<{ id: string }>(
    'select workspace_id as id from workspaces where tenant_id = $1',
    [tenantId],
  );
  const answer = await server.call(tenantId, '/api/uploads', {
    method: 'POST',
    headers: { 'idempotency-key': 'the-one-archive' },
    body: uploadForm(archive, { workspace_id: workspace?.id ?? '' }, 'reports.zip'),
  });
  if (answer === null) return {};
  if (answer.status !== 201)
    throw new Error(`The archive was answered with ${answer.status}: ${answer.text}`);
  const isOver = async () => {
    const jobs = await servers.query<{ status: string }>(
      'select status from ingestion_jobs where tenant_id = $1',
      [tenantId],
    );
    return jobs.length > 0 && jobs.every(({ status }) => ['success', 'dead_letter'].includes(status));
  };
  await untilOverOrDead(server, { isOver, what: 'the uploads are over' });
  const { uploads } = JSON.parse(answer.text) as { uploads: { upload_id: string }[] };
  return { uploadIds: uploads.map(({ upload_id: id }) => id).join() };
}

const decimal = (cents: number) => (cents / 100).toFixed(2);

function expected(uploadIds: string[]) {
  const [broken = '', other = ''] = uploadIds;
  const facts = ids.flatMap((campaign) =>
    days.map((day) => {
      const own = lines.filter((line) => line.id === campaign && line.day === day);
      const sum = (pick: (line: (typeof lines)[number]) => number) =>
        own.reduce((total, line) => total + pick(line), 0);
      return {
        campaign,
        day,
        impressions: sum(({ impressions }) => impressions),
        spend: decimal(sum(({ spend }) => spend)),
        breakdowns: ages.length,
        ofBreakdowns: decimal(sum(({ spend }) => spend)),
      };
    }),
  );
  const total = decimal(lines.reduce((sum, { spend }) => sum + spend, 0));
  return {
    uploads: [
      { uploadId: broken, status: 'completed', promoted: lines.length, agrees: true, spend: total },
      { uploadId: other, status: 'completed', promoted: 1, agrees: true, spend: '0.50' },
    ],
    facts: [
      ...facts,
      {
        campaign: '120210000000000009',
        day: '2026-03-01',
        impressions: 77,
        spend: '0.50',
        breakdowns: 0,
        ofBreakdowns: null,
      },
    ],
    events: 2,
    slotsHeld: 0,
    files: 2,
  };
}

type Expected = ReturnType<typeof expected>;

async function recount(servers: FailpointServers, tenantId: string) {
  const [found] = await servers.query<Expected & { storageKeys: string[] }>(recountQuery, [tenantId]);
  if (!found) throw new Error('The recount gave no row');
  return found;
}

const recountQuery = `
  select
    (select coalesce(json_agg(json_build_object(
              'uploadId', upload_id, 'status', status, 'promoted', promoted_rows,
              'agrees', reconciliation -> 'agrees',
              'spend', (reconciliation -> 'figures' -> 'spend' ->> 'promoted')::numeric(12, 2)::text)
              order by created_at), '[]')
       from data_uploads where tenant_id = $1) as uploads,
    (select coalesce(json_agg(json_build_object(
              'campaign', c.external_id, 'day', m.metric_date, 'impressions', m.impressions,
              'spend', m.spend::numeric(12, 2)::text, 'breakdowns', b.n, 'ofBreakdowns', b.spend::numeric(12, 2)::text)
              order by c.external_id, m.metric_date), '[]')
       from daily_metrics m
       join campaigns c using (tenant_id, campaign_id)
       cross join lateral (
         select count(*) as n, sum(spend) as spend
           from metric_breakdowns x
          where x.tenant_id = m.tenant_id and x.campaign_id = m.campaign_id and x.date_from = m.metric_date) b
      where m.tenant_id = $1) as facts,
    (select count(*)::integer from events where tenant_id = $1 and type = 'ingestion.complete') as events,
    (select count(*)::integer from upload_slots where tenant_id = $1 and upload_id is not null) as "slotsHeld",
    (select count(*)::integer from files where tenant_id = $1) as files,
    (select coalesce(json_agg(storage_key), '[]') from files where tenant_id = $1) as "storageKeys"`;
