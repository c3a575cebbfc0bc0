import { Writable } from 'node:stream';
import pino from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const database = useDatabase();
const lines: string[] = [];
const logger = pino(
  { level: 'debug' },
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
);
const client = { airbyteClientId: 'fake-client', airbyteClientSecret: 'fake-client-secret-7f3a91' };
const syncs = useSyncs(database, { logger, airbyteApiToken: null, ...client });

afterEach(async () => {
  syncs.airbyte.recover();
  await syncs.airbyte.comeBack();
});

async function status(role: 'admin' | 'operator' = 'admin'): Promise<Answer> {
  return (await syncs.call({ tenantId: 'anybody', role }, '/api/connectors/status')).body;
}

async function several(count: number): Promise<{ sync: TestSync; jobId: string }[]> {
  const started = [];
  for (let n = 0; n < count; n += 1) {
    const sync = await syncs.connector();
    started.push({ sync, jobId: await syncs.start(sync) });
  }
  return started;
}

describe('a token', () => {
  test('is replaced unnoticed when it expires in the middle of a sync', async () => {
    const sync = await syncs.connector(
      {},
      { plan: { statuses: ['running', 'running', 'succeeded'], rows: 2 } },
    );
    const jobId = await syncs.start(sync);
    await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'running');
    const before = syncs.airbyte.requestsOf('token').length;
    syncs.airbyte.expireTokens();
    expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
      status: 'success',
      retry_count: 0,
    });
    expect(syncs.airbyte.requestsOf('token')).toHaveLength(before + 1);
  });
});

describe('credentials that Airbyte refuses', () => {
  test('make every sync wait, alert the operator, use no retry, and are used again when they work', async () => {
    const [first, second] = await several(2);
    if (!first || !second) throw new Error('There are two syncs');
    syncs.airbyte.trouble({}, airbyteTroubles.unauthorized());
    const seen = await syncs.driveUntil(
      first.sync,
      first.jobId,
      ({ waiting_for }) => waiting_for === 'airbyte_credentials_refused',
    );
    expect(seen).toMatchObject({ status: 'running', retry_count: 0, run_id: null });
    const waiting = await syncs.driveUntil(
      second.sync,
      second.jobId,
      ({ waiting_for }) => waiting_for !== null,
    );
    expect(waiting).toMatchObject({ status: 'running', retry_count: 0 });
    expect((await status()).airbyte).toMatchObject({
      state: expect.stringMatching(/open|probing/),
      reason: expect.stringContaining('refuses the credentials'),
    });
    expect(lines.join('')).toContain('airbyte_credentials_refused');
    syncs.airbyte.recover();
    for (const { sync, jobId } of [first, second]) {
      expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
        status: 'success',
        retry_count: 0,
      });
      expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
    }
    expect((await status()).airbyte).toMatchObject({ state: 'closed', reason: null });
  });
});

describe('an Airbyte that is down', () => {
  test('makes all syncs wait after a few failures, and each ends once with one run when it is back', async () => {
    const started = await several(6);
    await syncs.airbyte.goDown();
    await eventually(async () => {
      await syncs.drive();
      return ((await status()).airbyte as Answer).state !== 'closed';
    }, 'the breaker opens');
    const triedBefore = lines.filter((line) => line.includes('breaker is open')).length;
    expect(triedBefore).toBeGreaterThan(0);
    await syncs.airbyte.comeBack();
    for (const { sync, jobId } of started) {
      const ended = await syncs.driveUntil(sync, jobId, hasEnded, 30_000);
      expect(ended).toMatchObject({ status: 'success' });
      expect(Number(ended.retry_count)).toBeLessThanOrEqual(2);
      expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
    }
  });

  test('loses none of the running syncs', async () => {
    const started = [];
    for (let n = 0; n < 4; n += 1) {
      const sync = await syncs.connector({}, { plan: { statuses: ['running', 'running', 'succeeded'] } });
      const jobId = await syncs.start(sync);
      await syncs.driveUntil(sync, jobId, ({ airbyte_status }) => airbyte_status === 'running');
      started.push({ sync, jobId });
    }
    await syncs.airbyte.goDown();
    for (let round = 0; round < 5; round += 1) await syncs.drive();
    await syncs.airbyte.comeBack();
    for (const { sync, jobId } of started) {
      expect(await syncs.driveUntil(sync, jobId, hasEnded)).toMatchObject({
        status: 'success',
        retry_count: 0,
      });
      expect(syncs.airbyte.jobsOf(sync.connection.connectionId)).toHaveLength(1);
    }
  });
});

test('a run that passes its deadline during an outage becomes a dead letter that knows its run', async () => {
  const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
  const jobId = await syncs.start(sync);
  const { run_id: runId } = await syncs.driveUntil(sync, jobId, ({ run_id }) => run_id !== null);
  await database.owner(
    `insert into circuit_breakers (dependency, state, opened_at, probe_at)
     values ('airbyte', 'open', now(), now() + interval '1 hour')
     on conflict (dependency) do update set state = 'open', probe_at = excluded.probe_at`,
  );
  const waiting = await syncs.driveUntil(sync, jobId, ({ waiting_for }) => waiting_for !== null);
  expect(waiting).toMatchObject({ status: 'running', waiting_for: 'airbyte_unavailable' });
  await database.owner(
    `update ingestion_jobs
        set run_at = now(),
            checkpoint = jsonb_set(checkpoint, '{run,followedSince}', '"2020-01-01T00:00:00.000Z"')
      where job_id = $1`,
    [jobId],
  );
  const ended = await syncs.driveUntil(sync, jobId, hasEnded);
  await database.owner(`delete from circuit_breakers where dependency = 'airbyte'`);
  expect(ended).toMatchObject({ status: 'dead_letter', error_code: 'sync_deadline_exceeded', run_id: runId });
});

test('neither the client’s secret nor a token is in a log, an event, a row or a response', async () => {
  const sync = await syncs.connector();
  const { connectionId } = sync.connection;
  // What a server can repeat: the token of the request, and the secret that the token was got with.
  const echo = `${syncs.airbyte.authorizations.at(-1)} ${client.airbyteClientSecret}`;
  const body = { status: 500, type: 'x', title: 'x', detail: `you sent ${echo}` };
  syncs.airbyte.trouble({ kind: 'trigger', connectionId }, { type: 'answer', status: 500, body });
  const jobId = await syncs.start(sync);
  const ended = await syncs.driveUntil(sync, jobId, hasEnded);
  expect(ended).toMatchObject({ status: 'dead_letter' });
  await syncs.call({ ...sync, role: 'operator' }, '/api/connections');
  const answers = [
    ended,
    await status('operator'),
    (await syncs.call(sync, '/api/connectors')).body,
    (await syncs.call({ ...sync, role: 'support' }, '/api/dead-letters')).body,
  ];
  const rows = await Promise.all(
    ['ingestion_jobs', 'events', 'connectors', 'circuit_breakers', 'rate_limits', 'idempotency_keys'].map(
      (table) => database.owner(`select t::text as row from ${table} t`),
    ),
  );
  const everything = JSON.stringify([answers, rows, lines]);
  const secrets = [
    client.airbyteClientSecret,
    ...syncs.airbyte.authorizations.map((text) => text.replace('Bearer ', '')),
  ];
  expect(secrets.length).toBeGreaterThan(2);
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
  // The search itself works.
  expect(everything).toContain(connectionId);
});
