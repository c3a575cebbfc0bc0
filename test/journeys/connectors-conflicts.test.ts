import { describe, expect, test } from 'vitest';
import { airbyteTroubles, type FakeTrouble } from '../support/fakes/fake-airbyte-troubles.ts';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database);

const triggersOf = ({ connection }: TestSync) => syncs.airbyte.requestsOf('trigger', connection.connectionId);
const runsOf = ({ connection }: TestSync) => syncs.airbyte.jobsOf(connection.connectionId);

function disturb({ connection }: TestSync, trouble: FakeTrouble, times = 1): void {
  syncs.airbyte.trouble({ kind: 'trigger', connectionId: connection.connectionId, times }, trouble);
}

const waitsFor =
  (reason: string) =>
  ({ waiting_for }: Answer): boolean =>
    waiting_for === reason;

describe('a 409 on the trigger of an active connection', () => {
  const conflicts: [string, (sync: TestSync) => FakeTrouble][] = [
    ['state-conflict', () => airbyteTroubles.stateConflict()],
    ['try-again-later', ({ connection }) => airbyteTroubles.alreadyRunning(connection.connectionId)],
  ];

  test.each(conflicts)('%s keeps the intent, and the run that follows is found', async (_kind, conflict) => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'succeeded'], rows: 7 } });
    disturb(sync, conflict(sync));
    const jobId = await syncs.start(sync);
    const waiting = await syncs.driveUntil(sync, jobId, waitsFor('lost_trigger'));
    expect(waiting).toMatchObject({ status: 'running', retry_count: 0, run_id: null });
    // Airbyte had signalled the start before it gave up waiting for the id.
    const late = syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'running' });
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({
      status: 'success',
      run_id: String(late.runId),
      records_synced: 7,
      retry_count: 0,
    });
    expect(triggersOf(sync)).toHaveLength(1);
    expect(runsOf(sync)).toHaveLength(1);
  });

  test.each(conflicts)(
    '%s is triggered again only after the time to look is over',
    async (_kind, conflict) => {
      const sync = await syncs.connector();
      disturb(sync, conflict(sync));
      const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
      expect(ended).toMatchObject({ status: 'success', retry_count: 1 });
      const [first, second] = triggersOf(sync);
      expect(Number(second?.atMs) - Number(first?.atMs)).toBeGreaterThanOrEqual(200);
      expect(runsOf(sync)).toHaveLength(1);
    },
  );

  test('that never ends uses up the retries and becomes a dead letter', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.stateConflict(), 100);
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'state_conflict', retry_count: 5 });
    expect(runsOf(sync)).toHaveLength(0);
  });
});

describe('a job of another kind on the connection', () => {
  test.each(['reset', 'refresh', 'clear'])('(%s) is waited for without using an attempt', async (jobType) => {
    const sync = await syncs.connector();
    const other = syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'running', jobType });
    const jobId = await syncs.start(sync);
    const waiting = await syncs.driveUntil(sync, jobId, waitsFor('airbyte_job_running'));
    expect(waiting).toMatchObject({ blocked_by: { run_id: String(other.runId), job_type: jobType } });
    // Much longer than all retries together would have taken.
    for (let look = 0; look < 30; look += 1) {
      await syncs.held.kernel.kickOff({ tenantId: sync.tenantId, jobId, durationMs: 20 });
    }
    expect(await syncs.get(sync, jobId)).toMatchObject({ status: 'running', retry_count: 0 });
    expect(triggersOf(sync)).toHaveLength(1);
    syncs.airbyte.finish(String(other.runId));
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 0, adopted: false, blocked_by: null });
    expect(triggersOf(sync)).toHaveLength(2);
  });
});

test('a trigger that returns a sync which was queued before adopts it', async () => {
  const sync = await syncs.connector();
  const queued = syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'queued' });
  queued.createdAtMs -= 600_000;
  const body = syncs.airbyte.state.jobView(queued);
  disturb(sync, { type: 'answer', status: 200, body });
  const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  expect(ended).toMatchObject({ status: 'success', adopted: true, run_id: String(queued.runId) });
  expect(runsOf(sync)).toHaveLength(1);
});

test('job.started names the run, once per attempt', async () => {
  const sync = await syncs.connector();
  disturb(sync, airbyteTroubles.serverError());
  const jobId = await syncs.start(sync);
  const ended = await syncs.driveUntil(sync, jobId, hasEnded);
  const events = await syncs.events(jobId);
  expect(events.map(({ type }) => type)).toEqual([
    'job.queued',
    'job.failed',
    'job.retry',
    'job.started',
    'sync.triggered',
    'job.completed',
  ]);
  expect(events[3]?.data).toMatchObject({ run_id: ended.run_id, pipeline: 'sync', job_id: jobId });
});

describe('a configuration error that Airbyte reports', () => {
  const failure = { errorType: 'config_error', errorMessage: 'The password of the database was refused' };
  const report = async ({ tenantId }: TestSync, runId: unknown) => {
    const { body } = await syncs.call({ tenantId, role: 'operator' }, '/api/connectors/status');
    const notification = syncs.airbyte.state.notificationOf(String(runId), failure);
    const sent = await fetch(`${syncs.server.url}${body.webhook_path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(notification, (_name, value: unknown) =>
        typeof value === 'bigint' ? Number(value) : value,
      ),
    });
    expect(sent.status).toBe(200);
  };
  const dead = {
    status: 'dead_letter',
    error_code: 'config_error',
    error_message: expect.stringContaining('The password of the database was refused'),
  };

  test('before the poll sees the failure is a dead letter at once', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'running', 'failed'] } });
    const jobId = await syncs.start(sync);
    const { run_id: runId } = await syncs.driveUntil(sync, jobId, ({ run_id }) => run_id !== null);
    await report(sync, runId);
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({ ...dead, retry_count: 0 });
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('after the poll saw the failure ends the retry that waits', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['failed'] } });
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ status }) => status === 'failed');
    await database.owner(
      `update ingestion_jobs set run_at = clock_timestamp() + interval '1 h', next_retry_at = run_at
        where job_id = $1`,
      [jobId],
    );
    await report(sync, runsOf(sync)[0]?.runId);
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject(dead);
    expect(runsOf(sync)).toHaveLength(1);
  });
});

test('the external account of one tenant does not hold up the same name of another', async () => {
  const first = await syncs.connector({ external_account_id: 'shared' });
  const second = await syncs.connector({ external_account_id: 'shared' });
  const keys = async () =>
    (
      await database.owner<{ key: string }>("select key from rate_limits where key like 'account:%shared'")
    ).map(({ key }) => key);
  await syncs.driveUntil(first, await syncs.start(first), hasEnded);
  await syncs.driveUntil(second, await syncs.start(second), hasEnded);
  expect((await keys()).sort()).toEqual(
    [first, second].map(({ tenantId }) => `account:${tenantId}:shared`).sort(),
  );
});
