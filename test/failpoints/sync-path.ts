import { createHash } from 'node:crypto';
import type { FakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface SyncAnswers {
  jobId: string;
}

/** Nothing waits longer than it must, and one slice runs at a time, so that runs have the same points. */
export const syncSettings = {
  SLUICE_WORKER_CONCURRENCY: '1',
  SYNC_POLL_SECONDS: '1',
  SYNC_MIN_INTERVAL_SECONDS: '0',
  SYNC_RETRY_BASE_SECONDS: '0',
  SYNC_LOST_TRIGGER_SECONDS: '1',
};

/** One connector, synced by hand: asked for, triggered, polled, done. */
export function syncPath(servers: FailpointServers, airbyte: () => FakeAirbyte): CrashPath<SyncAnswers> {
  return {
    async prepare(tenantId) {
      airbyte().addConnection({
        connectionId: connectionOf(tenantId),
        plan: { statuses: ['succeeded'], rows: 3 },
      });
      await servers.query(
        `insert into connectors (tenant_id, connector_id, name, airbyte_connection_id, external_account_id,
           next_sync_at, planned_for, created_by)
         values ($1, 'the-shop', 'The shop', $2, $1, now() + interval '1 day', 'free', 'test')`,
        [tenantId, connectionOf(tenantId)],
      );
    },
    take: (server, tenantId) => {
      // By the time that somebody looks again, what the dead process triggered has ended: no 409 tells of it any more.
      for (const { runId } of airbyte().jobsOf(connectionOf(tenantId))) airbyte().finish(String(runId));
      return takeSync(servers, server, tenantId);
    },
    async check(_server, tenantId, { jobId }) {
      const found = await recount(servers, tenantId);
      const runs = airbyte().jobsOf(connectionOf(tenantId));
      return differences(
        { ...found, runs: runs.length },
        {
          jobs: [{ job_id: jobId, status: 'success', run_id: String(runs[0]?.runId) }],
          completed: 1,
          triggered: 1,
          runs: 1,
        },
      );
    },
  };
}

/** A UUID, as Airbyte's ids are: the same for the same tenant. */
const connectionOf = (tenantId: string) => {
  const hex = createHash('sha256').update(tenantId).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

async function takeSync(
  servers: FailpointServers,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<SyncAnswers>> {
  const answer = await server.call(tenantId, '/api/connectors/the-shop/sync', {
    method: 'POST',
    headers: { 'idempotency-key': 'the-sync' },
  });
  if (answer === null) return {};
  if (answer.status !== 202) throw new Error(`The sync was answered with ${answer.status}: ${answer.text}`);
  const { job_id: jobId } = JSON.parse(answer.text) as { job_id: string };
  const isOver = async () => {
    const [job] = await servers.query<{ status: string }>(
      'select status from ingestion_jobs where tenant_id = $1 and job_id = $2',
      [tenantId, jobId],
    );
    return job?.status === 'success';
  };
  await untilOverOrDead(server, { isOver, what: 'the sync is over' });
  return { jobId };
}

async function recount(servers: FailpointServers, tenantId: string) {
  const jobs = await servers.query('select job_id, status, run_id from ingestion_jobs where tenant_id = $1', [
    tenantId,
  ]);
  const [events] = await servers.query<{ completed: string; triggered: string }>(
    `select count(*) filter (where type = 'job.completed') as completed,
            count(*) filter (where type = 'sync.triggered') as triggered
       from events
      where tenant_id = $1`,
    [tenantId],
  );
  return { jobs, completed: Number(events?.completed), triggered: Number(events?.triggered) };
}
