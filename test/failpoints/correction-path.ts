import { uploadForm } from '../support/servers/upload-server.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface CorrectionAnswers {
  uploadId: string;
  isPromoted: true;
}

export const correctionEnv = { LEASE_MS: '1000', SLUICE_WORKER_CONCURRENCY: '1' };

const header = 'Campaign name,Campaign ID,Day,Age,Impressions,Amount spent (EUR)';
const lines = [
  'A,1,2026-03-01,18-24,10,1.50',
  'A,1,2026-03-01,25-34,20,oops',
  'A,1,someday,18-24,30,3.25',
  'B,2,2026-03-02,18-24,40,4.00',
];
/** By row, from 0. */
const corrections = [
  { row_index: 1, cells: { 'Amount spent (EUR)': '2.25' } },
  { row_index: 2, cells: { Day: '2026-03-02' } },
];

/** A report with a breakdown is held, two of its cells are corrected, and it is promoted. */
export function correctionPath(servers: FailpointServers): CrashPath<CorrectionAnswers> {
  return {
    async prepare(tenantId) {
      await servers.query(
        `insert into workspaces (tenant_id, workspace_id, name) values ($1, gen_random_uuid(), 'Main')`,
        [tenantId],
      );
    },
    take: (server, tenantId) => correctAndPromote(servers, server, tenantId),
    async check(_server, tenantId) {
      const [found] = await servers.query<Record<string, unknown>>(recount, [tenantId]);
      return differences(found ?? {}, expected);
    },
  };
}

async function correctAndPromote(
  servers: FailpointServers,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<CorrectionAnswers>> {
  const [workspace] = await servers.query<{ id: string }>(
    'select workspace_id as id from workspaces where tenant_id = $1',
    [tenantId],
  );
  const answer = await server.call(tenantId, '/api/uploads', {
    method: 'POST',
    headers: { 'idempotency-key': 'the-one-report' },
    body: uploadForm(`${[header, ...lines].join('\n')}\n`, {
      workspace_id: workspace?.id ?? '',
      review: 'true',
    }),
  });
  if (answer === null) return {};
  if (answer.status !== 201) throw new Error(`The report was answered with ${answer.status}: ${answer.text}`);
  const { upload_id: uploadId } = JSON.parse(answer.text) as { upload_id: string };
  const read = async () => {
    const [row] = await servers.query<Record<string, unknown>>(
      `select status, valid_rows::integer as valid,
              (layout ->> 'mapping_version')::integer = mapping_version as "isRead"
         from data_uploads where tenant_id = $1`,
      [tenantId],
    );
    return row ?? {};
  };
  const isChecked = async () => {
    const { status, isRead } = await read();
    return isRead === true && !['pending', 'processing'].includes(String(status));
  };
  await untilOverOrDead(server, { isOver: isChecked, what: 'the report is read' });
  const post = (path: string, body: object) =>
    server.call(tenantId, `/api/uploads/${uploadId}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { status, valid } = await read();
  if (status === 'staging_complete' && Number(valid) < lines.length) {
    const corrected = await post('corrections', { rows: corrections });
    if (corrected === null) return { uploadId };
    if (corrected.status >= 300 && corrected.status !== 409)
      throw new Error(`The corrections were answered with ${corrected.status}: ${corrected.text}`);
  }
  const isValid = async () => {
    const now = await read();
    return now.status !== 'staging_complete' || (now.isRead === true && Number(now.valid) === lines.length);
  };
  await untilOverOrDead(server, { isOver: isValid, what: 'the corrected report is read' });
  const promoted = await post('promote', {});
  if (promoted === null) return { uploadId };
  // A promotion whose answer was cut off has begun already.
  if (promoted.status !== 202 && promoted.status !== 409)
    throw new Error(`The promotion was answered with ${promoted.status}: ${promoted.text}`);
  const isOver = async () => ['completed', 'partial', 'failed'].includes(String((await read()).status));
  await untilOverOrDead(server, { isOver, what: 'the upload is over' });
  return { uploadId, isPromoted: true };
}

/** The sums of the corrected lines, added up by hand. */
const expected = {
  upload: { status: 'completed', promoted: 4, agrees: true, spend: '11.00' },
  facts: [
    { campaign: '1', day: '2026-03-01', impressions: 30, spend: '3.75', parts: '3.75' },
    { campaign: '1', day: '2026-03-02', impressions: 30, spend: '3.25', parts: '3.25' },
    { campaign: '2', day: '2026-03-02', impressions: 40, spend: '4.00', parts: '4.00' },
  ],
  corrections: 2,
  events: 1,
};

const recount = `
  select
    (select json_build_object('status', status, 'promoted', promoted_rows, 'agrees', reconciliation -> 'agrees',
              'spend', (reconciliation -> 'figures' -> 'spend' ->> 'promoted')::numeric(12, 2)::text)
       from data_uploads where tenant_id = $1) as upload,
    (select coalesce(json_agg(json_build_object(
              'campaign', c.external_id, 'day', m.metric_date, 'impressions', m.impressions,
              'spend', m.spend::numeric(12, 2)::text, 'parts', b.spend::numeric(12, 2)::text)
              order by c.external_id, m.metric_date), '[]')
       from daily_metrics m
       join campaigns c using (tenant_id, campaign_id)
       cross join lateral (
         select sum(spend) as spend
           from metric_breakdowns x
          where x.tenant_id = m.tenant_id and x.campaign_id = m.campaign_id and x.date_from = m.metric_date) b
      where m.tenant_id = $1) as facts,
    (select count(*)::integer from upload_corrections where tenant_id = $1) as corrections,
    (select count(*)::integer from events where tenant_id = $1 and type = 'ingestion.complete') as events`;
