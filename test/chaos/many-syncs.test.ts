import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startFakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { testConnectorHouse } from '../support/worlds/connector-house.ts';
import { type TestDatabase, useDatabase } from '../support/worlds/database.ts';
import { eventually, testKernel } from '../support/worlds/kernel.ts';
import { isFull } from './expect-quotas.ts';
import { installationEnv, startWorker } from './items-stage.ts';
import { enrolConnectors } from './syncs-stage.ts';

// `npm run chaos` runs the same test with the full size.
const size = isFull
  ? { connectors: 5_000, perSecond: 200, pollSeconds: 30 }
  : { connectors: 400, perSecond: 100, pollSeconds: 4 };
const concurrency = 8;
const sluice = useCommandLine();
const database = useDatabase();

test(`one worker follows ${size.connectors} syncs at once, asks no more often than it may, and does not grow`, {
  timeout: isFull ? 20 * 60_000 : 3 * 60_000,
}, async () => {
  const airbyte = await startFakeAirbyte();
  await enrolConnectors(database, airbyte, { tenants: 20, connectors: size.connectors });
  await makeDueSyncs(database);
  const startedAtMs = Date.now();
  const worker = startWorker(sluice, {
    ...installationEnv(database, { leaseMs: 30_000 }),
    SLUICE_WORKER_CONCURRENCY: String(2 * concurrency),
    AIRBYTE_BASE_URL: airbyte.url,
    AIRBYTE_API_TOKEN: airbyte.settings.fixedToken,
    AIRBYTE_CONCURRENCY: String(concurrency),
    AIRBYTE_REQUESTS_PER_SECOND: String(size.perSecond),
    SYNC_POLL_SECONDS: String(size.pollSeconds),
  });
  const deadlineMs = isFull ? 5 * 60_000 : 60_000;
  // No run ends by itself, so that all of them run at one time.
  await eventually(
    async () => (await countSyncs(database)).followed === size.connectors,
    'every sync is running',
    deadlineMs,
  );
  const allRunMs = Date.now() - startedAtMs;
  const before = airbyte.requests.length;
  const rssKb: number[] = [];
  // Every sync is polled twice in this time.
  await eventually(
    async () => {
      await pause(lookEveryMs);
      rssKb.push(residentKb(worker.pid));
      return airbyte.requests.length >= before + 2 * size.connectors;
    },
    'every sync is polled twice',
    deadlineMs,
  );
  const held = await countSyncs(database);
  for (const run of airbyte.state.jobs) airbyte.state.setStatus(run, 'succeeded');
  await eventually(
    async () => (await countSyncs(database)).succeeded === size.connectors,
    'every sync has succeeded',
    deadlineMs,
  );
  const most = mostWithin(
    airbyte.requests.map(({ atMs }) => atMs),
    1_000,
  );
  const [first, second] = halvesOf(rssKb).map(meanOf) as [number, number];
  console.log(
    `${size.connectors} syncs: all running after ${allRunMs} ms, all done after ${Date.now() - startedAtMs} ms; ` +
      `${airbyte.requests.length} requests, at most ${most} in a second (allowed ${size.perSecond}); ` +
      `RSS ${Math.round(first / 1024)} MB, then ${Math.round(second / 1024)} MB; ${held.leased} leases held of ` +
      `${held.followed} running`,
  );
  expect(airbyte.state.jobs).toHaveLength(size.connectors);
  expect(airbyte.requestsOf('trigger')).toHaveLength(size.connectors);
  expect(held.followed).toBe(size.connectors);
  // Nobody holds a lease while Airbyte works.
  expect(held.leased).toBeLessThanOrEqual(2 * concurrency);
  // A start may be saved up for each that may be inside, and as many may have been on their way.
  expect(most).toBeLessThanOrEqual(size.perSecond + 2 * concurrency);
  expect(second).toBeLessThan(first * 1.2);
});

/** By the schedule, as most syncs are made. */
async function makeDueSyncs(on: TestDatabase): Promise<void> {
  await on.owner(`update connectors set next_sync_at = now() - interval '1 minute'`);
  const kernel = testKernel(on, { pipelines: [] });
  const house = testConnectorHouse(on.db, { kernel });
  kernel.install(house);
  let made = 0;
  while (made < size.connectors) {
    const { dispatched } = await house.beforeCycle();
    if (dispatched === 0) throw new Error(`Only ${made} of ${size.connectors} syncs were due`);
    made += dispatched;
  }
  await house.close?.();
}

interface SyncCounts {
  followed: number;
  leased: number;
  succeeded: number;
}

/** Not more often: each check opens a connection, and the worker needs the machine. */
const lookEveryMs = 250;

async function countSyncs(on: TestDatabase): Promise<SyncCounts> {
  await pause(lookEveryMs);
  const [row] = await on.owner<SyncCounts>(
    `select (count(*) filter (where status = 'running' and run_id is not null))::int as followed,
            (count(leased_by))::int as leased,
            (count(*) filter (where status = 'success'))::int as succeeded
       from ingestion_jobs
      where pipeline = 'sync'`,
  );
  return row ?? { followed: 0, leased: 0, succeeded: 0 };
}

function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** In any window of this length; the times are in order. */
function mostWithin(timesMs: number[], windowMs: number): number {
  let most = 0;
  let start = 0;
  for (const [end, atMs] of timesMs.entries()) {
    while (atMs - (timesMs[start] ?? 0) >= windowMs) start += 1;
    most = Math.max(most, end - start + 1);
  }
  return most;
}

function halvesOf(samples: number[]): number[][] {
  const middle = Math.floor(samples.length / 2);
  return [samples.slice(0, middle), samples.slice(middle)];
}

function meanOf(samples: number[]): number {
  return samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
}
