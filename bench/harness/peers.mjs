// The queues that Sluice is measured against, in the shape of harness/queues.mjs, and the settings that are tried.
import { Logger, makeWorkerUtils } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import { drainQueue } from './queues.mjs';

const chunk = 5_000;
const ownSubject = () => ({ subjectId: crypto.randomUUID() });

export const graphileQueue = {
  program: 'graphile-worker.mjs',
  async create(server) {
    const database = await server.emptyDatabase();
    await openGraphileWorker(database).then((utils) => utils.release());
    return database;
  },
  fill: (database, { count, payloadOf = ownSubject }) =>
    inChunks(count, (numbers) =>
      database.query(
        `select graphile_worker.add_jobs(
           array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
        [JSON.stringify(numbers.map((n) => ({ identifier: 'noop', payload: payloadOf(n) })))],
      ),
    ),
  async openEnqueue(database) {
    const utils = await openGraphileWorker(database);
    return { enqueue: (subjectId) => utils.addJob('noop', { subjectId }), close: () => utils.release() };
  },
  countLeft: 'select count(*)::int as left from graphile_worker._private_jobs',
  connection: ({ ownerUrl }) => ({ ownerUrl }),
};

export const bossQueue = {
  program: 'pg-boss.mjs',
  async create(server, best) {
    const database = await server.emptyDatabase();
    const boss = await openPgBoss(database, { partition: best.partition });
    await boss.stop({ graceful: false });
    return database;
  },
  async fill(database, { count, payloadOf = ownSubject }) {
    const boss = await startPgBoss(database);
    await inChunks(count, (numbers) =>
      boss.insert(
        'noop',
        numbers.map((n) => ({ data: payloadOf(n) })),
      ),
    );
    await boss.stop({ graceful: false });
  },
  async openEnqueue(database) {
    const boss = await startPgBoss(database);
    return {
      enqueue: (subjectId) => boss.send('noop', { subjectId }),
      close: () => boss.stop({ graceful: false }),
    };
  },
  countLeft: `select count(*)::int as left from pgboss.job where name = 'noop' and state <> 'completed'`,
  connection: ({ ownerUrl }) => ({ ownerUrl }),
};

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
  const boss = await startPgBoss(database);
  await boss.createQueue('noop', queue);
  return boss;
}

async function startPgBoss(database) {
  const boss = new PgBoss({ connectionString: database.ownerUrl, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  return boss;
}

async function inChunks(count, insert) {
  for (let from = 1; from <= count; from += chunk) {
    await insert(Array.from({ length: Math.min(chunk, count - from + 1) }, (_, at) => from + at));
  }
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
    measure: (context, best) => drainQueue(graphileQueue, context, { processes: 1, best }),
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
    measure: (context, best) => drainQueue(bossQueue, context, { processes: 1, best }),
  },
];

/** The same with a handler that writes a row. */
export const effectSweeps = [
  {
    contender: 'graphile-worker-effect',
    candidates: [
      { concurrentJobs: 10, maxPoolSize: 11, localQueueSize: 500, refetchDelayMs: 10 },
      { concurrentJobs: 24, maxPoolSize: 25, localQueueSize: 2000, refetchDelayMs: 10 },
      { concurrentJobs: 48, maxPoolSize: 49, localQueueSize: 5000, refetchDelayMs: 10 },
    ],
    measure: (context, best) => drainQueue(graphileQueue, context, { processes: 1, best, effect: 'each' }),
  },
  {
    contender: 'pg-boss-effect',
    candidates: [
      { partition: true, batchSize: 500, localConcurrency: 2, handlerPool: 10 },
      { partition: true, batchSize: 2000, localConcurrency: 2, handlerPool: 10 },
      { partition: true, batchSize: 2000, localConcurrency: 2, handlerPool: 24 },
      { partition: true, batchSize: 2000, localConcurrency: 4, handlerPool: 24 },
    ],
    measure: (context, best) => drainQueue(bossQueue, context, { processes: 1, best, effect: 'each' }),
  },
];
