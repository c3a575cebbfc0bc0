import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { type FakeAirbyte, startFakeAirbyte } from '../../../../test/support/fakes/fake-airbyte.ts';
import { clientCredentials, openAirbyteClient } from '../../../../test/support/fakes/fake-airbyte-client.ts';
import { airbyteTroubles, type FakeTrouble } from '../../../../test/support/fakes/fake-airbyte-troubles.ts';
import type { AirbyteAnswer, AirbyteClient, AirbyteCredentials } from './types.ts';

const connectionId = 'b53a6c5e-3b6f-4a60-8c7e-5f2f1f0f6a11';

const calls: ((client: AirbyteClient) => Promise<AirbyteAnswer<unknown>>)[] = [
  (client) => client.triggerSync(connectionId),
  (client) => client.getJob('17'),
  (client) => client.listJobs({ connectionId }),
  (client) => client.cancelJob('17'),
  (client) => client.getConnection(connectionId),
  (client) => client.listConnections({ workspaceId: connectionId, limit: 10, offset: 0 }),
  (client) => client.probe(),
];

/** Every kind of failure, quoting the secrets wherever a response has text. */
function troublesQuoting(secrets: string[]): FakeTrouble[] {
  const quote = secrets.join(' and ');
  const said = (status: number): FakeTrouble => ({
    type: 'answer',
    status,
    body: { type: quote, title: quote, detail: `${'x'.repeat(270)} ${quote}`, data: { message: quote } },
    headers: { 'x-echo': secrets.join(', '), location: `/?token=${encodeURIComponent(quote)}` },
  });
  return [
    ...[200, 302, 400, 401, 403, 404, 408, 409, 422, 429, 500, 503].map(said),
    { type: 'answer', status: 200, body: { access_token: `${quote}\n`, expires_in: quote, data: quote } },
    { type: 'answer', status: 500, body: `<html>${quote}` },
    { type: 'answer', status: 200, body: quote },
    airbyteTroubles.throttled(quote),
    { type: 'hang', done: false },
    { type: 'cut', done: false },
    { type: 'truncated' },
  ];
}

/** Everything that could be printed of a value: its JSON, its inspection with hidden members, and its causes. */
function everythingIn(thing: unknown): string {
  const inspected = inspect(thing, { depth: 20, showHidden: true, maxStringLength: null });
  const cause = thing instanceof Error && thing.cause !== undefined ? everythingIn(thing.cause) : '';
  return `${JSON.stringify(thing)}\n${inspected}\n${String(thing)}\n${cause}`;
}

/** Each failure hits the token exchange once, and the calls themselves once. */
async function makeEverythingFail(airbyte: FakeAirbyte, client: AirbyteClient, secret: string) {
  const outcomes: unknown[] = [];
  const callAll = async () => {
    const answers = calls.map((call) => call(client).catch((error: unknown) => error));
    outcomes.push(...(await Promise.all(answers)));
  };
  for (const index of troublesQuoting([]).keys()) {
    for (const kind of ['token', undefined] as const) {
      // With a valid, known token, so that the failure can quote it.
      await client.probe();
      const trouble = troublesQuoting([secret, tokensSeen(airbyte).at(-1) ?? ''])[index];
      if (trouble === undefined) throw new Error('There is no such trouble');
      const end = airbyte.trouble({ kind }, trouble);
      if (kind === 'token') airbyte.expireTokens();
      await callAll();
      end();
    }
  }
  await airbyte.goDown();
  await callAll();
  return outcomes;
}

function tokensSeen({ authorizations }: FakeAirbyte): string[] {
  return authorizations.map((header) => header.replace('Bearer ', ''));
}

test.each(['token', 'client'] as const)('no failure shows a secret (%s mode)', async (mode) => {
  const airbyte = await startFakeAirbyte();
  const { clientSecret, fixedToken } = airbyte.settings;
  const credentials: AirbyteCredentials =
    mode === 'client' ? clientCredentials(airbyte) : { type: 'token', token: fixedToken };
  const limits = { timeoutMs: 1_000, triggerTimeoutMs: 1_000 };
  const { client, logged } = openAirbyteClient(airbyte, { credentials, ...limits });
  const secret = mode === 'client' ? clientSecret : fixedToken;
  const outcomes = await makeEverythingFail(airbyte, client, secret);
  const shown = [...outcomes.map(everythingIn), JSON.stringify(logged)].join('\n');
  const troubles = troublesQuoting([]).length;
  expect(outcomes).toHaveLength((2 * troubles + 1) * calls.length);
  expect(airbyte.requestsOf('trigger').length).toBeGreaterThanOrEqual(troubles);
  // The quotes did arrive, and the client removed the secrets.
  expect(shown).toContain('[redacted]');
  for (const canary of [secret, ...tokensSeen(airbyte)]) {
    expect(shown.includes(canary), `${canary} is shown`).toBe(false);
    expect(shown.includes(canary.slice(0, -4)), `most of ${canary} is shown`).toBe(false);
  }
});
