import { until } from '../harness/children.mjs';
import { drain } from '../harness/drain.mjs';
import { format } from '../harness/figures.mjs';
import { inputOf, loadWaitingItems, revealItems, withDatabase } from '../harness/item-jobs.mjs';
import { bossQueue, graphileQueue, peerSweeps } from '../harness/peers.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { drainQueue } from '../harness/queues.mjs';
import { startWorkers, tenantId } from '../harness/sluice.mjs';

const key = 'perSecond';
const peers = ['graphile-worker', 'pg-boss'];
const named = (name, processes) => `${name}, ${processes} ${processes === 1 ? 'process' : 'processes'}`;

export const bench = {
  name: 'items',
  title: 'Draining items that need no work',
  about: `
The cost of the queue itself: every item is claimed, handed to a processor that returns its input, and completed.
Sluice keeps each item's state and result and the job's counters; the workers are \`sluice worker\` processes with
default settings. graphile-worker deletes a job that is done and keeps no result; pg-boss keeps the job. The raw
loop is plain SQL on the same table with the same indexes: claim a batch with \`for update skip locked\`, complete
it with the result, one transaction per batch, without counters, tenants or anything else.

The queue is full and all processes are up before the clock starts: for a peer with the first call of its handler,
for Sluice earlier, when the job becomes visible to its workers. It stops when the database holds no open item.`,
  size: 200_000,
  metrics: [{ key, title: 'items/s', better: 'more' }],
  sweeps: [
    ...peerSweeps,
    {
      contender: 'raw',
      candidates: [1, 2, 4].map((connections) => ({ connections, batchSize: 500 })),
      measure: (context, best) => drainRaw(context, { processes: 1, best }),
    },
  ],
  async open(context) {
    const { settings } = context;
    const contenders = [1, 2].flatMap((processes) => [
      { label: named('Sluice', processes), run: () => drainSluice(context, processes) },
      ...[
        { name: 'graphile-worker', run: drainPeer(graphileQueue), best: settings['graphile-worker'] },
        { name: 'pg-boss', run: drainPeer(bossQueue), best: settings['pg-boss'] },
        { name: 'raw SQL', run: drainRaw, best: settings.raw },
      ].map(({ name, run, best }) => ({
        label: named(name, processes),
        settings: best,
        run: () => run(context, { processes, best }),
      })),
    ]);
    return {
      contenders: contenders.map(({ run, ...rest }) => ({
        ...rest,
        measure: async () => ({ [key]: await run() }),
      })),
    };
  },
  targets: [
    ...[1, 2].flatMap((processes) =>
      peers.map((peer) => ({
        text: `ahead of ${peer} with ${named('', processes).slice(2)}`,
        judge: (figureOf) => ratio(figureOf, { peer, processes, least: 1 }),
      })),
    ),
    ...[1, 2].map((processes) => ({
      text: `at least 85 % of raw SQL with ${named('', processes).slice(2)}`,
      judge: (figureOf) => ratio(figureOf, { peer: 'raw SQL', processes, least: 0.85 }),
    })),
  ],
};

/** The peers' jobs carry what an item carries. */
function drainPeer(queue) {
  const payloadOf = (n) => JSON.parse(inputOf(n));
  return (context, { processes, best }) => drainQueue(queue, context, { processes, best, payloadOf });
}

function ratio(figureOf, { peer, processes, least }) {
  const share = figureOf(named('Sluice', processes), key) / figureOf(named(peer, processes), key);
  return { reached: share >= least, figure: `${format(share)} times` };
}

async function drainSluice({ server, size }, processes) {
  const database = await server.sluiceDatabase();
  try {
    const jobId = await loadWaitingItems(database, size);
    await flushWrites(database);
    const workers = await startWorkers(processes, { database });
    try {
      const seconds = await withDatabase(database, (db) => secondsToDone(db, jobId));
      await checkDone(database, size);
      return size / seconds;
    } finally {
      await workers.stop();
    }
  } finally {
    await database.drop();
  }
}

/** The job's own row says when its last item is done: reading it costs nothing. */
async function secondsToDone(db, jobId) {
  const { findJob } = await import('../../dist/modules/kernel/jobs/store.js');
  const statusOf = () => db.tenant(tenantId, async (tx) => (await findJob(tx, { tenantId, jobId }))?.status);
  await statusOf();
  const startedAtMs = performance.now();
  await revealItems(db, jobId);
  const isDone = async () => (await statusOf()) === 'success';
  // Not more often: the query costs the database about as much as a hundred items.
  await until('all items are done', isDone, { everyMs: 20, limitMs: 600_000 });
  return (performance.now() - startedAtMs) / 1000;
}

async function drainRaw({ server, size }, { processes, best }) {
  const database = await server.sluiceDatabase();
  try {
    const jobId = await loadWaitingItems(database, size);
    await flushWrites(database);
    const rate = await drain({
      program: 'raw-items.mjs',
      processes,
      settings: { ownerUrl: database.ownerUrl, tenantId, jobId, best },
      count: size,
      left: async () => 0,
    });
    await checkDone(database, size);
    return rate;
  } finally {
    await database.drop();
  }
}

/** A drain that did less than it claims is not a measurement. */
async function checkDone(database, size) {
  const [{ done }] = await database.query(
    `select count(*)::int as done from job_items where status = 'DONE' and result_json is not null`,
  );
  if (done !== size) throw new Error(`${done} of ${size} items are done with a result`);
}
