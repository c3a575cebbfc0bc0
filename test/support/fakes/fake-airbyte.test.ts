import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startFakeAirbyte } from './fake-airbyte.ts';
import {
  type Asked,
  ask,
  runIdsOf,
  runningSync,
  tokenFrom,
  tokenRequest,
  trigger,
} from './fake-airbyte-questions.ts';

describe('a job of the fake', () => {
  test('is created by POST, which returns 200', async () => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    const answer = await trigger(airbyte, connectionId);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'pending', jobType: 'sync', connectionId });
    expect(airbyte.jobsOf(connectionId)).toHaveLength(1);
  });

  test('has an id that a JavaScript number cannot hold', async () => {
    const airbyte = await startFakeAirbyte();
    const { runId } = await runningSync(airbyte, ['running']);
    const { text, body } = await ask(airbyte, `GET /jobs/${runId}`);
    expect(text).toContain(`"jobId":${runId},`);
    expect(String(body.jobId)).not.toBe(runId);
  });

  test('takes one status per poll and keeps the last, including queued, incomplete and unknown ones', async () => {
    const airbyte = await startFakeAirbyte();
    const statuses = ['queued', 'queued', 'running', 'incomplete', 'hibernating', 'succeeded'];
    const { runId } = await runningSync(airbyte, statuses);
    const seen: unknown[] = [];
    for (let poll = 0; poll < 7; poll += 1) seen.push((await ask(airbyte, `GET /jobs/${runId}`)).body.status);
    expect(seen).toEqual([...statuses, 'succeeded']);
  });

  test('ends on command', async () => {
    const airbyte = await startFakeAirbyte();
    const { runId } = await runningSync(airbyte, ['running']);
    await ask(airbyte, `GET /jobs/${runId}`);
    airbyte.finish(runId, 'failed');
    expect((await ask(airbyte, `GET /jobs/${runId}`)).body.status).toBe('failed');
  });

  test('has no duration while it waits, and its counts and last update only at the end', async () => {
    const airbyte = await startFakeAirbyte();
    const { runId } = await runningSync(airbyte, ['queued', 'running', 'succeeded']);
    const queued = (await ask(airbyte, `GET /jobs/${runId}`)).body;
    const running = (await ask(airbyte, `GET /jobs/${runId}`)).body;
    const ended = (await ask(airbyte, `GET /jobs/${runId}`)).body;
    expect(Object.keys(queued).sort()).toEqual(['connectionId', 'jobId', 'jobType', 'startTime', 'status']);
    expect(running).toHaveProperty('duration');
    expect(running).not.toHaveProperty('lastUpdatedAt');
    expect(ended).toMatchObject({ duration: 'PT1H2M3S', rowsSynced: 7, bytesSynced: 70 });
    expect(ended.lastUpdatedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test('may end with no number of rows', async () => {
    const airbyte = await startFakeAirbyte();
    const plan = { statuses: ['succeeded'], rows: null, bytes: 10 };
    const { connectionId } = airbyte.addConnection({ plan });
    await trigger(airbyte, connectionId);
    const { body } = await ask(airbyte, `GET /jobs/${runIdsOf(airbyte, connectionId)[0]}`);
    expect(body).toMatchObject({ status: 'succeeded', rowsSynced: null });
  });

  test('is cancelled by DELETE on an older job of its connection', async () => {
    const airbyte = await startFakeAirbyte();
    const { connection, runId } = await runningSync(airbyte, ['succeeded']);
    await ask(airbyte, `GET /jobs/${runId}`);
    const newer = airbyte.state.makeJob(connection.connectionId, { status: 'running' });
    const answer = await ask(airbyte, `DELETE /jobs/${runId}`);
    expect(answer.body.status).toBe('succeeded');
    expect(newer.status).toBe('cancelled');
  });

  test('may still run after its DELETE returned', async () => {
    const airbyte = await startFakeAirbyte();
    const plan = { statuses: ['running'], cancelsSlowly: true };
    const { connectionId } = airbyte.addConnection({ plan });
    await trigger(airbyte, connectionId);
    const [runId] = runIdsOf(airbyte, connectionId);
    await ask(airbyte, `GET /jobs/${runId}`);
    expect((await ask(airbyte, `DELETE /jobs/${runId}`)).body.status).toBe('running');
    expect((await ask(airbyte, `GET /jobs/${runId}`)).body.status).toBe('cancelled');
  });

  test('is a 404 when it is unknown', async () => {
    const airbyte = await startFakeAirbyte();
    expect((await ask(airbyte, 'GET /jobs/17')).status).toBe(404);
  });

  test('is announced by a notification with its id and what was committed', async () => {
    const airbyte = await startFakeAirbyte();
    const { connection, runId } = await runningSync(airbyte, ['failed']);
    await ask(airbyte, `GET /jobs/${runId}`);
    const failure = { errorMessage: 'wrong password', errorType: 'config_error' };
    const { data } = airbyte.state.notificationOf(runId, failure);
    expect(data).toMatchObject({ success: false, recordsCommitted: 7, durationInSeconds: 3_723, ...failure });
    expect(data.connection.id).toBe(connection.connectionId);
  });
});

describe('a list of the fake', () => {
  test('has the oldest job first unless it is asked for the newest', async () => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    for (let index = 0; index < 3; index += 1) {
      airbyte.state.makeJob(connectionId, { status: 'succeeded' });
      airbyte.advance(1_000);
    }
    const runIds = runIdsOf(airbyte, connectionId);
    const idsIn = ({ text }: Asked) => [...text.matchAll(/"jobId":(\d+)/g)].map(([, id]) => id);
    const plain = await ask(airbyte, `GET /jobs?connectionId=${connectionId}`);
    const newest = await ask(airbyte, `GET /jobs?connectionId=${connectionId}&orderBy=createdAt%7CDESC`);
    expect(idsIn(plain)).toEqual(runIds);
    expect(idsIn(newest)).toEqual(runIds.toReversed());
  });

  test('is filtered by connection, type, status and creation time', async () => {
    const airbyte = await startFakeAirbyte();
    const one = airbyte.addConnection().connectionId;
    const other = airbyte.addConnection().connectionId;
    airbyte.state.makeJob(one, { status: 'failed' });
    airbyte.advance(60_000);
    const since = new Date(airbyte.nowMs() - 1_000).toISOString();
    airbyte.state.makeJob(one, { jobType: 'reset' });
    airbyte.state.makeJob(other);
    const countOf = async (query: string) =>
      ((await ask(airbyte, `GET /jobs?${query}`)).body.data as unknown[]).length;
    expect(await countOf('')).toBe(3);
    expect(await countOf(`connectionId=${one}`)).toBe(2);
    expect(await countOf('jobType=reset')).toBe(1);
    expect(await countOf('status=failed')).toBe(1);
    expect(await countOf(`createdAtStart=${since}`)).toBe(2);
  });

  test('has at most 100 entries to a page and says where the next one is', async () => {
    const airbyte = await startFakeAirbyte();
    const workspaceId = randomUUID();
    for (let index = 0; index < 5; index += 1) airbyte.addConnection({ workspaceId });
    airbyte.addConnection({ workspaceId: randomUUID() });
    const first = await ask(airbyte, `GET /connections?workspaceIds=${workspaceId}&limit=3`);
    const second = await ask(airbyte, `GET /connections?workspaceIds=${workspaceId}&limit=3&offset=3`);
    expect(first.body.data).toHaveLength(3);
    expect(first.body.next).toContain('offset=3');
    expect(second.body.data).toHaveLength(2);
    expect(second.body.next).toBe('');
    expect((await ask(airbyte, 'GET /connections?limit=101')).status).toBe(400);
    expect(airbyte.takeFaults()).toEqual([expect.stringContaining('the parameter limit')]);
  });
});

