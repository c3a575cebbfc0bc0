import { describe, expect, test } from 'vitest';
import { quickPolicy } from '../connector-house.ts';
import { newTenant, useDatabase } from '../database.ts';
import { eventually } from '../kernel.ts';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../sync-server.ts';

const database = useDatabase();
// Windows of an hour: what waits in a test waits for its limit, however slow the machine is.
const policy = { ...quickPolicy, minIntervalMs: 3_600_000, accountLimit: 3, accountWindowMs: 3_600_000 };
const limits = { airbyteConcurrency: 3, airbyteRequestsPerSecond: 60 };
const syncs = useSyncs(database, { policy, ...limits });

const triggersOf = (sync: TestSync) =>
  syncs.airbyte.requestsOf('trigger', sync.connection.connectionId).length;

/** As if an hour had passed since the last triggers under this key. */
async function anHourLater(key: string): Promise<void> {
  await database.owner(
    `update rate_limits set moments = array(select m - interval '1 hour' from unnest(moments) m) where key = $1`,
    [key],
  );
  await database.owner(
    `update ingestion_jobs set run_at = now() where status = 'running' and leased_by is null`,
  );
}

const isSettled = (seen: Answer) => hasEnded(seen) || seen.waiting_for === 'rate_limit';

describe('triggers', () => {
  test('of one connector are at least the interval apart, and waiting uses no retry', async () => {
    const sync = await syncs.connector();
    await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    const jobId = await syncs.start(sync);
    const waiting = await syncs.driveUntil(sync, jobId, isSettled);
    expect(waiting).toMatchObject({ status: 'running', waiting_for: 'rate_limit', run_id: null });
    expect(triggersOf(sync)).toBe(1);
    const [row] = await database.owner<{ minutes: number }>(
      `select extract(epoch from run_at - now())::int / 60 as minutes from ingestion_jobs where job_id = $1`,
      [jobId],
    );
    expect(row?.minutes).toBeGreaterThanOrEqual(58);
    await anHourLater(`connector:${sync.tenantId}:${sync.connectorId}`);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 0 });
    expect(triggersOf(sync)).toBe(2);
  });

  test('of one external account keep its limit together, over tenants and connectors', async () => {
    const account = 'an account that two tenants use';
    const tenants = [await newTenant(database, 'enterprise'), await newTenant(database, 'enterprise')];
    const all: { sync: TestSync; jobId: string }[] = [];
    for (let n = 0; n < 8; n += 1) {
      const tenantId = tenants[n % 2] as string;
      const sync = await syncs.connector({ tenantId, external_account_id: account });
      all.push({ sync, jobId: await syncs.start(sync) });
    }
    for (const triggered of [3, 6, 8]) {
      for (const { sync, jobId } of all) {
        expect(await syncs.driveUntil(sync, jobId, isSettled)).toMatchObject({ retry_count: 0 });
      }
      expect(all.reduce((sum, { sync }) => sum + triggersOf(sync), 0)).toBe(triggered);
      await anHourLater(`account:${account}`);
    }
  });
});

test('many syncs are polled with few requests at a time and no more per second than allowed', {
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
  // Whoever is turned away comes back in turn: nobody is polled much more often than the others.
  const perSync = connections.map(
    ({ connectionId }) => polls().filter((one) => one.connectionId === connectionId).length,
  );
  expect(Math.max(...perSync)).toBeLessThanOrEqual(20);
});
