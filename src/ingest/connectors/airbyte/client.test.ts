import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type FakeAirbyte, startFakeAirbyte } from '../../../../test/support/fakes/fake-airbyte.ts';
import {
  accepted,
  openAirbyteClient,
  problemOf,
} from '../../../../test/support/fakes/fake-airbyte-client.ts';
import { toJson } from '../../../../test/support/fakes/fake-airbyte-state.ts';
import { airbyteTroubles, type FakeTrouble } from '../../../../test/support/fakes/fake-airbyte-troubles.ts';
import { keptLog } from '../../../../test/support/probes/signals.ts';
import { fetchErrors } from '../../../lib/fetch/errors.ts';
import { createAirbyteClient } from './client.ts';
import { isTerminal, verdictOf } from './types.ts';

/** A fake with one connection, and a client for it. */
async function open(settings: Parameters<typeof openAirbyteClient>[1] = {}) {
  const airbyte = await startFakeAirbyte();
  const { connectionId } = airbyte.addConnection();
  return { airbyte, connectionId, ...openAirbyteClient(airbyte, settings) };
}

const runIdsOf = (airbyte: FakeAirbyte, connectionId: string) =>
  airbyte.jobsOf(connectionId).map(({ runId }) => String(runId));

describe('a sync', () => {
  test('is triggered, polled with every digit of its id, and seen to end', async () => {
    const { airbyte, connectionId, client } = await open();
    const made = accepted(await client.triggerSync(connectionId));
    expect(made).toMatchObject({ connectionId, status: 'pending', jobType: 'sync', durationSeconds: null });
    expect([made.runId]).toEqual(runIdsOf(airbyte, connectionId));
    expect(Number.isSafeInteger(Number(made.runId))).toBe(false);
    expect(accepted(await client.getJob(made.runId)).status).toBe('running');
    airbyte.advance(90_000);
    const ended = accepted(await client.getJob(made.runId));
    expect(ended).toMatchObject({ status: 'succeeded', rowsSynced: 42, bytesSynced: 4_200 });
    expect(ended.durationSeconds).toBeGreaterThanOrEqual(90);
    expect(ended.lastUpdatedAt).toBeInstanceOf(Date);
  });

  test('is cancelled', async () => {
    const { airbyte, connectionId, client } = await open();
    const { runId } = accepted(await client.triggerSync(connectionId));
    expect(accepted(await client.cancelJob(runId))).toMatchObject({ runId, status: 'cancelled' });
    expect(airbyte.jobsOf(connectionId).map(({ status }) => status)).toEqual(['cancelled']);
  });

  test('with an unknown status counts as running, and is logged once', async () => {
    const { airbyte, connectionId, client, logged } = await open();
    const { runId } = accepted(await client.triggerSync(connectionId));
    airbyte.finish(runId, 'hibernating');
    const job = airbyte.state.findJob(runId);
    if (job) job.upcoming = [];
    for (let poll = 0; poll < 3; poll += 1) {
      expect(verdictOf(accepted(await client.getJob(runId)).status)).toBe('going_on');
    }
    await client.listJobs({ connectionId });
    expect(logged.map(({ status }) => status)).toEqual(['hibernating']);
  });
});

