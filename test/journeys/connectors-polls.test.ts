import { describe, expect, test } from 'vitest';
import { airbyteTroubles, type FakeTrouble } from '../support/fakes/fake-airbyte-troubles.ts';
import { hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { quickPolicy } from '../support/worlds/connector-house.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
// Some polls and triggers never get a response.
const timeouts = { timeoutMs: 2_000, triggerTimeoutMs: 2_000 };
const syncs = useSyncs(database, { policy: { ...quickPolicy, pollMs: 15 }, ...timeouts });

function disturb({ connection }: TestSync, trouble: FakeTrouble, times = 1): void {
  syncs.airbyte.trouble({ kind: 'get_job', connectionId: connection.connectionId, times }, trouble);
}

describe('an error while polling', () => {
  const troubles: [string, FakeTrouble][] = [
    ['a 500', airbyteTroubles.serverError()],
    ['a 503', airbyteTroubles.unavailable()],
    ['a 408', airbyteTroubles.requestTimeout()],
    ['a page of a gateway', airbyteTroubles.badGateway()],
    ['a 429 without Retry-After', airbyteTroubles.throttled()],
    ['a connection that is cut', { type: 'cut', done: false }],
    ['silence', { type: 'hang', done: false }],
    ['an answer that breaks off', { type: 'truncated' }],
  ];
  test.each(troubles)(
    'such as %s triggers nothing, uses no retry and keeps the run',
    async (_what, trouble) => {
      const plan = { statuses: ['running', 'running', 'running', 'running', 'succeeded'], rows: 8 };
      const sync = await syncs.connector({}, { plan });
      disturb(sync, trouble, 2);
      const jobId = await syncs.start(sync);
      const seen = await syncs.driveUntil(sync, jobId, ({ waiting_for }) =>
        /^poll_/.test(String(waiting_for)),
      );
      expect(seen).toMatchObject({ status: 'running', run_id: expect.any(String), retry_count: 0 });
      const ended = await syncs.driveUntil(sync, jobId, hasEnded);
      expect(ended).toMatchObject({
        status: 'success',
        retry_count: 0,
        records_synced: 8,
        run_id: seen.run_id,
      });
      expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
    },
  );

  test('honours Retry-After, whatever a webhook says', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    // Longer than the pause that a 429 means for the whole process.
    disturb(sync, airbyteTroubles.throttled('6'), 1);
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ waiting_for }) => waiting_for === 'poll_rate_limit');
    const { connectionId } = sync.connection;
    const throttledAt = syncs.airbyte.requestsOf('get_job', connectionId).at(-1)?.atMs ?? 0;
    const [run] = syncs.airbyte.jobsOf(connectionId);
    const notice = syncs.airbyte.state.notificationOf(String(run?.runId));
    await hook('the secret of the webhook in the tests', notice);
    await syncs.driveUntil(sync, jobId, ({ waiting_for }) => waiting_for === null);
    const next = syncs.airbyte.requestsOf('get_job', connectionId).at(-1)?.atMs ?? 0;
    expect(next - throttledAt).toBeGreaterThanOrEqual(5_990);
  });

  test('ends as a dead letter that still knows its run when it lasts past the deadline', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.serverError(), 1_000);
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ waiting_for }) => /^poll_/.test(String(waiting_for)));
    await database.owner(
      `update ingestion_jobs
          set checkpoint = jsonb_set(checkpoint, '{run,followedSince}', '"2020-01-01T00:00:00.000Z"')
        where job_id = $1`,
      [jobId],
    );
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
      status: 'dead_letter',
      error_code: 'sync_deadline_exceeded',
      run_id: expect.any(String),
      retry_count: 0,
    });
  });

  test('such as a 401 on this job alone is a dead letter at once', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.unauthorized(), 5);
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'auth_error', retry_count: 0 });
  });

  test('such as a run that Airbyte no longer knows is believed after a few polls', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.notFound(), 100);
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'not_found', retry_count: 0 });
    expect(syncs.airbyte.requestsOf('get_job', sync.connection.connectionId)).toHaveLength(4);
    expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
  });
});

