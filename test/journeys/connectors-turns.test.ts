import { expect, test } from 'vitest';
import { useSyncs } from '../support/servers/sync-server.ts';
import { quickPolicy } from '../support/worlds/connector-house.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const database = useDatabase();
// No sync is due a second time within the test: polling one twice takes the turn of one that still waits.
const policy = { ...quickPolicy, pollMs: 3_600_000 };
const limits = { airbyteConcurrency: 3, airbyteRequestsPerSecond: 60 };
const syncs = useSyncs(database, { policy, ...limits });

test('many syncs are polled in turn, with few requests at a time and no more per second than allowed', {
  timeout: 120_000,
}, async () => {
  const tenantId = await newTenant(database, 'enterprise');
  const count = 120;
  const connections = Array.from({ length: count }, () =>
    syncs.airbyte.addConnection({ plan: { statuses: ['running'] } }),
  );
  await database.owner(
    `insert into connectors (tenant_id, connector_id, name, airbyte_connection_id, external_account_id,
       next_sync_at, planned_for, created_by)
     select $1, id, 'Many', id, id, now() + interval '1 day', 'enterprise', 'test'
       from unnest($2::text[]) id`,
    [tenantId, connections.map(({ connectionId }) => connectionId)],
  );
  const runs = connections.map(({ connectionId }) =>
    syncs.airbyte.state.makeJob(connectionId, { status: 'running' }),
  );
  // As if they had been triggered a moment ago: what counts here is the polling.
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, connector_id, status, run_id, correlation_id,
       created_by, started_at, checkpoint)
     select $1, gen_random_uuid(), 'sync', c, c, 'running', r, c, 'test', now(),
            jsonb_build_object('run', jsonb_build_object('runId', r, 'followedSince', now(), 'isAdopted', false,
              'status', 'running'))
       from unnest($2::text[], $3::text[]) as s (c, r)`,
    [tenantId, connections.map(({ connectionId }) => connectionId), runs.map(({ runId }) => String(runId))],
  );
  syncs.airbyte.mostAtOnce = 0;
  const from = syncs.airbyte.requests.length;
  await eventually(
    async () => {
      await syncs.held.kernel.cycle({ budgetMs: 500, tenantId });
      return new Set(polls().map(({ connectionId }) => connectionId)).size === count;
    },
    'each sync is polled',
    60_000,
  );
  function polls() {
    return syncs.airbyte.requests.slice(from).filter(({ kind }) => kind === 'get_job');
  }
  expect(syncs.airbyte.mostAtOnce).toBeLessThanOrEqual(limits.airbyteConcurrency);
  const times = polls().map(({ atMs }) => atMs);
  for (const at of times) {
    const within = times.filter((other) => other >= at && other < at + 1_000).length;
    expect(within).toBeLessThanOrEqual(limits.airbyteRequestsPerSecond + limits.airbyteConcurrency);
  }
  // Whoever is turned away comes back in turn: nobody is forgotten, and nobody is polled instead of another one.
  const perSync = connections.map(
    ({ connectionId }) => polls().filter((one) => one.connectionId === connectionId).length,
  );
  expect(perSync).toEqual(connections.map(() => 1));
});
