import { describe, expect, test } from 'vitest';
import { airbyteTroubles, type FakeTrouble } from '../support/fakes/fake-airbyte-troubles.ts';
import { hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
// Some triggers never get a response.
const syncs = useSyncs(database, { triggerTimeoutMs: 2_000 });

const triggersOf = ({ connection }: TestSync) => syncs.airbyte.requestsOf('trigger', connection.connectionId);
const runsOf = ({ connection }: TestSync) => syncs.airbyte.jobsOf(connection.connectionId);

function disturb({ connection }: TestSync, trouble: FakeTrouble, times = 1): void {
  syncs.airbyte.trouble({ kind: 'trigger', connectionId: connection.connectionId, times }, trouble);
}

describe('a trigger whose response is lost', () => {
  const lost: [string, FakeTrouble][] = [
    ['times out', { type: 'hang', done: true }],
    ['is cut off', { type: 'cut', done: true }],
    ['breaks off in the middle', { type: 'truncated' }],
    ['is a 408', airbyteTroubles.madeButTimedOut()],
    ['is a 502 of a gateway', { type: 'done_but', status: 502, body: '<html>502</html>' }],
  ];
  test.each(lost)('because it %s is found again, and nothing is triggered twice', async (_how, trouble) => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'succeeded'], rows: 5 } });
    disturb(sync, trouble);
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'success', records_synced: 5, retry_count: 0, adopted: false });
    expect(triggersOf(sync)).toHaveLength(1);
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('is found again even when its sync has ended before anybody looks', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'], rows: 9 } });
    disturb(sync, { type: 'hang', done: true });
    const jobId = await syncs.start(sync);
    const driving = syncs.drive(sync.tenantId);
    const { connectionId } = sync.connection;
    while (runsOf(sync).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    syncs.airbyte.finish(String(runsOf(sync)[0]?.runId));
    await driving;
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', records_synced: 9, retry_count: 0 });
    expect(syncs.airbyte.requestsOf('trigger', connectionId)).toHaveLength(1);
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('is retried, after a check, when it started nothing', async () => {
    const sync = await syncs.connector();
    disturb(sync, { type: 'hang', done: false });
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 1 });
    expect(runsOf(sync)).toHaveLength(1);
    const asked = syncs.airbyte.requests.filter((one) => one.connectionId === sync.connection.connectionId);
    expect(asked.slice(0, 5).map(({ kind }) => kind)).toEqual([
      'get_connection',
      'trigger',
      'list_jobs',
      'list_jobs',
      'trigger',
    ]);
    const [failed] = (await syncs.events(jobId)).filter(({ type }) => /failed|started/.test(type));
    expect(failed).toMatchObject({ type: 'job.failed', data: { error_code: 'timeout' } });
  });

  test('is not confused with a run that another job has followed', async () => {
    const sync = await syncs.connector();
    await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    disturb(sync, { type: 'cut', done: false });
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 1 });
    expect(runsOf(sync)).toHaveLength(2);
    expect(ended.run_id).toBe(String(runsOf(sync)[1]?.runId));
  });

  test('is not confused with a run that another job has seen fail', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['failed'] } });
    const dead = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(dead).toMatchObject({ status: 'dead_letter', error_code: 'sync_failed' });
    expect(runsOf(sync)).toHaveLength(3);
    sync.connection.plan = { statuses: ['succeeded'], rows: 2 };
    disturb(sync, airbyteTroubles.serverError());
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 1, records_synced: 2 });
    const followed = (await syncs.events(jobId)).filter(({ type }) => type === 'sync.triggered');
    expect(followed.map(({ data }) => data.run_id)).toEqual([String(runsOf(sync)[3]?.runId)]);
  });

  test('is looked for until Airbyte responds, and not triggered in the meantime', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['succeeded'], rows: 1 } });
    disturb(sync, { type: 'hang', done: true });
    const { connectionId } = sync.connection;
    syncs.airbyte.trouble({ kind: 'list_jobs', connectionId, times: 2 }, airbyteTroubles.unavailable());
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'success', records_synced: 1 });
    expect(triggersOf(sync)).toHaveLength(1);
    expect(runsOf(sync)).toHaveLength(1);
  });
});

describe('when another sync runs on the connection', () => {
  test('it is adopted by default', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'succeeded'], rows: 11 } });
    const other = syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'running' });
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({
      status: 'success',
      adopted: true,
      run_id: String(other.runId),
      retry_count: 0,
    });
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('on_active_sync fail makes a dead letter at once', async () => {
    const sync = await syncs.connector({ on_active_sync: 'fail' });
    syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'running' });
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'already_running', retry_count: 0 });
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('on_active_sync skip is a success with no records and the code skipped_active', async () => {
    const sync = await syncs.connector({ on_active_sync: 'skip' });
    syncs.airbyte.state.makeJob(sync.connection.connectionId, { status: 'running' });
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({
      status: 'success',
      records_synced: 0,
      error_code: 'skipped_active',
      run_id: null,
    });
    expect((await syncs.events(jobId)).at(-1)?.data).toMatchObject({
      code: 'skipped_active',
      records_synced: 0,
    });
  });

  test.each(['fail', 'skip'])(
    '%s does not apply if it is our own run whose response was lost',
    async (policy) => {
      const plan = { statuses: ['running', 'running', 'succeeded'] };
      const sync = await syncs.connector({ on_active_sync: policy }, { plan });
      disturb(sync, { type: 'hang', done: true });
      const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
      expect(ended).toMatchObject({ status: 'success', adopted: false });
      expect(runsOf(sync)).toHaveLength(1);
    },
  );
});