describe('cancel', () => {
  test('cancels our own run in Airbyte and leaves the connector free', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'running');
    const canceled = await syncs.call(sync, `/api/jobs/${jobId}/cancel`, 'POST');
    expect(canceled.body).toMatchObject({ status: 'canceled', cleanupOpen: true });
    const early = await syncs.call(sync, `/api/connectors/${sync.connectorId}/sync`, 'POST', {});
    expect(early.body).toMatchObject({ code: 'cleanup_in_progress', active_job_id: jobId });
    await untilCleanedUp(sync, jobId);
    const [run] = syncs.airbyte.jobsOf(sync.connection.connectionId);
    expect(run?.status).toBe('cancelled');
    await syncs.start(sync);
  });

  test('leaves somebody else’s newer run alone', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const { connectionId } = sync.connection;
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'running');
    syncs.airbyte.finish(String(syncs.airbyte.jobsOf(connectionId)[0]?.runId));
    const other = syncs.airbyte.state.makeJob(connectionId, { status: 'running' });
    await syncs.call(sync, `/api/jobs/${jobId}/cancel`, 'POST');
    await untilCleanedUp(sync, jobId);
    expect(other.status).toBe('running');
    expect(syncs.airbyte.requestsOf('cancel', connectionId)).toEqual([]);
  });

  test('ends the run of a trigger that never got a response', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const { connectionId } = sync.connection;
    syncs.airbyte.trouble({ kind: 'trigger', connectionId, times: 1 }, { type: 'hang', done: true });
    syncs.airbyte.trouble({ kind: 'list_jobs', connectionId, times: 1 }, airbyteTroubles.unavailable());
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ status }) => status === 'failed');
    await syncs.call(sync, `/api/jobs/${jobId}/cancel`, 'POST');
    await untilCleanedUp(sync, jobId);
    expect(syncs.airbyte.jobsOf(connectionId).map(({ status }) => status)).toEqual(['cancelled']);
  });

  test('gives up after an hour in which Airbyte could not be reached', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ run_id }) => run_id !== null);
    const { connectionId } = sync.connection;
    syncs.airbyte.trouble({ kind: 'list_jobs', connectionId }, airbyteTroubles.unavailable());
    await syncs.call(sync, `/api/jobs/${jobId}/cancel`, 'POST');
    await syncs.driveUntil(sync, jobId, hasEnded);
    const early = await syncs.call(sync, `/api/connectors/${sync.connectorId}/sync`, 'POST', {});
    expect(early.body).toMatchObject({ code: 'cleanup_in_progress' });
    await database.owner(
      `update ingestion_jobs set finished_at = now() - interval '61 minutes' where job_id = $1`,
      [jobId],
    );
    await untilCleanedUp(sync, jobId);
    await syncs.start(sync);
  });

  test('sends Airbyte nothing but the look at its enrolment before anything was triggered', async () => {
    const sync = await syncs.connector();
    const jobId = await syncs.start(sync);
    await syncs.call(sync, `/api/jobs/${jobId}/cancel`, 'POST');
    await syncs.drive(sync.tenantId);
    expect(await syncs.get(sync, jobId)).toMatchObject({ status: 'canceled', run_id: null });
    const asked = syncs.airbyte.requests.filter((one) => one.connectionId === sync.connection.connectionId);
    expect(asked.map(({ kind }) => kind)).toEqual(['get_connection']);
  });
});

async function untilCleanedUp(sync: TestSync, jobId: string): Promise<void> {
  await syncs.driveUntil(sync, jobId, hasEnded);
  const deadline = Date.now() + 30_000;
  for (;;) {
    await syncs.drive(sync.tenantId);
    const [row] = await database.owner<{ cleanup_open: boolean }>(
      'select cleanup_open from ingestion_jobs where job_id = $1',
      [jobId],
    );
    if (row?.cleanup_open === false) return;
    if (Date.now() > deadline) throw new Error('The canceled sync is not cleaned up within half a minute');
  }
}

function hook(secret: string, body: unknown): Promise<Response> {
  const text = JSON.stringify(body, (_name, inner: unknown) =>
    typeof inner === 'bigint' ? Number(inner) : inner,
  );
  return fetch(`${syncs.server.url}/api/hooks/airbyte/${encodeURIComponent(secret)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: text,
  });
}
