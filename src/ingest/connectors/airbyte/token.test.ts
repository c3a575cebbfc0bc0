import { describe, expect, test } from 'vitest';
import { type FakeAirbyte, startFakeAirbyte } from '../../../../test/support/fakes/fake-airbyte.ts';
import {
  accepted,
  clientCredentials,
  openAirbyteClient,
  problemOf,
} from '../../../../test/support/fakes/fake-airbyte-client.ts';
import { airbyteTroubles } from '../../../../test/support/fakes/fake-airbyte-troubles.ts';

const statusesOf = ({ requests }: FakeAirbyte) => requests.map(({ kind, status }) => `${kind} ${status}`);

async function open(settings: Parameters<typeof startFakeAirbyte>[0] = {}) {
  const airbyte = await startFakeAirbyte(settings);
  const { connectionId } = airbyte.addConnection();
  const { client } = openAirbyteClient(airbyte, {
    credentials: clientCredentials(airbyte),
    timeoutMs: 5_000,
  });
  return { airbyte, connectionId, client };
}

describe('an access token', () => {
  test('is requested once and used until shortly before it expires', async () => {
    const { airbyte, client } = await open();
    accepted(await client.probe());
    airbyte.advance(830_000);
    accepted(await client.probe());
    expect(airbyte.requestsOf('token')).toHaveLength(1);
    airbyte.advance(15_000);
    accepted(await client.probe());
    expect(statusesOf(airbyte)).not.toContain('list_connections 401');
    expect(airbyte.requestsOf('token')).toHaveLength(2);
  });

  test('an access token that is valid for only a few seconds is still used', async () => {
    const { airbyte, client } = await open({ tokenLifetimeSeconds: 10 });
    for (let call = 0; call < 3; call += 1) accepted(await client.probe());
    expect(airbyte.requestsOf('token')).toHaveLength(1);
  });

  test('is requested once by many callers at once', async () => {
    const { airbyte, client } = await open();
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.probe()));
    for (const answer of answers) accepted(answer);
    expect(airbyte.requestsOf('token')).toHaveLength(1);
    expect(airbyte.authorizations).toHaveLength(1);
  });

  test('an access token that expired early is replaced once for all callers, without an error', async () => {
    const { airbyte, client } = await open();
    accepted(await client.probe());
    airbyte.expireTokens();
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.probe()));
    for (const answer of answers) accepted(answer);
    expect(airbyte.requestsOf('token')).toHaveLength(2);
  });

  test('an access token that is replaced in the middle of a trigger leads to one job', async () => {
    const { airbyte, connectionId, client } = await open();
    accepted(await client.probe());
    airbyte.expireTokens();
    accepted(await client.triggerSync(connectionId));
    expect(airbyte.requestsOf('trigger').map(({ status }) => status)).toEqual([401, 200]);
    expect(airbyte.jobsOf(connectionId)).toHaveLength(1);
  });

  test('still arrives for the others when the caller who requested it gives up', async () => {
    const { airbyte, client } = await open();
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    airbyte.trouble({ kind: 'token', times: 1 }, { type: 'held', until });
    const giveUp = new AbortController();
    const first = client.probe({ signal: giveUp.signal });
    const second = client.probe();
    await airbyte.untilRequests('token', 1);
    giveUp.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    release();
    accepted(await second);
    expect(airbyte.requestsOf('token')).toHaveLength(1);
  });

  test('is not requested by a caller who has already given up', async () => {
    const { airbyte, client } = await open();
    await expect(client.probe({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    // By the time another client has its response, a request would have arrived.
    accepted(await openAirbyteClient(airbyte).client.probe());
    expect(statusesOf(airbyte)).toEqual(['list_connections 200']);
  });
});

describe('a 401', () => {
  test('counts after a try with one new token', async () => {
    const { airbyte, connectionId, client } = await open();
    airbyte.trouble({ connectionId }, airbyteTroubles.unauthorized());
    const answer = await client.triggerSync(connectionId);
    expect(answer).toMatchObject({ type: 'definite', problem: { code: 'auth_error', status: 401 } });
    expect(statusesOf(airbyte)).toEqual(['token 200', 'trigger 401', 'token 200', 'trigger 401']);
    accepted(await client.probe());
  });

  test('counts at once with a configured token', async () => {
    const airbyte = await startFakeAirbyte();
    const { client } = openAirbyteClient(airbyte, { credentials: { type: 'token', token: 'a-wrong-one' } });
    expect(problemOf(await client.probe()).code).toBe('auth_error');
    expect(statusesOf(airbyte)).toEqual(['list_connections 401']);
  });
});

describe('without a token', () => {
  test.each([
    ['401', airbyteTroubles.unauthorized(), 'auth_error'],
    ['400', airbyteTroubles.badRequest(), 'auth_error'],
    ['404', airbyteTroubles.notFound(), 'auth_error'],
    ['429', airbyteTroubles.throttled('30'), 'rate_limit'],
    ['503', airbyteTroubles.unavailable(), 'server_error'],
    ['a cut connection', { type: 'cut', done: false } as const, 'connection_error'],
    ['a page', { type: 'answer', status: 200, body: '<html>' } as const, 'bad_answer'],
  ])('because of %s nothing is sent, so nothing has happened', async (_why, trouble, code) => {
    const { airbyte, connectionId, client } = await open();
    airbyte.trouble({ kind: 'token' }, trouble);
    const answer = await client.triggerSync(connectionId);
    expect(answer).toMatchObject({ type: 'definite', problem: { code } });
    expect(airbyte.requestsOf('trigger')).toEqual([]);
    expect(problemOf(answer).retryAfterMs).toBe(code === 'rate_limit' ? 30_000 : null);
    airbyte.recover();
    accepted(await client.triggerSync(connectionId));
  });
});