test.each([
  ['pending', 'going_on'],
  ['queued', 'going_on'],
  ['running', 'going_on'],
  ['incomplete', 'going_on'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['cancelled', 'canceled'],
  ['something new', 'going_on'],
  ['constructor', 'going_on'],
])('the status %s means %s', (status, verdict) => {
  expect(verdictOf(status)).toBe(verdict);
  expect(isTerminal(status)).toBe(verdict !== 'going_on');
});

describe('a list of jobs', () => {
  test('has the newest first, even of two created in one second, and only those since a given time', async () => {
    const { airbyte, connectionId, client } = await open();
    airbyte.state.makeJob(connectionId, { status: 'failed' });
    airbyte.advance(60_000);
    const createdSince = new Date(airbyte.nowMs() - 30_000);
    airbyte.state.makeJob(connectionId, { status: 'succeeded' });
    airbyte.state.makeJob(connectionId);
    const newestFirst = runIdsOf(airbyte, connectionId).toReversed();
    const all = accepted(await client.listJobs({ connectionId }));
    const recent = accepted(await client.listJobs({ connectionId, createdSince }));
    const one = accepted(await client.listJobs({ connectionId, limit: 1 }));
    expect(all.map(({ runId }) => runId)).toEqual(newestFirst);
    expect(recent.map(({ runId }) => runId)).toEqual(newestFirst.slice(0, 2));
    expect(one.map(({ runId }) => runId)).toEqual(newestFirst.slice(0, 1));
  });

  test('contains jobs of every kind, and never one of another connection', async () => {
    const { airbyte, connectionId, client } = await open();
    const other = airbyte.state.makeJob(airbyte.addConnection().connectionId);
    airbyte.state.makeJob(connectionId, { jobType: 'reset' });
    const kinds = accepted(await client.listJobs({ connectionId })).map(({ jobType }) => jobType);
    expect(kinds).toEqual(['reset']);
    // A server that does not know the filter.
    const body = { data: [airbyte.state.jobView(other)] };
    airbyte.trouble({ kind: 'list_jobs' }, { type: 'answer', status: 200, body });
    expect(accepted(await client.listJobs({ connectionId }))).toEqual([]);
  });
});

describe('a connection', () => {
  test('is read by its id', async () => {
    const { airbyte, connectionId, client } = await open();
    const { sourceId, destinationId, workspaceId, name } = airbyte.addConnection({ connectionId });
    expect(accepted(await client.getConnection(connectionId))).toEqual({
      connectionId,
      name,
      status: 'active',
      workspaceId,
      scheduleType: 'manual',
      sourceId,
      destinationId,
    });
  });

  test('is listed page by page with the others of its workspace only', async () => {
    const { airbyte, client } = await open();
    const workspaceId = randomUUID();
    const wanted = Array.from({ length: 5 }, () => airbyte.addConnection({ workspaceId }).connectionId);
    const found: string[] = [];
    for (let offset = 0, hasMore = true; hasMore && offset < 20; offset += 2) {
      const page = accepted(await client.listConnections({ workspaceId, limit: 2, offset }));
      found.push(...page.connections.map((connection) => connection.connectionId));
      hasMore = page.hasMore;
    }
    expect(found).toEqual(wanted);
  });
});

test('a probe distinguishes good credentials from bad ones', async () => {
  const { airbyte, client } = await open();
  expect(await client.probe()).toEqual({ type: 'ok', value: null });
  expect(airbyte.requests.at(-1)).toMatchObject({ kind: 'list_connections', query: { limit: '1' } });
  airbyte.trouble({}, airbyteTroubles.forbidden());
  expect(problemOf(await client.probe()).class).toBe('auth');
});

describe('a refusal', () => {
  const refusals: [string, FakeTrouble, string, string, string][] = [
    ['401', airbyteTroubles.unauthorized(), 'definite', 'auth_error', 'auth'],
    ['403', airbyteTroubles.forbidden(), 'definite', 'forbidden', 'auth'],
    ['404', airbyteTroubles.notFound(), 'definite', 'not_found', 'permanent'],
    ['400', airbyteTroubles.badRequest(), 'definite', 'bad_request', 'permanent'],
    ['422', airbyteTroubles.unprocessable(), 'definite', 'bad_request', 'permanent'],
    ['credits', airbyteTroubles.insufficientCredits(), 'definite', 'insufficient_credits', 'permanent'],
    ['try-again', airbyteTroubles.alreadyRunning('x'), 'definite', 'already_running', 'conflict'],
    ['state', airbyteTroubles.stateConflict(), 'definite', 'state_conflict', 'conflict'],
    ['429', airbyteTroubles.throttled(), 'definite', 'rate_limit', 'rate_limit'],
    ['408', airbyteTroubles.requestTimeout(), 'ambiguous', 'timeout', 'timeout'],
    ['500', airbyteTroubles.serverError(), 'ambiguous', 'server_error', 'server_error'],
    ['503', airbyteTroubles.unavailable(), 'ambiguous', 'server_error', 'server_error'],
    ['502 page', airbyteTroubles.badGateway(), 'ambiguous', 'server_error', 'server_error'],
    ['redirect', answered(302, '', { location: '/login' }), 'definite', 'wrong_address', 'address'],
    ['404 page', answered(404, '<html>nothing here</html>'), 'definite', 'wrong_address', 'address'],
    [
      '404 without a problem',
      answered(404, { message: 'Not Found' }),
      'definite',
      'wrong_address',
      'address',
    ],
    ['200 page', answered(200, '<html>log in</html>'), 'ambiguous', 'wrong_address', 'address'],
    ['200 list', answered(200, []), 'ambiguous', 'bad_answer', 'server_error'],
  ];
  test.each(refusals)(
    'a refusal of the kind %s gets its class',
    async (_kind, trouble, type, code, itsClass) => {
      const { airbyte, connectionId, client } = await open();
      airbyte.trouble({}, trouble);
      const answer = await client.triggerSync(connectionId);
      expect(answer.type).toBe(type);
      expect(problemOf(answer)).toMatchObject({ code, class: itsClass, retryAfterMs: null });
      expect(problemOf(answer).status).toBe('status' in trouble ? trouble.status : null);
      expect(airbyte.requestsOf('trigger')).toHaveLength(1);
    },
  );

  test('repeats in one short line what Airbyte said', async () => {
    const { airbyte, connectionId, client } = await open();
    const detail = `one\n${'and more '.repeat(100)}`;
    airbyte.trouble({}, answered(400, { title: 'bad', detail }));
    const { message } = problemOf(await client.triggerSync(connectionId));
    expect(message).toMatch(/^Airbyte returned 400 \(bad: one and more [^\n]*…\)\. Check/);
    expect(message.length).toBeLessThan(500);
  });

  test('a refusal of a second trigger names the conflict, and an unknown conflict counts as one of state', async () => {
    const { airbyte, connectionId, client } = await open();
    accepted(await client.triggerSync(connectionId));
    expect(problemOf(await client.triggerSync(connectionId)).code).toBe('already_running');
    airbyte.trouble({ times: 1 }, answered(409, { message: 'no' }));
    expect(problemOf(await client.triggerSync(connectionId)).code).toBe('state_conflict');
    const detail = 'The connection is already running out of its licence';
    airbyte.trouble({ times: 1 }, answered(409, { title: 'state-conflict', detail }));
    expect(problemOf(await client.triggerSync(connectionId)).code).toBe('state_conflict');
  });

  test('with Retry-After says how long to wait, reading a date by Airbyte’s clock', async () => {
    const airbyte = await startFakeAirbyte({ clockAheadMs: -3_600_000 });
    const { client } = openAirbyteClient(airbyte);
    const inTwoMinutes = new Date(airbyte.nowMs() + 120_000).toUTCString();
    const waits: (number | null)[] = [];
    for (const retryAfter of ['17', inTwoMinutes, 'soon', '999999999']) {
      airbyte.trouble({ times: 1 }, airbyteTroubles.throttled(retryAfter));
      waits.push(problemOf(await client.probe()).retryAfterMs);
    }
    expect(waits[0]).toBe(17_000);
    expect(waits[1]).toBeGreaterThan(100_000);
    expect(waits[1]).toBeLessThanOrEqual(121_000);
    expect(waits[2]).toBeNull();
    expect(waits[3]).toBe(24 * 3_600_000);
  });
});

describe('without a response', () => {
  test.each([
    [true, 1],
    [false, 0],
  ])('a trigger that hangs (made: %s) is ambiguous after its own time limit', async (done, jobs) => {
    const { airbyte, connectionId, client } = await open({ triggerTimeoutMs: 1_500, timeoutMs: 60_000 });
    airbyte.trouble({ kind: 'trigger' }, { type: 'hang', done });
    const answer = await client.triggerSync(connectionId);
    expect(answer).toMatchObject({
      type: 'ambiguous',
      problem: { code: 'timeout', class: 'timeout', status: null },
    });
    expect(accepted(await client.listJobs({ connectionId }))).toHaveLength(jobs);
  });

  test('other requests have their own time limit', async () => {
    const { airbyte, client } = await open({ triggerTimeoutMs: 60_000, timeoutMs: 200 });
    airbyte.trouble({}, { type: 'hang', done: false });
    expect(problemOf(await client.getJob('17')).code).toBe('timeout');
    expect(problemOf(await client.probe()).code).toBe('timeout');
  });

  test.each([
    [{ type: 'cut', done: true } as const],
    [{ type: 'cut', done: false } as const],
    [{ type: 'truncated' } as const],
  ])('a connection that was cut (%j) is ambiguous and not tried twice', async (trouble) => {
    const { airbyte, connectionId, client } = await open();
    airbyte.trouble({ kind: 'trigger' }, trouble);
    const answer = await client.triggerSync(connectionId);
    expect(answer).toMatchObject({ type: 'ambiguous', problem: { code: 'connection_error', status: null } });
    expect(airbyte.requestsOf('trigger')).toHaveLength(1);
  });

  test('an Airbyte that is down is a connection error, until it is back', async () => {
    const { airbyte, connectionId, client } = await open();
    accepted(await client.probe());
    await airbyte.goDown();
    const answer = await client.triggerSync(connectionId);
    // Airbyte was away, so no run was created.
    expect(answer).toMatchObject({ type: 'definite', problem: { class: 'connection' } });
    await airbyte.comeBack();
    expect(accepted(await client.triggerSync(connectionId)).connectionId).toBe(connectionId);
  });

  test('a caller who gives up gets its own reason, before and during the call', async () => {
    const { airbyte, connectionId, client } = await open();
    airbyte.trouble({ kind: 'trigger' }, { type: 'hang', done: true });
    const giveUp = new AbortController();
    const asking = client.triggerSync(connectionId, { signal: giveUp.signal });
    await airbyte.untilRequests('trigger', 1);
    // One of ours, which must not be taken for an error of the exchange.
    giveUp.abort(fetchErrors.raise.fetch_failed('the lease is gone'));
    await expect(asking).rejects.toThrow('the lease is gone');
    const late = client.triggerSync(connectionId, { signal: giveUp.signal });
    await expect(late).rejects.toThrow('the lease is gone');
    expect(airbyte.requestsOf('trigger')).toHaveLength(1);
  });
});

describe('a response that cannot be trusted', () => {
  test('is one about another job or connection than requested', async () => {
    const { airbyte, connectionId, client } = await open();
    const other = airbyte.state.makeJob(airbyte.addConnection().connectionId);
    airbyte.trouble({}, answered(200, airbyte.state.jobView(other)));
    expect(await client.triggerSync(connectionId)).toMatchObject({
      type: 'ambiguous',
      problem: { code: 'bad_answer' },
    });
    expect(problemOf(await client.getJob('17')).code).toBe('bad_answer');
    expect(problemOf(await client.getConnection(connectionId)).code).toBe('bad_answer');
  });

  test('is one with more bytes than any job needs', async () => {
    const { airbyte, connectionId, client } = await open();
    const job = airbyte.state.makeJob(connectionId);
    const padded = `${toJson(airbyte.state.jobView(job))}${' '.repeat(2 * 1024 * 1024)}`;
    airbyte.trouble({}, answered(200, padded));
    const problem = problemOf(await client.getJob(String(job.runId)));
    expect(problem).toMatchObject({ code: 'bad_answer', class: 'server_error' });
  });
});

describe('invalid input', () => {
  test.each(['', '.', '..'])('an id of %j is not sent, because it leads to another path', async (id) => {
    const { airbyte, client } = await open();
    expect(await client.getConnection(id)).toMatchObject({
      type: 'definite',
      problem: { code: 'bad_request' },
    });
    expect(await client.getJob(id)).toMatchObject({ type: 'definite', problem: { code: 'bad_request' } });
    expect(airbyte.requests).toEqual([]);
  });

  test('a slash in an id stays in the id', async () => {
    const { airbyte, client } = await open();
    expect(problemOf(await client.getConnection('../jobs')).code).toBe('bad_request');
    expect(airbyte.requests.at(-1)).toMatchObject({ kind: 'get_connection', connectionId: '../jobs' });
    expect(airbyte.takeFaults()).toHaveLength(1);
  });

  const token = { type: 'token', token: 'sesame-1234' } as const;
  test.each([
    ['an invalid base URL', { baseUrl: 'api.airbyte.com' }, 'AIRBYTE_BASE_URL'],
    ['a password in the base URL', { baseUrl: 'https://u:sesame-1234@x/v1' }, 'AIRBYTE_BASE_URL'],
    ['an empty token', { credentials: { type: 'token', token: ' ' } as const }, 'AIRBYTE_API_TOKEN'],
    [
      'a token with a line break',
      { credentials: { type: 'token', token: 'a\nb' } as const },
      'AIRBYTE_API_TOKEN',
    ],
    [
      'an empty secret',
      { credentials: { type: 'client', clientId: 'x', clientSecret: '' } as const },
      'AIRBYTE_CLIENT_SECRET',
    ],
  ])('%s is refused at the start, by the name of its setting', (_what, change, setting) => {
    const { logger } = keptLog();
    const settings = {
      baseUrl: 'https://api.example.com/v1',
      credentials: token,
      userAgent: 'test/1',
      ...change,
    };
    const create = () => createAirbyteClient(settings, { logger });
    expect(create).toThrow(setting);
    expect(create).not.toThrow('sesame');
  });

  test('a slash at the end of the base URL and a line break after the token do no harm', async () => {
    const airbyte = await startFakeAirbyte();
    const { client } = openAirbyteClient(airbyte, {
      baseUrl: `${airbyte.url}//`,
      credentials: { type: 'token', token: `${airbyte.settings.fixedToken}\n` },
    });
    expect((await client.probe()).type).toBe('ok');
  });
});

function answered(status: number, body: unknown, headers: Record<string, string> = {}): FakeTrouble {
  return { type: 'answer', status, body, headers };
}