describe('a connection of the fake', () => {
  test('returns try-again-later while it has an active job', async () => {
    const airbyte = await startFakeAirbyte();
    const { connection } = await runningSync(airbyte, ['incomplete']);
    const second = await trigger(airbyte, connection.connectionId);
    expect(second.status).toBe(409);
    expect(second.body.type).toContain('try-again-later');
    expect(second.body.detail).toBe(`A sync is already running for: ${connection.connectionId}`);
    expect(airbyte.jobsOf(connection.connectionId)).toHaveLength(1);
  });

  test('returns state-conflict when it is inactive', async () => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection({ status: 'inactive' });
    const answer = await trigger(airbyte, connectionId);
    expect(answer.status).toBe(409);
    expect(answer.body.type).toContain('state-conflict');
  });

  test('is disabled after 30 failures in a row, and one success starts the count again', async () => {
    const airbyte = await startFakeAirbyte();
    const connection = airbyte.addConnection();
    const endAs = (status: string) =>
      airbyte.finish(String(airbyte.state.makeJob(connection.connectionId).runId), status);
    for (let failure = 0; failure < 29; failure += 1) endAs('failed');
    endAs('succeeded');
    for (let failure = 0; failure < 29; failure += 1) endAs('failed');
    expect(connection.status).toBe('active');
    endAs('failed');
    expect(connection.status).toBe('inactive');
  });

  test('shows its schedule', async () => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection({ scheduleType: 'cron' });
    const { body } = await ask(airbyte, `GET /connections/${connectionId}`);
    expect(body).toMatchObject({ connectionId, status: 'active', schedule: { scheduleType: 'cron' } });
  });
});

