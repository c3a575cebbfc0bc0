import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type ItemServer, installationEnv, startServer } from '../chaos/items-stage.ts';
import {
  type BucketProvider,
  type BucketRules,
  startBucketProvider,
} from '../support/fakes/bucket-provider.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { skusOf } from '../support/worlds/provider-jobs.ts';

// A real provider with a clock of its own decides; of our own clocks only ratios count.
const database = useDatabase();
const sluice = useCommandLine();

async function start(rules: BucketRules, env: Record<string, string> = {}) {
  const provider = await startBucketProvider(rules);
  onTestFinished(() => provider.close());
  const server = await startServer(sluice, {
    ...installationEnv(database, { leaseMs: 30_000 }),
    SLUICE_WORKER: 'true',
    MAX_ATTEMPTS_ERROR: '5',
    ...env,
  });
  onTestFinished(() => void server.running.child.kill('SIGKILL'));
  return { provider, server, tenantId: await newTenant(database) };
}

async function askFor(
  { server, provider, tenantId }: { server: ItemServer; provider: BucketProvider; tenantId: string },
  rows: number,
): Promise<string> {
  const { status, body } = await server.upload(tenantId, {
    name: 'products',
    processor: 'http',
    options: { request: { url: `${provider.url}/items/{{sku}}` } },
    csv: `sku\n${skusOf('ok', rows).join('\n')}\n`,
  });
  expect(status).toBe(201);
  return String(body.jobId);
}

async function stateOf(jobId: string): Promise<string | undefined> {
  const [row] = await database.owner<{ status: string }>(
    'select status from ingestion_jobs where job_id = $1',
    [jobId],
  );
  return row?.status;
}

const untilMoment = async (provider: BucketProvider, atMs: number) => {
  while (provider.nowMs() < atMs) await pause(50);
};

test('a provider that allows 50 calls a second is used at 80 % of that after 10 s, and again after an outage', {
  timeout: 300_000,
}, async () => {
  const world = await start({
    perSecond: 50,
    burst: 50,
    retryAfter: 1,
    latencyMs: 40,
    failures: { status: 0.13, reset: 0.07 },
  });
  const { provider, server, tenantId } = world;
  const jobId = await askFor(world, 8_000);
  await eventually(async () => provider.calls.length > 0, 'the provider is called', 60_000);
  const startMs = provider.calls[0]?.atMs ?? 0;
  await untilMoment(provider, startMs + 20_000);
  provider.setOutage(503);
  await pause(8_000);
  provider.setOutage(null);
  const backMs = provider.nowMs();
  await untilMoment(provider, backMs + 20_000);
  const first = provider.usedShare(startMs + 10_000, startMs + 20_000);
  const second = provider.usedShare(backMs + 10_000, backMs + 20_000);
  const during = provider.calls.filter(({ atMs }) => atMs > startMs + 21_000 && atMs < backMs).length;
  console.log(`used: ${first.toFixed(2)} after the start, ${second.toFixed(2)} after the outage`);
  expect(first).toBeGreaterThanOrEqual(0.8);
  expect(second).toBeGreaterThanOrEqual(0.8);
  expect(during, 'calls during the outage').toBeLessThan(30);
  await server.call(tenantId, 'POST', `/api/jobs/${jobId}/cancel`);
});

test('120 rows through a flaky provider take less than 20 s, and other work of the tenant is as fast as alone', {
  timeout: 300_000,
}, async () => {
  const world = await start({
    latencyMs: 60,
    retryAfter: 1,
    failures: { status: 0.14, throttle: 0.09 },
    seed: 5,
  });
  const { provider, server, tenantId } = world;
  const [workspace] = await database.owner<{ id: string }>(
    `insert into workspaces (tenant_id, workspace_id, name) values ($1, gen_random_uuid(), 'Reports')
     returning workspace_id as id`,
    [tenantId],
  );
  const other = () => otherWork(server, tenantId, workspace?.id ?? '');
  const warmUpMs = await other();
  const aloneMs = Math.max(await other(), await other());
  const jobId = await askFor(world, 120);
  await eventually(async () => provider.calls.length > 0, 'the provider is called', 60_000);
  const besideMs = await other();
  await eventually(async () => (await stateOf(jobId)) === 'success', 'the rows are done', 200_000);
  const last = provider.calls.at(-1)?.atMs ?? 0;
  const tookMs = last - (provider.calls[0]?.atMs ?? 0);
  console.log(
    `rows: ${tookMs} ms; other work: ${aloneMs} ms alone (${warmUpMs} at first), ${besideMs} ms beside`,
  );
  expect(tookMs).toBeLessThan(20_000);
  expect(besideMs).toBeLessThanOrEqual(2 * aloneMs + 1_000);
  const rows = await database.owner(`select status from job_items where job_id = $1 and status <> 'DONE'`, [
    jobId,
  ]);
  expect(rows.length).toBeLessThanOrEqual(1);
});

/** An upload and a noop job, from the request to the end of both. */
async function otherWork(server: ItemServer, tenantId: string, workspaceId: string): Promise<number> {
  const startedAt = performance.now();
  const form = new FormData();
  form.set('workspace_id', workspaceId);
  form.set('platform', 'meta');
  form.set('source', 'manual');
  const report = 'Campaign ID,Campaign name,Day,Impressions,Amount spent (EUR)\n1,One,2026-01-02,10,1.5\n';
  form.set('file', new Blob([report], { type: 'text/csv' }), 'report.csv');
  const upload = await server.postForm(tenantId, '/api/uploads', { body: form });
  expect(upload.status, JSON.stringify(upload.body)).toBe(201);
  const noop = await server.upload(tenantId, {
    name: 'plain',
    processor: 'noop',
    options: {},
    csv: 'a\n1\n2\n',
  });
  expect(noop.status).toBe(201);
  await eventually(
    async () => (await stateOf(String(noop.body.jobId))) === 'success',
    'the noop job is done',
    60_000,
  );
  await eventually(
    async () => {
      const { body } = await server.call(tenantId, 'GET', `/api/uploads/${String(upload.body.upload_id)}`);
      return ['completed', 'partial', 'failed'].includes(String(body.status));
    },
    'the upload is done',
    60_000,
  );
  return Math.round(performance.now() - startedAt);
}