describe('a refused trigger', () => {
  test('is a dead letter that says so when the connection is inactive', async () => {
    const sync = await syncs.connector({}, { status: 'inactive' });
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'connection_inactive', retry_count: 0 });
  });

  test('is retried when an active connection has a state conflict', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.stateConflict());
    expect(await syncs.driveUntil(sync, await syncs.start(sync), hasEnded)).toMatchObject({
      status: 'success',
      retry_count: 1,
    });
  });

  const definite: [string, FakeTrouble, string][] = [
    ['no credits', airbyteTroubles.insufficientCredits(), 'insufficient_credits'],
    ['an unknown connection', airbyteTroubles.notFound(), 'not_found'],
    ['a bad request', airbyteTroubles.badRequest(), 'bad_request'],
    ['a 401 on this connection alone', airbyteTroubles.unauthorized(), 'auth_error'],
    ['a 403 on this connection alone', airbyteTroubles.forbidden(), 'auth_error'],
  ];
  test.each(definite)('is a dead letter at once for %s', async (_why, trouble, code) => {
    const sync = await syncs.connector();
    disturb(sync, trouble, 2);
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: code, retry_count: 0, run_id: null });
    const other = await syncs.connector();
    expect(await syncs.driveUntil(other, await syncs.start(other), hasEnded)).toMatchObject({
      status: 'success',
    });
  });
});

test('a 401 that could concern either side is retried and is not a dead letter', async () => {
  const sync = await syncs.connector();
  disturb(sync, airbyteTroubles.unauthorized());
  syncs.airbyte.trouble({ kind: 'list_connections', times: 1 }, airbyteTroubles.unavailable());
  const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  expect(ended).toMatchObject({ status: 'success', retry_count: 1 });
});

describe('errors of the server', () => {
  test('use three retries in a burst of three, and then the sync runs', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.serverError(), 2);
    disturb(sync, airbyteTroubles.unavailable(), 1);
    const ended = await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 3 });
    expect(runsOf(sync)).toHaveLength(1);
  });

  test('make a dead letter after the fifth retry when they do not end', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.serverError(), 100);
    const jobId = await syncs.start(sync);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'server_error', retry_count: 5 });
    expect(ended.error_message).toMatch(
      /^Airbyte returned 500 .*requeue the job when Airbyte works again\.$/,
    );
    expect(ended.error_message).not.toContain('later');
    expect(triggersOf(sync)).toHaveLength(6);
    const delays = (await syncs.events(jobId))
      .filter(({ type }) => type === 'job.retry')
      .map(({ data }) => Number(data.delay_seconds) * 1000);
    // 10 ms doubled each time, give or take a quarter.
    delays.forEach((delay, attempt) => {
      expect(Math.abs(delay - 10 * 2 ** attempt)).toBeLessThanOrEqual(10 * 2 ** attempt * 0.25 + 1);
    });
    expect(delays).toHaveLength(5);
  });
});

describe('a 429', () => {
  test('is retried with backoff and uses a retry when it has no Retry-After', async () => {
    const sync = await syncs.connector();
    disturb(sync, airbyteTroubles.throttled(), 2);
    const jobId = await syncs.start(sync);
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
      status: 'success',
      retry_count: 2,
    });
    const retry = (await syncs.events(jobId)).find(({ type }) => type === 'job.retry');
    expect(retry?.data).toMatchObject({ error_class: 'rate_limit', error_code: 'rate_limit' });
  });

  test.each([
    ['seconds', () => '100'],
    ['an HTTP date', () => new Date(Date.now() + 100_000).toUTCString()],
  ])(
    'waits for exactly its Retry-After, given as %s, and nothing shortens the wait',
    async (_form, header) => {
      const sync = await syncs.connector();
      disturb(sync, airbyteTroubles.throttled(header()));
      const jobId = await syncs.start(sync);
      const failed = await syncs.driveUntil(sync, jobId, ({ status }) => status === 'failed');
      const waitMs = Date.parse(String(failed.next_retry_at)) - Date.now();
      expect(waitMs).toBeGreaterThan(80_000);
      expect(waitMs).toBeLessThanOrEqual(101_000);
      const again = await syncs.call(sync, `/api/connectors/${sync.connectorId}/sync`, 'POST', {});
      expect(again.body).toMatchObject({ job_id: jobId });
      expect(Date.parse(String(again.body.next_retry_at))).toBeGreaterThan(Date.now() + 60_000);
    },
  );
});