describe('a token of the fake', () => {
  test('is issued for the right id and secret, and expires', async () => {
    const airbyte = await startFakeAirbyte();
    const granted = await ask(airbyte, 'POST /applications/token', { body: tokenRequest(airbyte) });
    expect(granted.body).toMatchObject({ token_type: 'Bearer', expires_in: 900 });
    const token = String(granted.body.access_token);
    airbyte.advance(899_000);
    expect((await ask(airbyte, 'GET /connections', { token })).status).toBe(200);
    airbyte.advance(2_000);
    expect((await ask(airbyte, 'GET /connections', { token })).status).toBe(401);
  });

  test('can be made to expire at once', async () => {
    const airbyte = await startFakeAirbyte();
    const token = await tokenFrom(airbyte);
    airbyte.expireTokens();
    expect((await ask(airbyte, 'GET /connections', { token })).status).toBe(401);
  });

  test('is refused to a wrong secret and to one spelling of the grant type alone', async () => {
    const airbyte = await startFakeAirbyte();
    const right = tokenRequest(airbyte);
    const wrong = { ...right, client_secret: 'guess' };
    expect((await ask(airbyte, 'POST /applications/token', { body: wrong })).status).toBe(401);
    const { 'grant-type': hyphen, grant_type: underscore, ...rest } = right;
    for (const body of [
      { ...rest, grant_type: underscore },
      { ...rest, 'grant-type': hyphen },
    ]) {
      expect((await ask(airbyte, 'POST /applications/token', { body })).status).toBe(400);
    }
    expect(airbyte.takeFaults()).toEqual([expect.stringContaining('grant_type')]);
  });

  test('stays valid when it was made by hand', async () => {
    const airbyte = await startFakeAirbyte();
    airbyte.advance(10 * 24 * 3_600_000);
    expect((await ask(airbyte, 'GET /connections')).status).toBe(200);
    expect((await ask(airbyte, 'GET /connections', { token: 'unknown' })).status).toBe(401);
  });
});

describe('the fake', () => {
  test('refuses connections while it is down, and returns on the same port with its state', async () => {
    const airbyte = await startFakeAirbyte();
    const { connection, runId } = await runningSync(airbyte, ['running']);
    const before = airbyte.url;
    await airbyte.goDown();
    const failure = await ask(airbyte, 'GET /connections').catch((error: Error) => error.cause);
    expect(failure).toMatchObject({ code: 'ECONNREFUSED' });
    await airbyte.comeBack();
    expect(airbyte.url).toBe(before);
    const { body } = await ask(airbyte, `GET /jobs/${runId}`);
    expect(body.connectionId).toBe(connection.connectionId);
  });

  test('has its own clock, in its Date header as well', async () => {
    const airbyte = await startFakeAirbyte({ clockAheadMs: 3_600_000 });
    const { headers } = await ask(airbyte, 'GET /connections');
    const aheadMs = Date.parse(headers.get('date') ?? '') - Date.now();
    expect(aheadMs).toBeGreaterThan(3_500_000);
  });

  test('records requests, times, authorizations and how many were open at once', async () => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    airbyte.trouble({ kind: 'list_connections' }, { type: 'held', until });
    const asking = [1, 2, 3].map((number) => ask(airbyte, 'GET /connections', { token: `t-${number}` }));
    await airbyte.untilRequests('list_connections', 3);
    release();
    await Promise.all(asking);
    await trigger(airbyte, connectionId);
    expect(airbyte.mostAtOnce).toBe(3);
    expect(airbyte.authorizations.toSorted()).toEqual([
      `Bearer ${airbyte.settings.fixedToken}`,
      'Bearer t-1',
      'Bearer t-2',
      'Bearer t-3',
    ]);
    const [request] = airbyte.requestsOf('trigger', connectionId);
    expect(request).toMatchObject({ method: 'POST', path: '/jobs', status: 200 });
    expect(airbyte.requests.map(({ atMs }) => atMs)).toEqual(
      airbyte.requests.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
    );
    expect(airbyte.requestsOf('trigger', 'another')).toEqual([]);
  });
});
