import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/cli/commands/doctor/checks.ts';
import { airbyteTroubles, type FakeTrouble } from '../support/fakes/fake-airbyte-troubles.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { type Answer, hasEnded, useSyncs } from '../support/servers/sync-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database);
const sluice = useCommandLine();

afterEach(() => syncs.airbyte.recover());

const page: FakeTrouble = { type: 'answer', status: 200, body: '<!doctype html><title>Log in</title>' };
const wrongAddresses: [string, FakeTrouble][] = [
  ['a 404 without a problem', { type: 'answer', status: 404, body: { message: 'Not Found' } }],
  ['a 404 page', { type: 'answer', status: 404, body: '<html>404</html>' }],
  ['a login page', page],
  [
    'a redirect to a login',
    { type: 'answer', status: 302, body: '', headers: { location: 'https://sso.example/login' } },
  ],
];

describe('a base URL that leads elsewhere', () => {
  test.each(wrongAddresses)(
    'makes syncs wait for the right one and dead-letters none (%s)',
    async (_what, trouble) => {
      const sync = await syncs.connector();
      syncs.airbyte.trouble({}, trouble);
      const jobId = await syncs.start(sync);
      const waits = ({ waiting_for: reason }: Answer) => reason === 'airbyte_wrong_address';
      const waiting = await syncs.driveUntil(sync, jobId, waits);
      expect(waiting).toMatchObject({ status: 'running', retry_count: 0 });
      const { body } = await syncs.call(sync, '/api/connectors/status');
      expect(body).toMatchObject({
        airbyte: { state: 'open', reason: expect.stringContaining('is not the API of Airbyte') },
      });
      syncs.airbyte.recover();
      expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
        status: 'success',
        retry_count: 0,
      });
      expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
    },
  );

  test('does not end a sync that is being polled', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running', 'running', 'succeeded'] } });
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ run_id: runId }) => runId !== null);
    syncs.airbyte.trouble({ kind: 'get_job' }, page);
    await syncs.driveUntil(sync, jobId, ({ waiting_for: reason }) => reason === 'airbyte_wrong_address');
    syncs.airbyte.recover();
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({ status: 'success' });
  });
});

describe('a connection that is enrolled', () => {
  const enrol = async (fields: object, connectionId: string = randomUUID()) =>
    syncs.call({ tenantId: await newTenant(database) }, '/api/connectors', 'POST', {
      name: 'A shop',
      external_account_id: 'shop',
      airbyte_connection_id: connectionId,
      ...fields,
    });

  test('is refused when Airbyte does not know it', async () => {
    const { status, body } = await enrol({});
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'connection_unknown' });
    const deleted = syncs.airbyte.addConnection({ status: 'deprecated' });
    expect((await enrol({}, deleted.connectionId)).body).toMatchObject({ code: 'connection_unknown' });
  });

  test.each([
    ['is inactive', { status: 'inactive' }, 'connection_inactive'],
    ['has a schedule of its own', { scheduleType: 'cron' }, 'connection_scheduled'],
  ])('gets a warning when it %s', async (_what, connection, code) => {
    const { connectionId } = syncs.airbyte.addConnection(connection);
    const { status, body } = await enrol({}, connectionId);
    expect(status).toBe(201);
    expect(body.warnings).toMatchObject([{ code }]);
  });

  test('is taken with a warning while Airbyte is away', async () => {
    syncs.airbyte.trouble({ kind: 'get_connection' }, airbyteTroubles.unavailable());
    const { status, body } = await enrol({}, syncs.airbyte.addConnection().connectionId);
    expect(status).toBe(201);
    expect(body.warnings).toMatchObject([{ code: 'connection_unchecked' }]);
  });

  test('gets no warning when all is well', async () => {
    const { connectionId } = syncs.airbyte.addConnection();
    expect((await enrol({}, connectionId.toUpperCase())).body.warnings).toEqual([]);
  });
});

test('headers about the rate limit are shown in the status', async () => {
  const sync = await syncs.connector();
  const headers = { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '17' };
  const { connectionId } = sync.connection;
  const run = syncs.airbyte.state.makeJob(connectionId);
  syncs.airbyte.trouble(
    { kind: 'trigger', connectionId, times: 1 },
    { type: 'answer', status: 200, body: syncs.airbyte.state.jobView(run), headers },
  );
  await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
  const { body } = await syncs.call(sync, '/api/connectors/status');
  expect(body).toMatchObject({ airbyte: { rate_limit: { headers, status: 200 } } });
});

test.each([
  ['no record', { rows: 0 }, 'no_records'],
  ['no statistics', { rows: null }, 'no_statistics'],
  ['records', { rows: 3 }, null],
])('a sync that ends with %s says so', async (_what, plan, code) => {
  const sync = await syncs.connector({}, { plan: { statuses: ['succeeded'], ...plan } });
  const jobId = await syncs.start(sync);
  const ended = await syncs.driveUntil(sync, jobId, hasEnded);
  expect(ended).toMatchObject({ status: 'success', result_code: code, error_code: null });
  const completed = (await syncs.events(jobId)).find(({ type }) => type === 'job.completed');
  expect(completed?.data.code ?? null).toBe(code);
});

describe('sluice doctor', () => {
  const look = async (settings: Record<string, string>) => {
    const { code, stdout } = await sluice.runHere(['doctor', '--json'], {
      DATABASE_URL: database.ownerUrl,
      ...settings,
    });
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    return { code, ...findings.find(({ check }) => check === 'airbyte') };
  };
  const right = () => ({
    AIRBYTE_BASE_URL: syncs.airbyte.url,
    AIRBYTE_API_TOKEN: syncs.airbyte.settings.fixedToken,
    AIRBYTE_WORKSPACE_ID: '18dccc91-0ab1-4f72-9ed7-0b8fc27c5826',
  });

  test('passes a working Airbyte', async () => {
    expect(await look(right())).toMatchObject({ code: 0, state: 'ok' });
  });

  test.each([
    [
      'a wrong URL',
      () => ({ AIRBYTE_BASE_URL: syncs.airbyte.url.replace('/v1', '/api') }),
      'not the API of Airbyte',
    ],
    ['a wrong token', () => ({ AIRBYTE_API_TOKEN: 'wrong' }), 'refuses the credentials'],
    ['a missing workspace', () => ({ AIRBYTE_WORKSPACE_ID: randomUUID() }), 'shows no workspace'],
    ['nobody there', () => ({ AIRBYTE_BASE_URL: 'http://127.0.0.1:1/v1' }), 'does not respond'],
  ])('tells %s', async (_what, wrong, sentence) => {
    const finding = await look({ ...right(), ...wrong() });
    expect(finding).toMatchObject({ code: 1, state: 'failed', message: expect.stringContaining(sentence) });
    expect(finding.remedy).not.toBe('');
  });
});
