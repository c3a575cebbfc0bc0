import { format } from '../harness/figures.mjs';
import { bossQueue, effectSweeps, graphileQueue, peerSweeps } from '../harness/peers.mjs';
import { callers, drainQueue, sluiceQueue, walPerJob } from '../harness/queues.mjs';

const rate = 'perSecond';
const wal = 'walBytes';
const maxWalBytes = 1_600;
/** WAL per job is the same for a tenth of the jobs. */
const walShare = 10;
const concurrencies = [4, 8, 16, 32, 64].map((concurrency) => ({ concurrency }));
const countOf = (processes) => `${processes} ${processes === 1 ? 'process' : 'processes'}`;
const named = (name, processes, effect) => `${name}, ${effect ? 'one row, ' : ''}${countOf(processes)}`;
const walOf = (name, effect) => `${name}, ${effect ? 'one row, ' : ''}WAL`;

const queues = [
  { name: 'Sluice', queue: sluiceQueue, key: 'kernel' },
  { name: 'graphile-worker', queue: graphileQueue, key: 'graphile-worker' },
  { name: 'pg-boss', queue: bossQueue, key: 'pg-boss' },
];
/** Not what each job does by itself, but what a batch handler may do. */
const together = 'pg-boss, one row, batches written together';

export const bench = {
  name: 'jobs',
  title: 'Draining small kernel jobs',
  about: `
Jobs of the kernel on the path of every product pipeline: each is claimed under a lease with a new epoch, advanced by
the pipeline's \`advance\`, settled under the fence of that epoch, and leaves its audit events. graphile-worker and
pg-boss drain as many jobs of their own on the same server, with the batches that they offer; neither has fences or an
audit log, and graphile-worker deletes what is done.

"One row": each job also writes one row. Sluice writes it in the fenced transaction that settles the job, so it is there
exactly once. The handlers of the peers insert the same row by a prepared statement, each with a commit of its own:
graphile-worker's over its pool, pg-boss's side by side over a pool of the handler. A pg-boss handler gets many jobs at
once and may write their rows in one statement, if they fail together as well; that is shown in a line of its own.

The queue is full and all processes are up before the clock starts, with the first call of a handler. It stops when
the database holds no open job.

"WAL": what PostgreSQL writes to its log per job, from a checkpoint before the first job is enqueued until the last one
is done. The jobs are enqueued one at a time by ${callers} callers and drained by one process.`,
  size: 200_000,
  metrics: [
    { key: rate, title: 'jobs/s', better: 'more' },
    { key: wal, title: 'bytes of WAL per job', better: 'less' },
  ],
  sweeps: [
    ...peerSweeps,
    ...effectSweeps,
    ...[null, 'each'].map((effect) => ({
      contender: settingsKey('kernel', effect),
      candidates: concurrencies,
      measure: (context, best) => drainQueue(sluiceQueue, context, { processes: 1, best, effect }),
    })),
  ],
  async open(context) {
    return {
      contenders: [
        ...[null, 'each'].flatMap((effect) =>
          [1, 2].flatMap((processes) => queues.map((each) => drainOf(context, each, { processes, effect }))),
        ),
        {
          ...drainOf(context, queues[2], { processes: 1, effect: 'together' }),
          label: together,
          note: 'one statement for the rows of a batch',
        },
        ...[null, 'each'].flatMap((effect) => queues.map((each) => logOf(context, each, effect))),
      ],
    };
  },
  targets: [
    ...[1, 2].flatMap((processes) => [
      rateTarget({ peer: 'pg-boss', processes, effect: null, least: 1 }),
      rateTarget({ peer: 'graphile-worker', processes, effect: null, least: 0.8 }),
    ]),
    ...[1, 2].flatMap((processes) =>
      ['pg-boss', 'graphile-worker'].map((peer) => rateTarget({ peer, processes, effect: 'each', least: 1 })),
    ),
    {
      text: `at most ${format(maxWalBytes)} bytes of WAL per job`,
      judge(figureOf) {
        const bytes = figureOf(walOf('Sluice', null), wal);
        return { reached: bytes <= maxWalBytes, figure: `${format(bytes)} bytes` };
      },
    },
  ],
};

function settingsKey(key, effect) {
  return effect ? `${key}-effect` : key;
}

function drainOf(context, { name, queue, key }, { processes, effect }) {
  const best = context.settings[settingsKey(key, effect)];
  return {
    label: named(name, processes, effect),
    settings: best,
    measure: async () => ({
      [rate]: await drainQueue(queue, context, { processes, best, effect }),
      [wal]: null,
    }),
  };
}

function logOf(context, { name, queue, key }, effect) {
  const best = context.settings[settingsKey(key, effect)];
  const count = Math.ceil(context.size / walShare);
  return {
    label: walOf(name, effect),
    settings: best,
    measure: async () => ({ [rate]: null, [wal]: await walPerJob(queue, context, { best, effect, count }) }),
  };
}

function rateTarget({ peer, processes, effect, least }) {
  const rival = named(peer, processes, effect);
  return {
    text: least === 1 ? `ahead of ${rival}` : `at least ${least * 100} % of ${rival}`,
    judge(figureOf) {
      const share = figureOf(named('Sluice', processes, effect), rate) / figureOf(rival, rate);
      return { reached: share >= least, figure: `${format(share)} times` };
    },
  };
}
