import { expect, onTestFinished, test } from 'vitest';
import { type ItemServer, installationEnv, startServer, startWorker } from '../chaos/items-stage.ts';
import { type BucketRules, startBucketProvider } from '../support/fakes/bucket-provider.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { skusOf } from '../support/worlds/provider-jobs.ts';

// What a tenant sets for a provider holds for all processes together; the provider's own ledger is the judge.
const database = useDatabase();
const sluice = useCommandLine();

async function open(rules: BucketRules, env: Record<string, string> = {}) {
  const provider = await startBucketProvider(rules);
  onTestFinished(() => provider.close());
  const all = { ...installationEnv(database, { leaseMs: 30_000 }), ...env };
  const server = await startServer(sluice, { ...all, SLUICE_WORKER: 'true' });
  onTestFinished(() => void server.running.child.kill('SIGKILL'));
  const tenantId = await newTenant(database);
  const host = new URL(provider.url).host;
  const ask = async (rows: number, options: object = {}): Promise<string> => {
    const { status, body } = await server.upload(tenantId, {
      name: 'products',
      processor: 'http',
      options: { request: { url: `${provider.url}/items/{{sku}}` }, ...options },
      csv: `sku\n${skusOf('ok', rows).join('\n')}\n`,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return String(body.jobId);
  };
  return { provider, server, tenantId, host, ask, env: all };
}

async function set(server: ItemServer, { tenantId, host }: { tenantId: string; host: string }, body: object) {
  const path = `/api/providers/${encodeURIComponent(host)}`;
  const answer = await server.call(tenantId, 'PUT', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

const listed = async (server: ItemServer, tenantId: string) =>
  (await server.call(tenantId, 'GET', '/api/providers')).body.data as Record<string, unknown>[];

async function isDone(jobId: string): Promise<boolean> {
  const rows = await database.owner<{ status: string }>(
    'select status from ingestion_jobs where job_id = $1',
    [jobId],
  );
  return rows[0]?.status === 'success';
}

test('a rate and a number of calls at once hold for all processes together', {
  timeout: 180_000,
}, async () => {
  const world = await open({ latencyMs: 150 });
  const { server, provider, tenantId, host } = world;
  const second = startWorker(sluice, world.env);
  onTestFinished(() => void second.running.child.kill('SIGKILL'));
  await eventually(async () => second.workerId !== null, 'the second worker runs', 60_000);
  expect(await set(server, world, { rate_per_second: 10, concurrency: 2 })).toMatchObject({
    host,
    rate_per_second: 10,
    concurrency: 2,
  });
  const jobId = await world.ask(60);
  await eventually(() => isDone(jobId), 'the rows are done', 120_000);
  const starts = provider.calls.map(({ atMs }) => atMs);
  const inASecond = starts.map((from) => starts.filter((at) => at >= from && at < from + 1_000).length);
  expect(Math.max(...inASecond)).toBeLessThanOrEqual(12);
  const openThen = provider.calls.map(
    ({ atMs }) =>
      provider.calls.filter((one) => one.atMs <= atMs && (one.answeredAtMs ?? Infinity) > atMs).length,
  );
  expect(Math.max(...openThen)).toBeLessThanOrEqual(2);
  const [shown] = await listed(server, tenantId);
  expect(shown).toMatchObject({ host, calls_today: 60, breaker: 'closed' });
  expect(shown?.pace).toMatchObject({ reason: expect.any(String) });
});

test('a daily budget stops the calls, says so on the rows, and a higher one lets them go on', {
  timeout: 180_000,
}, async () => {
  const world = await open({ latencyMs: 5 });
  const { server, provider, tenantId } = world;
  await set(server, world, { daily_budget: 5 });
  const jobId = await world.ask(12);
  const rowsOf = async () =>
    (await server.call(tenantId, 'GET', `/api/jobs/${jobId}/items?pageSize=100`)).body.data as {
      status: string;
      attempts: number;
      waitingFor: string | null;
      nextAttemptAt: string | null;
    }[];
  await eventually(
    async () => (await rowsOf()).filter((row) => row.waitingFor === 'budget').length === 7,
    'the other rows wait for the budget',
    60_000,
  );
  expect(provider.calls).toHaveLength(5);
  for (const row of await rowsOf()) {
    if (row.status !== 'PENDING') continue;
    expect(row.attempts).toBe(0);
    expect(new Date(row.nextAttemptAt ?? 0).getTime()).toBeGreaterThan(Date.now());
  }
  await set(server, world, { daily_budget: 100 });
  await eventually(() => isDone(jobId), 'the rows are done', 60_000);
  expect(provider.calls).toHaveLength(12);
});

test('a long Retry-After is on every waiting row, and holds no slot', { timeout: 120_000 }, async () => {
  const world = await open({ retryAfter: 30, always: () => 429 }, { SLUICE_WORKER_CONCURRENCY: '1' });
  const { server, tenantId } = world;
  const jobId = await world.ask(40);
  await eventually(
    async () => {
      const { body } = await server.call(tenantId, 'GET', `/api/jobs/${jobId}/items?pageSize=100`);
      const rows = body.data as { waitingFor: string | null; nextAttemptAt: string | null }[];
      return rows.every(({ waitingFor, nextAttemptAt }) => waitingFor !== null && nextAttemptAt !== null);
    },
    'every row says what it waits for',
    60_000,
  );
  const noop = await server.upload(tenantId, { name: 'n', processor: 'noop', options: {}, csv: 'a\n1\n' });
  await eventually(() => isDone(String(noop.body.jobId)), 'the only slot is free for other work', 20_000);
});

test('rows say what they wait for while a pause is short, too', { timeout: 120_000 }, async () => {
  const { server, tenantId, ask } = await open({ retryAfter: 1, always: () => 429 });
  const jobId = await ask(400);
  await eventually(
    async () => {
      const path = `/api/jobs/${jobId}/items?statuses=PENDING&pageSize=500`;
      const { body } = await server.call(tenantId, 'GET', path);
      const rows = body.data as { waitingFor: string | null; nextAttemptAt: string | null }[];
      const doSay = rows.filter(
        ({ waitingFor, nextAttemptAt }) =>
          waitingFor !== null && Date.parse(nextAttemptAt ?? '') > Date.now() - 100,
      );
      return doSay.length > 100 && doSay.length === rows.length;
    },
    'every row says what it waits for',
    60_000,
  );
});

test('every attempt of a row has a key of its own', { timeout: 120_000 }, async () => {
  const world = await open({ failures: { status: 0.4 }, latencyMs: 5 });
  const jobId = await world.ask(20);
  await eventually(() => isDone(jobId), 'the rows are done', 90_000);
  const { body } = await world.server.call(world.tenantId, 'POST', `/api/jobs/${jobId}/reprocess`, {
    statuses: ['DONE', 'ERROR'],
    resetAttempts: true,
  });
  expect(body).toMatchObject({ reset: 20 });
  await eventually(() => isDone(jobId), 'the rows are done again', 90_000);
  const keys = world.provider.calls.map(({ key }) => key);
  expect(keys.length).toBeGreaterThanOrEqual(40);
  expect(keys.every((key) => key?.startsWith(jobId))).toBe(true);
  expect(new Set(keys).size).toBe(keys.length);
});

test('an address that is refused is refused when the job is made, with the setting that allows it', {
  timeout: 120_000,
}, async () => {
  const world = await open({}, { SLUICE_BLOCK_PRIVATE_ADDRESSES: 'true' });
  for (const url of ['http://127.0.0.1:9/x', 'http://localhost:8080/x/{{sku}}', 'http://10.0.0.1/x']) {
    const { status, body } = await world.server.upload(world.tenantId, {
      name: 'products',
      processor: 'http',
      options: { request: { url } },
      csv: 'sku\na\n',
    });
    expect(status, url).toBe(422);
    expect(body).toMatchObject({ code: 'address_blocked' });
    expect(String(body.detail)).toContain('SLUICE_BLOCK_PRIVATE_ADDRESSES');
  }
});
