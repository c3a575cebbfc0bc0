// The queues that Sluice is measured against: how each is filled, and how it is drained with the given settings.
import { Logger, makeWorkerUtils } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import { drain } from './drain.mjs';
import { inputOf } from './item-jobs.mjs';
import { flushWrites, withClient } from './postgres.mjs';

const chunk = 5_000;

export async function drainGraphileWorker({ server, size }, { processes, best }) {
  const database = await server.emptyDatabase();
  try {
    await openGraphileWorker(database).then((utils) => utils.release());
    await inChunks(size, (from, to) =>
      database.query(
        `select graphile_worker.add_jobs(
           array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
        [
          JSON.stringify(
            numbers(from, to).map((n) => ({ identifier: 'noop', payload: JSON.parse(inputOf(n)) })),
          ),
        ],
      ),
    );
    await flushWrites(database);
    return await withCounter(
      database,
      'select count(*)::int as left from graphile_worker._private_jobs',
      (left) =>
        drain({
          program: 'graphile-worker.mjs',
          processes,
          settings: { ownerUrl: database.ownerUrl, best },
          count: size,
          left,
        }),
    );
  } finally {
    await database.drop();
  }
}

export async function drainPgBoss({ server, size }, { processes, best }) {
  const database = await server.emptyDatabase();
  try {
    const boss = await openPgBoss(database, { partition: best.partition });
    await inChunks(size, (from, to) =>
      boss.insert(
        'noop',
        numbers(from, to).map((n) => ({ data: JSON.parse(inputOf(n)) })),
      ),
    );
    await boss.stop({ graceful: false });
    await flushWrites(database);
    const counting = `select count(*)::int as left from pgboss.job where name = 'noop' and state <> 'completed'`;
    return await withCounter(database, counting, (left) =>
      drain({
        program: 'pg-boss.mjs',
        processes,
        settings: { ownerUrl: database.ownerUrl, best },
        count: size,
        left,
      }),
    );
  } finally {
    await database.drop();
  }
}

export function openGraphileWorker(database) {
  return makeWorkerUtils({
    connectionString: database.ownerUrl,
    logger: new Logger(() => () => {}),
  }).then(async (utils) => {
    await utils.migrate();
    return utils;
  });
}

export async function openPgBoss(database, queue) {
  const boss = new PgBoss({ connectionString: database.ownerUrl, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  await boss.createQueue('noop', queue);
  return boss;
}

/** One connection for all the counting, so that connecting is not part of the last milliseconds. */
export function withCounter(database, text, work) {
  return withClient(database.ownerUrl, (client) => work(async () => (await client.query(text)).rows[0].left));
}

async function inChunks(count, insert) {
  for (let from = 1; from <= count; from += chunk) await insert(from, Math.min(from + chunk - 1, count));
}

function numbers(from, to) {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** What `--sweep` tries: the settings that the peers' documentation recommends for throughput. */
export const peerSweeps = [
  {
    contender: 'graphile-worker',
    candidates: [
      { concurrentJobs: 24, maxPoolSize: 25, localQueueSize: 500, refetchDelayMs: 10 },
      { concurrentJobs: 24, maxPoolSize: 25, localQueueSize: 2000, refetchDelayMs: 10 },
      { concurrentJobs: 10, maxPoolSize: 11, localQueueSize: 2000, refetchDelayMs: 10 },
      { concurrentJobs: 48, maxPoolSize: 49, localQueueSize: 5000, refetchDelayMs: 10 },
    ],
    measure: (context, best) => drainGraphileWorker(context, { processes: 1, best }),
  },
  {
    contender: 'pg-boss',
    candidates: [
      { partition: true, batchSize: 500, localConcurrency: 2 },
      { partition: true, batchSize: 2000, localConcurrency: 1 },
      { partition: true, batchSize: 2000, localConcurrency: 2 },
      { partition: true, batchSize: 5000, localConcurrency: 2 },
      { partition: false, batchSize: 2000, localConcurrency: 2 },
    ],
    measure: (context, best) => drainPgBoss(context, { processes: 1, best }),
  },
];
