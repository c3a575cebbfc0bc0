import { describe, expect, test } from 'vitest';
import { startFakeAirbyte } from './fake-airbyte.ts';
import { ask, runningSync, tokenFrom, trigger } from './fake-airbyte-questions.ts';
import { airbyteTroubles, type FakeTrouble } from './fake-airbyte-troubles.ts';

describe('a trouble', () => {
  const answers: [string, FakeTrouble, number, string][] = [
    ['401', airbyteTroubles.unauthorized(), 401, 'unauthorized'],
    ['403', airbyteTroubles.forbidden(), 403, 'forbidden'],
    ['408', airbyteTroubles.requestTimeout(), 408, 'request-timeout'],
    ['try-again-later', airbyteTroubles.alreadyRunning('x'), 409, 'try-again-later'],
    ['state-conflict', airbyteTroubles.stateConflict(), 409, 'state-conflict'],
    ['credits', airbyteTroubles.insufficientCredits(), 422, 'error:billing/insufficient-credit-balance'],
    ['422', airbyteTroubles.unprocessable(), 422, 'unprocessable-entity'],
    ['500', airbyteTroubles.serverError(), 500, 'unexpected-problem'],
    ['503', airbyteTroubles.unavailable(), 503, 'service-unavailable'],
  ];
  test.each(answers)('gets Airbyte’s response and makes no job: %s', async (...given) => {
    const [, trouble, status, type] = given;
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    airbyte.trouble({}, trouble);
    const answer = await trigger(airbyte, connectionId);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.body).toMatchObject({ status, type: expect.stringContaining(type) });
    expect(answer.body).toHaveProperty('data.message');
    expect(airbyte.jobsOf(connectionId)).toHaveLength(0);
  });

  test('hits as many requests as configured, then the next trouble follows', async () => {
    const airbyte = await startFakeAirbyte();
    airbyte.trouble({ times: 2 }, airbyteTroubles.serverError());
    airbyte.trouble({ times: 1 }, airbyteTroubles.badGateway());
    const seen: number[] = [];
    for (let index = 0; index < 4; index += 1) seen.push((await ask(airbyte, 'GET /connections')).status);
    expect(seen).toEqual([500, 500, 502, 200]);
  });

  test('lasts until it is ended', async () => {
    const airbyte = await startFakeAirbyte();
    const end = airbyte.trouble({}, airbyteTroubles.unavailable());
    expect((await ask(airbyte, 'GET /connections')).status).toBe(503);
    end();
    expect((await ask(airbyte, 'GET /connections')).status).toBe(200);
    airbyte.trouble({}, airbyteTroubles.unavailable());
    airbyte.recover();
    expect((await ask(airbyte, 'GET /connections')).status).toBe(200);
  });

  test('hits the triggers, jobs and lists of its connection, and no other connection', async () => {
    const airbyte = await startFakeAirbyte();
    const { connection, runId } = await runningSync(airbyte, ['running']);
    const { connectionId } = connection;
    const other = airbyte.addConnection().connectionId;
    airbyte.trouble({ connectionId }, airbyteTroubles.unauthorized());
    expect((await trigger(airbyte, connectionId)).status).toBe(401);
    expect((await ask(airbyte, `GET /jobs/${runId}`)).status).toBe(401);
    expect((await ask(airbyte, `GET /jobs?connectionId=${connectionId}`)).status).toBe(401);
    expect((await ask(airbyte, `GET /connections/${connectionId}`)).status).toBe(401);
    expect((await trigger(airbyte, other)).status).toBe(200);
    expect((await ask(airbyte, 'GET /connections?limit=1')).status).toBe(200);
  });

  test('has no Retry-After as a rate limit unless configured', async () => {
    const airbyte = await startFakeAirbyte();
    airbyte.trouble({ times: 1 }, airbyteTroubles.throttled());
    airbyte.trouble({ times: 1 }, airbyteTroubles.throttled('17'));
    const plain = await ask(airbyte, 'GET /connections');
    expect(plain.status).toBe(429);
    expect(plain.body).toEqual({ message: 'You are being rate limited.' });
    expect(plain.headers.has('retry-after')).toBe(false);
    expect((await ask(airbyte, 'GET /connections')).headers.get('retry-after')).toBe('17');
  });

  test('counts all requests of the user as a rate limit, whatever token they carry', async () => {
    const airbyte = await startFakeAirbyte({ rateLimit: { max: 2, windowMs: 1_000 } });
    const token = await tokenFrom(airbyte);
    expect((await ask(airbyte, 'GET /connections')).status).toBe(200);
    expect((await ask(airbyte, 'GET /connections', { token })).status).toBe(429);
    airbyte.advance(2_000);
    expect((await ask(airbyte, 'GET /connections', { token })).status).toBe(200);
  });
});

describe('a trigger that gets no answer', () => {
  const broken: [string, FakeTrouble, number][] = [
    ['cut after the job was made', { type: 'cut', done: true }, 1],
    ['cut before', { type: 'cut', done: false }, 0],
    ['broken off in the answer', { type: 'truncated' }, 1],
  ];
  test.each(broken)('because it is %s leaves the expected number of jobs', async (_how, trouble, jobs) => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    airbyte.trouble({ kind: 'trigger' }, trouble);
    await expect(trigger(airbyte, connectionId)).rejects.toThrow();
    expect(airbyte.jobsOf(connectionId)).toHaveLength(jobs);
  });

  test.each([true, false])('because it hangs leaves a job only if done is true: %s', async (done) => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    airbyte.trouble({ kind: 'trigger' }, { type: 'hang', done });
    const giveUp = new AbortController();
    const body = { connectionId, jobType: 'sync' };
    const asking = ask(airbyte, 'POST /jobs', { body, signal: giveUp.signal });
    await airbyte.untilRequests('trigger', 1);
    giveUp.abort();
    await expect(asking).rejects.toThrow();
    expect(airbyte.jobsOf(connectionId)).toHaveLength(done ? 1 : 0);
  });

  test('may return 408 although it has made its job', async () => {
    const airbyte = await startFakeAirbyte();
    const { connectionId } = airbyte.addConnection();
    airbyte.trouble({ kind: 'trigger', times: 1 }, airbyteTroubles.madeButTimedOut());
    expect((await trigger(airbyte, connectionId)).status).toBe(408);
    expect((await trigger(airbyte, connectionId)).status).toBe(409);
  });
});
