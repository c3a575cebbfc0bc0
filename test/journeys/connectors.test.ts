import { describe, expect, test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { hasEnded, useSyncs } from '../support/servers/sync-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database);

describe('a sync', () => {
  test('is triggered once, polled to its end, and reports rows, bytes and duration', async () => {
    const plan = { statuses: ['running', 'succeeded'], rows: 42, bytes: 4_200, durationSeconds: 75 };
    const sync = await syncs.connector({}, { plan });
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    const [run] = syncs.airbyte.jobsOf(sync.connection.connectionId);
    expect(ended).toMatchObject({
      status: 'success',
      connector_id: sync.connectorId,
      external_account_id: `account-${sync.connectorId}`,
      run_id: String(run?.runId),
      retry_count: 0,
      records_synced: 42,
      bytes_synced: 4_200,
      duration_seconds: 75,
      error_code: null,
    });
    const events = await syncs.events(jobId);
    expect(events.map(({ type }) => type)).toEqual([
      'job.queued',
      'job.started',
      'sync.triggered',
      'job.completed',
    ]);
    expect(events.at(-1)?.data).toMatchObject({ job_id: jobId, records_synced: 42, duration_seconds: 75 });
    expect(syncs.airbyte.requestsOf('trigger', sync.connection.connectionId)).toHaveLength(1);
  });

  test('names its run in every job.started and in sync.triggered', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const jobId = await syncs.start(sync);
    const { run_id: runId } = await syncs.driveUntil(sync, jobId, ({ run_id }) => run_id !== null);
    // As an error that nobody foresaw leaves it.
    await database.owner(
      `update ingestion_jobs set status = 'failed', next_retry_at = now(), run_at = now() where job_id = $1`,
      [jobId],
    );
    await syncs.driveUntil(sync, jobId, ({ status }) => status === 'running');
    const told = (await syncs.events(jobId)).map(({ type, data }) => [type, data.run_id]);
    expect(told).toEqual([
      ['job.queued', undefined],
      ['job.started', runId],
      ['sync.triggered', runId],
      ['job.started', runId],
    ]);
  });

  test('holds no lease while Airbyte works, and is not stuck', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['queued'] } });
    const jobId = await syncs.start(sync);
    const seen = await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'queued');
    expect(seen).toMatchObject({ status: 'running', run_id: expect.any(String) });
    const [row] = await database.owner('select leased_by from ingestion_jobs where job_id = $1', [jobId]);
    expect(row).toEqual({ leased_by: null });
    await database.owner(
      `update ingestion_jobs set started_at = now() - interval '3 hours' where job_id = $1`,
      [jobId],
    );
    const stuck = await syncs.call(sync, '/api/stats/stuck-jobs');
    expect(stuck.body.data).toEqual([]);
  });

  test('continues through queued, incomplete and unknown states', async () => {
    const statuses = ['queued', 'queued', 'queued', 'running', 'incomplete', 'hibernating', 'succeeded'];
    const sync = await syncs.connector({}, { plan: { statuses, rows: 7 } });
    const jobId = await syncs.start(sync);
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
      status: 'success',
      records_synced: 7,
      retry_count: 0,
    });
    expect(syncs.airbyte.requestsOf('get_job', sync.connection.connectionId)).toHaveLength(statuses.length);
  });

  test('returns a 409 with the active job when it is requested twice', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const jobId = await syncs.start(sync);
    const route = `/api/connectors/${sync.connectorId}/sync`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => syncs.call(sync, route, 'POST', {})));
    for (const answer of answers) {
      expect(answer.status).toBe(409);
      expect(answer.body).toMatchObject({ code: 'job_already_active', active_job_id: jobId });
    }
  });

  test('is created once by twenty racing requests', async () => {
    const sync = await syncs.connector();
    const route = `/api/connectors/${sync.connectorId}/sync`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => syncs.call(sync, route, 'POST', {})));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
  });

  test('is retried twice with a new run each when Airbyte reports a failure, then is a dead letter', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['failed'] } });
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'sync_failed', retry_count: 2 });
    const runs = syncs.airbyte.jobsOf(sync.connection.connectionId);
    expect(runs).toHaveLength(3);
    expect(ended.run_id).toBe(String(runs[2]?.runId));
    const retries = (await syncs.events(jobId)).filter(({ type }) => type === 'job.retry');
    expect(retries.map(({ data }) => data.error_class)).toEqual(['sync_failed', 'sync_failed']);
  });

  test('is canceled when somebody cancels it in Airbyte', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'cancelled'] } });
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'canceled', error_code: 'canceled_in_airbyte' });
    expect((await syncs.events(jobId)).at(-1)).toMatchObject({ type: 'job.canceled' });
    // The connector is free again.
    await syncs.start(sync);
  });

  test('is a dead letter with its run when it passes the deadline, and a requeued one adopts that run', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'], rows: 3 } });
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'running');
    await database.owner(
      `update ingestion_jobs
          set checkpoint = jsonb_set(checkpoint, '{run,followedSince}', '"2020-01-01T00:00:00.000Z"')
        where job_id = $1`,
      [jobId],
    );
    const dead = await syncs.driveUntil(sync, jobId, hasEnded);
    const [run] = syncs.airbyte.jobsOf(sync.connection.connectionId);
    const runId = String(run?.runId);
    expect(dead).toMatchObject({
      status: 'dead_letter',
      error_code: 'sync_deadline_exceeded',
      run_id: runId,
    });
    const route = `/api/dead-letters/${jobId}/requeue`;
    const requeued = await syncs.call({ ...sync, role: 'support' }, route, 'POST', {});
    expect(requeued.status).toBe(201);
    expect(requeued.body).toMatchObject({ requeued_from: jobId });
    const nextId = String(requeued.body.job_id);
    await syncs.driveUntil(sync, nextId, ({ run_id }) => run_id === runId);
    syncs.airbyte.finish(runId);
    expect(await syncs.driveUntil(sync, nextId, hasEnded)).toMatchObject({
      status: 'success',
      adopted: true,
    });
    expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
  });
});

