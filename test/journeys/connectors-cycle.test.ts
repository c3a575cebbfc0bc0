import { afterAll, beforeAll, expect, test } from 'vitest';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { installationEnv, startServer } from '../chaos/items-stage.ts';
import { FakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const sluice = useCommandLine();
const database = useDatabase();
let airbyte: FakeAirbyte;
let url = '';

beforeAll(async () => {
  airbyte = await FakeAirbyte.start();
  // Its own worker is off, as with a cron that requests cycles.
  const server = await startServer(sluice, {
    ...installationEnv(database, { leaseMs: 30_000 }),
    AIRBYTE_BASE_URL: airbyte.url,
    AIRBYTE_API_TOKEN: airbyte.settings.fixedToken,
  });
  url = server.url;
});
afterAll(() => airbyte?.close());

async function newDueConnector(): Promise<string> {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into connectors (tenant_id, connector_id, name, airbyte_connection_id, external_account_id,
       next_sync_at, planned_for, created_by)
     values ($1, 'the-shop', 'The shop', $2, $1, now() - interval '1 minute', 'free', 'test')`,
    [tenantId, airbyte.addConnection().connectionId],
  );
  return tenantId;
}

async function cycle(tenantId: string, role: 'service' | 'operator'): Promise<unknown> {
  const token = await mintToken(testTokens, { tenantId, userId: 'cron', role, lifetimeSeconds: 600 });
  const answer = await fetch(`${url}/api/worker/cycle?budget_seconds=20`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  return answer.json();
}

async function runsOf(tenantId: string): Promise<(string | null)[]> {
  const rows = await database.owner<{ runId: string | null }>(
    `select run_id as "runId" from ingestion_jobs where tenant_id = $1 and pipeline = 'sync'`,
    [tenantId],
  );
  return rows.map(({ runId }) => runId);
}

test('a cycle over HTTP syncs what is due, in the service’s own tenant or in all for an operator', async () => {
  const mine = await newDueConnector();
  const others = await newDueConnector();
  expect(await cycle(mine, 'service')).toEqual({ queued_processed: 1, retry_processed: 0 });
  expect(await runsOf(mine)).toEqual([expect.any(String)]);
  expect(await runsOf(others)).toEqual([]);
  expect(await cycle(mine, 'operator')).toEqual({ queued_processed: 1, retry_processed: 0 });
  expect(await runsOf(others)).toEqual([expect.any(String)]);
  // Nothing is due now.
  expect(await cycle(mine, 'operator')).toEqual({ queued_processed: 0, retry_processed: 0 });
});
