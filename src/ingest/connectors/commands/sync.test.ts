import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FakeAirbyte } from '../../../../test/support/fakes/fake-airbyte.ts';
import {
  type CommandResult,
  type Running,
  useCommandLine,
} from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';
import type { Role } from '../../../kernel/tenancy/types.ts';

// Some of the commands run as separate processes.
vi.setConfig({ testTimeout: 90_000 });

const database = useDatabase();
const sluice = useCommandLine();
let airbyte: FakeAirbyte;
let server: Running;
let url = '';

beforeAll(async () => {
  airbyte = await FakeAirbyte.start();
  server = sluice.start(['serve'], { PORT: '0', ...environment() });
  url = await vi.waitFor(
    () => {
      const found = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
      expect(found, server.stderr()).not.toBe('');
      return found;
    },
    { timeout: 30_000, interval: 25 },
  );
}, 60_000);

afterAll(async () => {
  server.child.kill('SIGTERM');
  await server.ended;
  await airbyte.close();
});

function environment(): Record<string, string> {
  return {
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    AIRBYTE_BASE_URL: airbyte.url,
    AIRBYTE_CLIENT_ID: airbyte.settings.clientId,
    AIRBYTE_CLIENT_SECRET: airbyte.settings.clientSecret,
    SYNC_POLL_SECONDS: '1',
    SYNC_MIN_INTERVAL_SECONDS: '0',
    SYNC_RETRY_BASE_SECONDS: '0',
    POLL_MS: '100',
    LOG_LEVEL: 'debug',
  };
}

async function token(tenantId: string, role: Role = 'admin'): Promise<string> {
  return mintToken(testTokens, { tenantId, userId: 'a-user', role, lifetimeSeconds: 600 });
}

async function run(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.run(['sync', ...args], { SLUICE_URL: url, SLUICE_TOKEN: await token(tenantId) });
}

async function runHere(tenantId: string, ...args: string[]): Promise<CommandResult> {
  return sluice.runHere(['sync', ...args], { SLUICE_URL: url, SLUICE_TOKEN: await token(tenantId) });
}

async function enrol(
  tenantId: string,
  connectorId: string,
  statuses = ['running', 'succeeded'],
): Promise<void> {
  const { connectionId } = airbyte.addConnection({ plan: { statuses, rows: 12 } });
  const answer = await fetch(`${url}/api/connectors`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await token(tenantId)}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      connector_id: connectorId,
      name: 'The shop',
      airbyte_connection_id: connectionId,
      external_account_id: 'shop-456',
    }),
  });
  expect(answer.status).toBe(201);
}

test('a connector is listed, synced, followed to its end and found in the history', async () => {
  const tenantId = await newTenant(database, 'growth');
  expect(await runHere(tenantId, 'list')).toMatchObject({ code: 0, stderr: 'There are no connectors.\n' });
  await enrol(tenantId, 'the-shop');
  const listed = await runHere(tenantId, 'list');
  expect(listed.stdout).toMatch(/^CONNECTOR +NAME +ACCOUNT +EVERY/);
  expect(listed.stdout).toMatch(/the-shop +The shop +shop-456 +6 h/);
  const synced = await run(tenantId, 'now', 'the-shop', '--watch', '--correlation-id', 'req-789');
  expect(synced).toMatchObject({ code: 0 });
  expect(synced.stdout).toContain('job.completed');
  const history = await runHere(tenantId, 'history', '--connector', 'the-shop', '--json');
  expect(JSON.parse(history.stdout)).toMatchObject({
    data: [{ status: 'success', records_synced: 12, correlation_id: 'req-789' }],
  });
});

test('a sync that fails for good ends its watch with 1, and an unknown connector is reported', async () => {
  const tenantId = await newTenant(database);
  await enrol(tenantId, 'the-shop', ['failed']);
  const started = await runHere(tenantId, 'now', 'the-shop', '--json');
  const { job_id: jobId } = JSON.parse(started.stdout) as { job_id: string };
  expect(await runHere(tenantId, 'watch', jobId)).toMatchObject({ code: 1 });
  const history = await runHere(tenantId, 'history', '--status', 'dead_letter');
  expect(history.stdout).toContain('sync_failed');
  const missing = await runHere(tenantId, 'now', 'no-such');
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('There is no connector no-such');
});

test('the status lists what is missing', async () => {
  const tenantId = await newTenant(database);
  const { stdout } = await runHere(tenantId, 'status');
  expect(stdout).toContain(airbyte.url);
  expect(stdout).toMatch(/missing +AIRBYTE_WORKSPACE_ID/);
  expect(stdout).toMatch(/state +well/);
});

test('a cron’s cycle creates the jobs that are due, runs them and prints their number', async () => {
  const tenantId = await newTenant(database);
  await enrol(tenantId, 'the-shop');
  // In another tenant, so that the server's worker does not run it first.
  server.child.kill('SIGSTOP');
  try {
    await database.owner(
      `update connectors set next_sync_at = now() - interval '1 hour' where tenant_id = $1`,
      [tenantId],
    );
    const cycle = await sluice.run(['worker', '--once', '--budget', '20'], environment());
    expect(cycle.code, cycle.stderr).toBe(0);
    expect(JSON.parse(cycle.stdout)).toEqual({ queued_processed: 1, retry_processed: 0 });
  } finally {
    server.child.kill('SIGCONT');
  }
  const rows = await database.owner<{ run_id: string }>(
    `select run_id from ingestion_jobs where tenant_id = $1 and pipeline = 'sync'`,
    [tenantId],
  );
  expect(rows).toEqual([{ run_id: expect.any(String) }]);
});

test('no process has written a secret of Airbyte’s to its log', () => {
  const secrets = [
    airbyte.settings.clientSecret,
    ...airbyte.authorizations.map((one) => one.replace('Bearer ', '')),
  ];
  expect(secrets.length).toBeGreaterThan(1);
  const log = server.stdout() + server.stderr();
  expect(log).toContain('request');
  expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
});