describe('a dead letter', () => {
  test('is requeued by support and operator, once, and by nobody else', async () => {
    const sync = await syncs.connector();
    syncs.airbyte.trouble(
      { kind: 'trigger', connectionId: sync.connection.connectionId, times: 1 },
      airbyteTroubles.insufficientCredits(),
    );
    const jobId = await syncs.start(sync);
    const dead = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(dead).toMatchObject({ status: 'dead_letter', error_code: 'insufficient_credits', retry_count: 0 });
    const route = `/api/dead-letters/${jobId}/requeue`;
    for (const role of ['member', 'admin', 'service'] as const) {
      expect((await syncs.call({ ...sync, role }, route, 'POST', {})).status).toBe(403);
    }
    const body = { correlation_id: 'support-ticket-123' };
    const made = await syncs.call({ ...sync, role: 'operator' }, route, 'POST', body);
    expect(made.body).toMatchObject({ requeued_from: jobId, correlation_id: 'support-ticket-123' });
    const again = await syncs.call({ ...sync, role: 'support' }, route, 'POST', {});
    expect(again.body).toMatchObject({ code: 'already_requeued', requeued_as: made.body.job_id });
    expect(await syncs.driveUntil(sync, String(made.body.job_id), hasEnded)).toMatchObject({
      status: 'success',
    });
  });
});

describe('statistics', () => {
  test('report success rate, average duration and retries by class for each connector', async () => {
    const tenantId = await newTenant(database, 'enterprise');
    const good = await syncs.connector({ tenantId });
    const bad = await syncs.connector({ tenantId });
    const scope = { kind: 'trigger', connectionId: bad.connection.connectionId } as const;
    syncs.airbyte.trouble({ ...scope, times: 1 }, airbyteTroubles.serverError());
    syncs.airbyte.trouble(scope, airbyteTroubles.insufficientCredits());
    for (const sync of [good, bad]) await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    const { body } = await syncs.call({ tenantId }, '/api/stats/connectors');
    const rows = new Map((body.data as { connector_id: string }[]).map((row) => [row.connector_id, row]));
    expect(rows.get(good.connectorId)).toMatchObject({ jobs: 1, success_rate: 1, retries_by_class: {} });
    expect(rows.get(bad.connectorId)).toMatchObject({
      success_rate: 0,
      retries_by_class: { server_error: 1 },
    });
    const dead = await syncs.call({ tenantId }, '/api/stats/dead-letters');
    expect(dead.body.data).toMatchObject([{ error_code: 'insufficient_credits', count: 1 }]);
  });
});
