import { metaToken } from '../support/fakes/fake-meta-insights.ts';
import type { ReportingServer } from '../support/fakes/reporting-server.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface PullAnswers {
  jobId: string;
}

/** One slice at a time, so that runs have the same points; a prepared report is looked at soon. */
export const pullEnv = {
  LEASE_MS: '1000',
  SLUICE_WORKER_CONCURRENCY: '1',
  PULL_POLL_SECONDS: '0.2',
  PULL_RETRY_BASE_SECONDS: '0.1',
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  SLUICE_SECRET_KEY: 'ab'.repeat(32),
};

const pulledDays = { from: '2026-03-01', to: '2026-03-04' };

/** From the request for a pull, through the prepared report and its pages, to the event that says what arrived. */
export function pullPath(servers: FailpointServers, fake: () => ReportingServer): CrashPath<PullAnswers> {
  return {
    async prepare(tenantId, server) {
      await servers.query(
        `insert into workspaces (tenant_id, workspace_id, name) values ($1, gen_random_uuid(), 'Main')`,
        [tenantId],
      );
      const secret = { value: metaToken, hosts: [fake().host] };
      await send(server, tenantId, { method: 'PUT', path: '/api/secrets/meta', body: secret });
      const place = {
        ...{ kind: 'meta', account_id: '1234567890', access_token_secret: 'meta' },
        endpoint: fake().url,
      };
      const body = { name: 'Shop', workspace_id: await idOf(servers, tenantId, 'workspace'), place };
      await send(server, tenantId, { method: 'POST', path: '/api/uploads/sources', body });
    },
    take: (server, tenantId) => pullOnce(servers, server, tenantId),
    async check(_server, tenantId) {
      const [found] = await servers.query<Record<string, unknown>>(recount, [tenantId]);
      return differences(found ?? {}, expected(fake()));
    },
  };
}

interface Request {
  method: string;
  path: string;
  body: object;
}

async function send(
  server: FailpointServer,
  tenantId: string,
  { method, path, body }: Request,
): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await server.call(tenantId, path, { method, headers, body: JSON.stringify(body) });
  if (answer === null || answer.status >= 300)
    throw new Error(`${path} was answered: ${JSON.stringify(answer)}`);
}

const ids = {
  workspace: 'select workspace_id as id from workspaces where tenant_id = $1',
  source: 'select source_id as id from upload_sources where tenant_id = $1',
};

async function idOf(servers: FailpointServers, tenantId: string, what: keyof typeof ids): Promise<string> {
  const [row] = await servers.query<{ id: string }>(ids[what], [tenantId]);
  return row?.id ?? '';
}

async function pullOnce(
  servers: FailpointServers,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<PullAnswers>> {
  const answer = await server.call(
    tenantId,
    `/api/uploads/sources/${await idOf(servers, tenantId, 'source')}/pull`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'the-one-pull' },
      body: JSON.stringify({ date_from: pulledDays.from, date_to: pulledDays.to }),
    },
  );
  if (answer === null) return {};
  if (answer.status !== 202) throw new Error(`The pull was answered with ${answer.status}: ${answer.text}`);
  const isOver = async () => {
    const jobs = await servers.query<{ status: string }>(
      'select status from ingestion_jobs where tenant_id = $1',
      [tenantId],
    );
    return jobs.length >= 2 && jobs.every(({ status }) => ['success', 'dead_letter'].includes(status));
  };
  await untilOverOrDead(server, { isOver, what: 'the pull and its upload are over' });
  return { jobId: (JSON.parse(answer.text) as { job_id: string }).job_id };
}

/** By the books of the platform. */
function expected({ account }: ReportingServer) {
  const { impressions, spend, conversions } = account.sums(pulledDays.from, pulledDays.to);
  return {
    jobs: { pulls: 'success', uploads: 'success' },
    uploads: [{ status: 'completed', origin: 'pull', agrees: true }],
    stored: { impressions, spend: spend.toFixed(2), conversions },
    contents: 1,
    events: 1,
    result: 'Pulled 2026-03-01 to 2026-03-04: one upload',
  };
}

const recount = `
  select
    (select json_object_agg(pipeline, status) from ingestion_jobs where tenant_id = $1) as jobs,
    (select coalesce(json_agg(json_build_object(
              'status', status, 'origin', origin, 'agrees', reconciliation -> 'agrees')), '[]')
       from data_uploads where tenant_id = $1) as uploads,
    (select json_build_object('impressions', sum(impressions), 'spend', sum(spend)::numeric(12, 2)::text,
                              'conversions', sum(conversions))
       from daily_metrics where tenant_id = $1) as stored,
    (select count(*)::integer from upload_source_contents where tenant_id = $1) as contents,
    (select count(*)::integer from events where tenant_id = $1 and type = 'ingestion.complete') as events,
    (select last_result ->> 'message' from upload_sources where tenant_id = $1) as result`;
