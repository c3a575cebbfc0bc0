import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/lib/postgres/db.ts';
import { sql } from '../../src/lib/postgres/sql.ts';
import { startTcpProxy, type TcpProxy } from '../support/fakes/tcp-proxy.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { useFleet } from './use-fleet.ts';

const database = useDatabase();
const workers = useFleet(database);
let proxy: TcpProxy | undefined;

beforeAll(async () => {
  const socketDir = decodeURIComponent(new URL(database.appUrl).hostname);
  proxy = await startTcpProxy({ path: path.join(socketDir, '.s.PGSQL.5432') });
});
afterAll(() => proxy?.close());
afterEach(async () => {
  for (const worker of workers.fleet.living) await workers.fleet.kill(worker);
});

function throughProxy(): string {
  const { username, password, pathname } = new URL(database.appUrl);
  return `postgres://${username}:${password}@127.0.0.1:${proxy?.port}${pathname}`;
}

test('a worker whose connections all go silent without closing continues on new ones', async () => {
  const worker = await workers.fleet.start({
    appUrl: throughProxy(),
    directUrl: throughProxy(),
    concurrency: 2,
  });
  const jobs = await Promise.all(
    Array.from({ length: 6 }, () =>
      workers.dispatch([
        { do: 'work', ms: 100 },
        { do: 'work', ms: 2_500 },
      ]),
    ),
  );
  await eventually(async () => worker.busyWith.size === 2, 'both slots are busy');
  while (proxy?.silence(() => 0)) {}
  await eventually(
    async () => (await workers.statusesOf(jobs)).every((status) => status === 'success'),
    'all jobs are finished by the only worker',
    60_000,
  );
  expect(worker.child.exitCode).toBeNull();
  for (const job of jobs) expect(await workers.stepsOf(job)).toEqual([0, 1]);
}, 180_000);

test('a request whose connection goes silent gets a response, and the next one gets another connection', async () => {
  const db = new Database({
    url: throughProxy(),
    applicationName: 'silent',
    maxConnections: 1,
    silenceMs: 3_000,
  });
  onTestFinished(() => db.close());
  const ask = () => db.kernel((tx) => tx.find<{ one: number }>(sql`select 1 as one`));
  expect(await ask()).toEqual({ one: 1 });
  while (proxy?.silence(() => 0)) {}
  await expect(ask()).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(await ask()).toEqual({ one: 1 });
  // Waiting between two statements is for another limit; a connection that rests in the pool may rest.
  await sleep(3_500);
  expect(await ask()).toEqual({ one: 1 });
});

test('a slice whose connection goes silent while its lease is renewed does not last forever', async () => {
  const worker = await workers.fleet.start({ appUrl: throughProxy(), directUrl: database.appUrl });
  const silenced = proxy?.silenceAt('fence_job(');
  const job = await workers.dispatch([{ do: 'work', ms: 20 }]);
  await silenced;
  await eventually(
    async () => (await workers.statusesOf([job]))[0] === 'success',
    'the job is finished',
    60_000,
  );
  expect(await workers.stepsOf(job)).toEqual([0]);
  expect(worker.child.exitCode).toBeNull();
}, 180_000);
