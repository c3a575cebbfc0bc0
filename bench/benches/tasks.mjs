import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { format } from '../harness/figures.mjs';
import { fillQueue, insertTenants } from '../harness/kernel.mjs';
import { bossQueue, effectSweeps, graphileQueue } from '../harness/peers.mjs';
import { drainQueue } from '../harness/queues.mjs';

const rate = 'perSecond';

/** Tasks of a program that opens Sluice with `openSluice`. */
const taskQueue = {
  program: 'task-worker.mjs',
  async create(server) {
    const database = await server.sluiceDatabase();
    await insertTenants(database, 1);
    return database;
  },
  fill: (database, { count }) => fillQueue(database, { count, pipeline: 'hello', payload: { input: {} } }),
  countLeft: `select count(*)::int as left from ingestion_jobs where status <> 'success'`,
  connection: ({ ownerUrl }) => ({ ownerUrl, dataDir: mkdtempSync(join(tmpdir(), 'sluice-bench-tasks-')) }),
};

const queues = [
  { name: 'Sluice', queue: taskQueue, key: 'task' },
  { name: 'graphile-worker', queue: graphileQueue, key: 'graphile-worker-effect' },
  { name: 'pg-boss', queue: bossQueue, key: 'pg-boss-effect' },
];

export const bench = {
  name: 'tasks',
  title: 'Draining tasks that insert one row',
  about: `
A task defined with \`defineTask\` in a program that opens Sluice with \`openSluice\`. Its function inserts one row by a
pool of its own, in a commit of its own, and so do the handlers of graphile-worker and pg-boss: each is the hello-world
of its page. Tasks are leased and fenced, and leave their audit events. The queue is full before the clock starts, with
the first call of a handler; it stops when the database holds no open job.`,
  size: 50_000,
  metrics: [{ key: rate, title: 'jobs/s', better: 'more' }],
  sweeps: [
    ...effectSweeps,
    {
      contender: 'task',
      candidates: [8, 16, 32, 64].map((concurrency) => ({ concurrency })),
      measure: (context, best) => drainQueue(taskQueue, context, { processes: 1, best, effect: 'each' }),
    },
  ],
  async open(context) {
    return {
      contenders: queues.map(({ name, queue, key }) => ({
        label: name,
        settings: context.settings[key],
        measure: async () => ({
          [rate]: await drainQueue(queue, context, {
            processes: 1,
            best: context.settings[key] ?? { concurrency: 16 },
            effect: 'each',
          }),
        }),
      })),
    };
  },
  targets: ['graphile-worker', 'pg-boss'].map((peer) => ({
    text: `at least as fast as ${peer}`,
    judge(figureOf) {
      const share = figureOf('Sluice', rate) / figureOf(peer, rate);
      return { reached: share >= 1, figure: `${format(share)} times` };
    },
  })),
};
