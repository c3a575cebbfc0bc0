import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { openSession, untilWaitedFor } from '../../../../test/support/probes/sessions.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { testKernel } from '../../../../test/support/worlds/kernel.ts';
import { newId } from '../../../lib/ids.ts';
import { Database } from '../../../lib/postgres/db.ts';
import { JobMetrics } from '../metrics.ts';
import { WakeUp } from '../wake-up.ts';
import { Rescuer } from './rescuer.ts';
import { listWorkers, registerWorker } from './worker-store.ts';

const database = useDatabase();

const workers = () => database.db.kernel(listWorkers);

/** Does the work, cuts its connection in the middle of its transaction, and returns the result of the work. */
async function cutOff<T>(work: () => Promise<T>): Promise<T> {
  const session = await openSession(database);
  await session.query('begin');
  await session.query('lock table workers');
  const working = work();
  await untilWaitedFor(database, session);
  const cut = await database.owner(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where $1 = any(pg_blocking_pids(pid)) and datname = current_database()`,
    [(session as unknown as { processID: number }).processID],
  );
  expect(cut).toHaveLength(1);
  await session.query('rollback');
  return working;
}

test('a worker whose connection is cut while it signs on signs on once more', async () => {
  const kernel = testKernel(database);
  await cutOff(() => kernel.start({ work: false }));
  expect(await workers()).toMatchObject([{ workerId: kernel.membership.workerId, lostAt: null }]);
  await kernel.stop(1_000);
});

async function enterDeadWorker(): Promise<string> {
  const workerId = newId();
  const worker = { workerId, name: 'dead', lockKey: '1', concurrency: 1, version: 'test' };
  await database.db.kernel((tx) => registerWorker(tx, { ...worker, guardedBy: 'lock' }));
  return workerId;
}

function rescuerOn(db: Database) {
  const lost: string[] = [];
  const rescuer = new Rescuer({
    db,
    wake: new WakeUp(db),
    logger: pino({ level: 'silent' }),
    metrics: new JobMetrics(new Registry()),
    leaseMs: 10_000,
    maxStrikes: 3,
    onLost: async (workerIds) => {
      lost.push(...workerIds);
    },
  });
  return { rescuer, lost };
}

test('a rescue whose connection is cut is done once more', async () => {
  const workerId = await enterDeadWorker();
  const { rescuer, lost } = rescuerOn(database.db);
  expect(await cutOff(() => rescuer.rescue())).toEqual([]);
  expect(lost).toEqual([workerId]);
  expect((await workers()).map((worker) => worker.lostAt)).toEqual([expect.anything()]);
});

test('dead workers are reported even if the sessions of silent ones cannot be ended', async () => {
  class Unable extends Database {
    override endStalledSessions(): Promise<string[]> {
      return Promise.reject(new Error('no'));
    }
  }
  const db = new Unable({ url: database.appUrl, applicationName: 'unable', maxConnections: 2 });
  onTestFinished(() => db.close());
  const workerId = await enterDeadWorker();
  await database.owner("update workers set heartbeat_at = heartbeat_at - interval '1 h'");
  const { rescuer, lost } = rescuerOn(db);
  await expect(rescuer.rescue()).rejects.toThrow('no');
  expect(lost).toEqual([workerId]);
});
