import { drain } from '../harness/drain.mjs';
import { format } from '../harness/figures.mjs';
import { insertJobs, insertTenants } from '../harness/kernel.mjs';
import { drainGraphileWorker, drainPgBoss, peerSweeps, withCounter } from '../harness/peers.mjs';
import { flushWrites } from '../harness/postgres.mjs';

const key = 'perSecond';
const named = (name, processes) => `${name}, ${processes} ${processes === 1 ? 'process' : 'processes'}`;

export const bench = {
  name: 'jobs',
  title: 'Draining small kernel jobs',
  about: `
Jobs of the kernel that do nothing: each is claimed under a lease with a new epoch, advanced, settled under the
fence of that epoch, and leaves its audit events. The pipeline takes its jobs in batches, as pipelines of small jobs
do. graphile-worker and pg-boss drain as many jobs of their own on the same server; neither has fences or an audit
log, and graphile-worker deletes what is done.

The queue is full and all processes are up before the clock starts, with the first call of a handler. It stops when
the database holds no open job.`,
  size: 200_000,
  metrics: [{ key, title: 'jobs/s', better: 'more' }],
  sweeps: [
    ...peerSweeps,
    {
      contender: 'kernel',
      candidates: [
        { batchSize: 200, concurrency: 4 },
        { batchSize: 500, concurrency: 2 },
        { batchSize: 500, concurrency: 4 },
        { batchSize: 1000, concurrency: 2 },
        { batchSize: 1000, concurrency: 4 },
      ],
      measure: (context, best) => drainKernel(context, { processes: 1, best }),
    },
  ],
  async open(context) {
    const { settings } = context;
    const all = [
      { name: 'Sluice', run: drainKernel, best: settings.kernel },
      { name: 'graphile-worker', run: drainGraphileWorker, best: settings['graphile-worker'] },
      { name: 'pg-boss', run: drainPgBoss, best: settings['pg-boss'] },
    ];
    const contenders = [1, 2].flatMap((processes) =>
      all.map(({ name, run, best }) => ({
        label: named(name, processes),
        settings: best,
        measure: async () => ({ [key]: await run(context, { processes, best }) }),
      })),
    );
    return { contenders };
  },
  targets: [1, 2].flatMap((processes) => [
    {
      text: `ahead of ${named('pg-boss', processes)}`,
      judge: (figureOf) => ratio(figureOf, { peer: 'pg-boss', processes, least: 1 }),
    },
    {
      text: `at least 50 % of ${named('graphile-worker', processes)}`,
      judge: (figureOf) => ratio(figureOf, { peer: 'graphile-worker', processes, least: 0.5 }),
    },
  ]),
};

function ratio(figureOf, { peer, processes, least }) {
  const share = figureOf(named('Sluice', processes), key) / figureOf(named(peer, processes), key);
  return { reached: share >= least, figure: `${format(share)} times` };
}

async function drainKernel({ server, size }, { processes, best }) {
  const database = await server.sluiceDatabase();
  try {
    await insertTenants(database, 1);
    await insertJobs(database, { count: size });
    await flushWrites(database);
    const counting = `select count(*)::int as left from ingestion_jobs where status <> 'success'`;
    const rate = await withCounter(database, counting, (left) =>
      drain({
        program: 'kernel-worker.mjs',
        processes,
        settings: { appUrl: database.appUrl, best },
        count: size,
        left,
      }),
    );
    await checkEvents(database, size);
    return rate;
  } finally {
    await database.drop();
  }
}

/** A drain without its audit log is not what is measured here. */
async function checkEvents(database, size) {
  const [{ completed }] = await database.query(
    `select count(*)::int as completed from events where type = 'job.completed'`,
  );
  if (completed !== size)
    throw new Error(`${completed} of ${size} jobs have an event that says they are done`);
}
