import { expect, test } from 'vitest';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { quickPolicy } from '../support/worlds/connector-house.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const database = useDatabase();
const secret = 'the secret of the webhook in the tests';
// Polling alone would take an hour: what ends within a test has ended because of the webhook.
const syncs = useSyncs(database, { policy: { ...quickPolicy, pollMs: 3_600_000 } });

function hook(body: unknown, address = secret): Promise<Response> {
  const text =
    typeof body === 'string'
      ? body
      : JSON.stringify(body, (_name, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner));
  return fetch(`${syncs.server.url}/api/hooks/airbyte/${encodeURIComponent(address)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: text,
  });
}

async function running(
  statuses = ['running'],
  rows: number | null = 4,
): Promise<{ sync: TestSync; jobId: string; runId: string }> {
  const sync = await syncs.connector({}, { plan: { statuses, rows } });
  const jobId = await syncs.start(sync);
  const seen = await syncs.driveUntil(sync, jobId, ({ run_id }) => run_id !== null);
  return { sync, jobId, runId: String(seen.run_id) };
}

test('a webhook makes the next poll come at once', async () => {
  const { sync, jobId, runId } = await running();
  await syncs.drive(sync.tenantId);
  expect(await syncs.get(sync, jobId)).toMatchObject({ status: 'running' });
  syncs.airbyte.finish(runId);
  expect((await hook(syncs.airbyte.state.notificationOf(runId))).status).toBe(200);
  expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
    status: 'success',
    records_synced: 4,
  });
});

test('a forged webhook ends nothing, because Airbyte itself is asked', async () => {
  const { sync, jobId, runId } = await running();
  const notice = syncs.airbyte.state.notificationOf(runId);
  await hook({ data: { ...notice.data, success: true, recordsCommitted: 1_000_000 } });
  const seen = await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'running');
  expect(seen).toMatchObject({ status: 'running', records_synced: null });
  expect(syncs.airbyte.requestsOf('get_job', sync.connection.connectionId)).toHaveLength(1);
});

test('the reason of a failure is taken from the webhook', async () => {
  const { sync, jobId, runId } = await running(['failed']);
  const failure = { errorMessage: 'The shop’s password was changed', errorType: 'system_error' };
  await hook(syncs.airbyte.state.notificationOf(runId, failure));
  const failed = await syncs.driveUntil(sync, jobId, ({ retry_count }) => retry_count === 1);
  expect(failed).toMatchObject({
    error_code: 'sync_failed',
    error_message: expect.stringContaining('The shop’s password was changed'),
    failure_reason: 'The shop’s password was changed',
  });
});

test('a secret in the reason of a failure reaches neither the database nor a response', async () => {
  const { sync, jobId, runId } = await running(['failed']);
  const token = syncs.airbyte.settings.fixedToken;
  // At the place where a long text is cut, too.
  const errorMessage = `401 for Bearer ${token.replace('-', '-\0')} ${'x'.repeat(1_950 - token.length)} ${token}`;
  await hook(syncs.airbyte.state.notificationOf(runId, { errorMessage, errorType: token }));
  const failed = await syncs.driveUntil(sync, jobId, ({ retry_count }) => retry_count === 1);
  expect(failed.failure_reason).toContain('401 for Bearer [redacted]');
  const stored = await database.owner(
    `select c.last_notice::text, j.checkpoint::text, j.error_message, e.data::text
       from connectors c
       join ingestion_jobs j on j.connector_id = c.connector_id
       join events e on e.subject = j.job_id::text
      where c.tenant_id = $1`,
    [sync.tenantId],
  );
  expect(stored.length).toBeGreaterThan(0);
  for (const text of [JSON.stringify(stored), JSON.stringify(failed)]) {
    expect(text).not.toContain(token.slice(0, 12));
  }
});

test('a secret that only the worker knows is removed when it reads the notice', async () => {
  const { sync, jobId, runId } = await running(['failed']);
  const token = syncs.airbyte.settings.fixedToken;
  await hook(syncs.airbyte.state.notificationOf(runId, { errorMessage: 'to be replaced' }));
  await database.owner(
    `update connectors set last_notice = jsonb_set(last_notice, '{errorMessage}', to_jsonb($2::text))
      where tenant_id = $1`,
    [sync.tenantId, `refused: ${token}`],
  );
  const failed = await syncs.driveUntil(sync, jobId, ({ retry_count }) => retry_count === 1);
  expect(failed).toMatchObject({ failure_reason: 'refused: [redacted]' });
  expect(String(failed.error_message)).not.toContain(token);
});

test('the number of records is taken from the webhook when Airbyte’s API has none', async () => {
  const { sync, jobId, runId } = await running(['succeeded'], null);
  const notice = syncs.airbyte.state.notificationOf(runId);
  await hook({ data: { ...notice.data, success: true, recordsCommitted: 77 } });
  expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({ records_synced: 77 });
});

test('a webhook for a run that is not known yet, or for an unknown connection, does no harm', async () => {
  const sync = await syncs.connector();
  const jobId = await syncs.start(sync);
  const early = { data: { connection: { id: sync.connection.connectionId }, jobId: 12, success: true } };
  const strange: unknown[] = [
    early,
    { data: { connection: { id: 'nobody’s' }, jobId: 1, success: true } },
    { text: 'a message of Slack’s shape' },
    { data: { connection: { id: 'a\u0000b' }, jobId: 1 } },
    { data: { connection: { id: sync.connection.connectionId }, jobId: 'a\u0000b' } },
    { data: { connection: { id: sync.connection.connectionId }, jobId: 5, errorMessage: 'a\u0000b\ud800' } },
    [],
    'null',
  ];
  for (const body of strange) expect((await hook(body)).status).toBe(200);
  expect(await syncs.get(sync, jobId)).toMatchObject({ status: 'queued', run_id: null });
});

test('a webhook address without the secret does not exist', async () => {
  const { sync, jobId, runId } = await running();
  syncs.airbyte.finish(runId);
  const answer = await hook(syncs.airbyte.state.notificationOf(runId), 'a guess');
  expect(answer.status).toBe(404);
  expect(((await answer.json()) as Answer).code).toBe('airbyte_hook_unknown');
  await syncs.drive(sync.tenantId);
  expect(await syncs.get(sync, jobId)).toMatchObject({ status: 'running' });
});

test('only the operator sees the webhook address', async () => {
  const { sync } = await running();
  const admin = await syncs.call(sync, '/api/connectors/status');
  expect(admin.body).toMatchObject({ configured: true, missing: [], webhook_path: null });
  const operator = await syncs.call({ ...sync, role: 'operator' }, '/api/connectors/status');
  expect(operator.body.webhook_path).toBe(`/api/hooks/airbyte/${secret}`);
});

test('a webhook does not wake a sync that waits for its limit', async () => {
  const sync = await syncs.connector({ min_interval_seconds: 3_600 });
  await database.owner(
    `insert into rate_limits (key, moments, expires_at)
     values ($1, array[now()], now() + interval '1 hour')`,
    [`connector:${sync.tenantId}:${sync.connectorId}`],
  );
  const jobId = await syncs.start(sync);
  await syncs.driveUntil(sync, jobId, ({ waiting_for }) => waiting_for === 'rate_limit');
  await hook({ data: { connection: { id: sync.connection.connectionId }, jobId: 1 } });
  await eventually(async () => {
    await syncs.drive(sync.tenantId);
    return (await syncs.get(sync, jobId)).waiting_for === 'rate_limit';
  }, 'it still waits');
  expect(syncs.airbyte.requestsOf('trigger', sync.connection.connectionId)).toEqual([]);
});
