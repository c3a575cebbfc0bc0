import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type BucketProvider, startBucketProvider } from '../support/fakes/bucket-provider.ts';
import { startTcpProxy, type TcpProxy } from '../support/fakes/tcp-proxy.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { skusOf } from '../support/worlds/provider-jobs.ts';
import { isFull } from './expect-quotas.ts';
import { type ItemWorker, installationEnv, startServer, startWorker } from './items-stage.ts';

// How many calls are made twice when workers are killed or the database goes away. The provider's ledger is the judge.
const rows = isFull ? 200_000 : 2_000;
const kills = isFull ? 6 : 2;
const database = useDatabase();
const sluice = useCommandLine();

async function open({ workers }: { workers: number }) {
  const provider = await startBucketProvider({ latencyMs: 30 });
  onTestFinished(() => provider.close());
  const proxy = await startProxy();
  onTestFinished(() => proxy.close());
  const { username, password, pathname } = new URL(database.ownerUrl);
  const proxied = `postgres://${username}:${password}@127.0.0.1:${proxy.port}${pathname}`;
  const env = { ...installationEnv(database, { leaseMs: 10_000 }), DATABASE_URL: proxied };
  const server = await startServer(sluice, env);
  onTestFinished(() => void server.running.child.kill('SIGKILL'));
  const start = async (): Promise<ItemWorker[]> => {
    const started = Array.from({ length: workers }, () => startWorker(sluice, env));
    for (const { running } of started) onTestFinished(() => void running.child.kill('SIGKILL'));
    await eventually(async () => started.every(({ workerId }) => workerId !== null), 'they run', 60_000);
    return started;
  };
  const tenantId = await newTenant(database);
  const ask = async (count: number): Promise<string> => {
    const { status, body } = await server.upload(tenantId, {
      name: 'products',
      processor: 'http',
      options: {
        request: { url: `${provider.url}/items/{{sku}}` },
        strategies: [
          { name: 'first', url: `${provider.url}/items/{{sku}}` },
          { name: 'second', url: `${provider.url}/other/{{sku}}` },
        ],
      },
      csv: `sku\n${skusOf('ok', count).join('\n')}\n`,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return String(body.jobId);
  };
  return { provider, proxy, start, ask };
}

function startProxy(): Promise<TcpProxy> {
  const socketDir = decodeURIComponent(new URL(database.ownerUrl).hostname);
  return startTcpProxy({ path: path.join(socketDir, '.s.PGSQL.5432') });
}

async function untilDone(jobId: string, deadlineMs: number): Promise<void> {
  const isDone = async () =>
    (
      await database.owner<{ status: string }>('select status from ingestion_jobs where job_id = $1', [jobId])
    )[0]?.status === 'success';
  await eventually(isDone, 'every row is done', deadlineMs);
}

function cutAll(proxy: TcpProxy): void {
  // A connection leaves the list only once it is closed, so each is cut by its place.
  for (let place = proxy.size - 1; place >= 0; place -= 1) proxy.cut(() => place);
}

/** The database is away for all processes: connections are cut, and none can be made. */
async function takeAway(proxy: TcpProxy, forMs: number): Promise<void> {
  const socketDir = decodeURIComponent(new URL(database.ownerUrl).hostname);
  proxy.pointTo({ path: path.join(socketDir, 'nobody-listens-here') });
  cutAll(proxy);
  await pause(forMs);
  proxy.pointTo({ path: path.join(socketDir, '.s.PGSQL.5432') });
}

/** Nobody can commit an answer, and connections run out, until their statements are given up. */
async function blockCommits(jobId: string, forMs: number): Promise<void> {
  await database.owner(
    `do $$ begin
       perform from item_jobs where job_id = '${jobId}' for update;
       perform pg_sleep(${forMs / 1000});
     end $$`,
  );
}

function repeatedIn({ calls }: BucketProvider): Map<string, (string | null)[]> {
  const keys = new Map<string, (string | null)[]>();
  for (const { sku, key } of calls) keys.set(sku, [...(keys.get(sku) ?? []), key]);
  return new Map([...keys].filter(([, all]) => all.length > 1));
}

const endsOf = (jobId: string) =>
  database.owner<object>(
    `select status, attempts, strategy, count(*)::int as rows
       from job_items where job_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
    [jobId],
  );

test('a database that is cut, away or blocked costs no attempt, no strategy and no answer', {
  timeout: 300_000,
}, async () => {
  const { provider, proxy, start, ask } = await open({ workers: 1 });
  await start();
  const jobId = await ask(2_000);
  const reached = (count: number) =>
    eventually(async () => provider.calls.length >= count, `${count} calls were made`, 120_000);
  await reached(50);
  cutAll(proxy);
  await reached(250);
  await proxy.loseNextCommit();
  await reached(500);
  await takeAway(proxy, 4_000);
  await reached(800);
  await blockCommits(jobId, 8_000);
  await reached(1_100);
  cutAll(proxy);
  await untilDone(jobId, 180_000);
  expect([...repeatedIn(provider).keys()]).toEqual([]);
  expect(provider.calls).toHaveLength(2_000);
  expect(await endsOf(jobId)).toEqual([{ status: 'DONE', attempts: 1, strategy: 0, rows: 2_000 }]);
});

test(`${rows} rows under kill -9 and database cuts repeat no more calls than were open or just answered`, {
  timeout: isFull ? 60 * 60_000 : 300_000,
}, async () => {
  const { provider, proxy, start, ask } = await open({ workers: 2 });
  let workers = await start();
  const startedAtMs = performance.now();
  const jobId = await ask(rows);
  let allowed = 0;
  for (let kill = 1; kill <= kills; kill += 1) {
    const at = Math.floor((rows * kill) / (kills + 1));
    await eventually(async () => provider.calls.length >= at, `${at} calls were made`, 20 * 60_000);
    cutAll(proxy);
    const before = provider.calls.length;
    await eventually(async () => provider.calls.length >= before + 200, 'the calls go on', 120_000);
    const killedAtMs = provider.nowMs();
    for (const { running } of workers) running.child.kill('SIGKILL');
    await Promise.all(workers.map(({ running }) => running.ended));
    // Requests that were on their way to the provider were open as well.
    await pause(100);
    const open = provider.calls.filter(({ answeredAtMs }) => (answeredAtMs ?? Infinity) > killedAtMs - 250);
    allowed += open.length;
    workers = await start();
  }
  await untilDone(jobId, 30 * 60_000);
  const repeated = repeatedIn(provider);
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  console.log(
    `${rows} rows, ${kills} kills of 2 workers, ${kills} cuts: ${provider.calls.length - rows} calls repeated, ` +
      `${allowed} were open or answered within 250 ms at the kills; ${seconds} s`,
  );
  expect(provider.calls.length - rows).toBeLessThanOrEqual(allowed);
  // A call that is repeated after a crash has the key of the first one, so that the provider can tell.
  for (const [sku, keys] of repeated) expect(new Set(keys).size, sku).toBe(1);
  const [done] = await database.owner<{ rows: number }>(
    `select count(*)::int as rows from job_items where job_id = $1 and status = 'DONE' and strategy = 0`,
    [jobId],
  );
  expect(done?.rows).toBe(rows);
});
