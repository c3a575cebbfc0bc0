import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { useDatabase } from '../../../test/database.ts';
import { testKernel } from '../../../test/kernel.ts';
import { openSession, untilWaitedFor } from '../../../test/sessions.ts';
import { newId } from '../../lib/ids.ts';
import { JobMetrics } from './metrics.ts';
import { Rescuer } from './rescuer.ts';
import { WakeUp } from './wake-up.ts';
import { listWorkers, registerWorker } from './worker-store.ts';

const database = useDatabase();

const workers = () => database.db.kernel(listWorkers);

/** Does the work, cuts its connection off in the middle of its transaction, and answers what came of the work. */
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

test('a rescue whose connection is cut is done once more', async () => {
  const workerId = newId();
  const dead = {
    workerId,
    name: 'dead',
    guardedBy: 'lock',
    lockKey: '1',
    concurrency: 1,
    version: 'test',
  } as const;
  await database.db.kernel((tx) => registerWorker(tx, dead));
  const lost: string[] = [];
  const rescuer = new Rescuer({
    db: database.db,
    wake: new WakeUp(database.db),
    logger: pino({ level: 'silent' }),
    metrics: new JobMetrics(new Registry()),
    leaseMs: 10_000,
    maxStrikes: 3,
    onLost: async (workerIds) => {
      lost.push(...workerIds);
    },
  });
  expect(await cutOff(() => rescuer.rescue())).toEqual([]);
  expect(lost).toEqual([workerId]);
  expect((await workers()).map((worker) => worker.lostAt)).toEqual([expect.anything()]);
});
