import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openBegins } from '../harness/begins.mjs';
import { startContender } from '../harness/children.mjs';
import { format, msBetween, percentile } from '../harness/figures.mjs';
import { openItemClaims } from '../harness/item-claims.mjs';
import { dispatchBeside, dispatchTo, insertTenants, openKernel } from '../harness/kernel.mjs';
import { openGraphileWorker, openPgBoss } from '../harness/peers.mjs';
import { tenantId } from '../harness/sluice.mjs';

/** Long enough for all work of the last job to end. */
const restMs = 20;
const warmUpJobs = 50;
const peers = ['graphile-worker', 'pg-boss'];

export const bench = {
  name: 'pickup',
  title: 'From enqueue to the start of the handler',
  about: `
An idle system and one job at a time. The clock starts just before the job is enqueued, so the durable commit of the
job is part of the time, and stops in the first line of the handler, in another process that was woken by NOTIFY or,
for "same process", in the one that enqueued: there the dispatch itself leases the job to the free slot. "With a record"
is how the product's pipelines dispatch, in the transaction of the record that the job is about: the job is claimed when
that has committed. Every contender enqueues through its own interface; the raw row is one
insert with a NOTIFY, and a claim by plain SQL.

Over HTTP: a CSV file of one row is sent to \`POST /api/jobs\` of \`sluice serve\`, and the clock stops at the first claim
of its job, as the job's \`started_at\` says. The peers have no such interface, so there is no target.`,
  size: 500,
  metrics: [
    { key: 'p50', title: 'p50 ms', better: 'less' },
    { key: 'p99', title: 'p99 ms', better: 'less' },
  ],
  async open({ server, size }) {
    const opened = [
      { label: 'Sluice, another process', ...(await openSluice(server)) },
      { label: 'Sluice, same process', ...(await openSluiceHere(server, dispatchTo)) },
      { label: 'Sluice, same process, with a record', ...(await openSluiceHere(server, dispatchBeside)) },
      { label: 'graphile-worker', ...(await openGraphile(server)) },
      { label: 'pg-boss', note: 'with `useListenNotify` and `notify`', ...(await openBoss(server)) },
      { label: 'raw LISTEN and claim', ...(await openRaw(server)) },
    ];
    return {
      contenders: [
        ...opened.map(({ label, note, enqueue, begins }) => ({
          label,
          note,
          measure: (round) =>
            measure(() => timeOne({ enqueue, begins }), { size, warmUp: round === 1 ? warmUpJobs : 5 }),
        })),
        ...['same process', 'another process'].map((place) => ({
          label: `Sluice, over HTTP, ${place}`,
          measure: () => measureHttp(server, { hasWorker: place === 'same process', size }),
        })),
      ],
      async close() {
        for (const { close } of opened) await close();
      },
    };
  },
  targets: ['another process', 'same process'].flatMap((place) =>
    ['p50', 'p99'].map((key) => ({
      text: `${key} in ${place === 'same process' ? 'the ' : ''}${place} not above the best peer`,
      judge(figureOf) {
        const best = Math.min(...peers.map((peer) => figureOf(peer, key)));
        const ours = figureOf(`Sluice, ${place}`, key);
        return { reached: ours <= best, figure: `${format(ours)} ms against ${format(best)} ms` };
      },
    })),
  ),
};

async function measure(takeOne, { size, warmUp }) {
  const timesMs = [];
  for (let job = 0; job < warmUp + size; job += 1) {
    await pause(restMs);
    timesMs.push(await takeOne());
  }
  const measured = timesMs.slice(warmUp);
  return { p50: percentile(measured, 0.5), p99: percentile(measured, 0.99) };
}

/** The server runs only while it is measured: an idle one would take a little of the others' time. */
async function measureHttp(server, { hasWorker, size }) {
  const { takeOne, close } = await openItemClaims(server, { hasWorker });
  try {
    return await measure(takeOne, { size, warmUp: warmUpJobs });
  } finally {
    await close();
  }
}

async function timeOne({ enqueue, begins }) {
  const subjectId = crypto.randomUUID();
  const begin = begins.next(subjectId);
  const fromNs = process.hrtime.bigint();
  await enqueue(subjectId);
  return msBetween(fromNs, (await begin).atNs);
}

async function openSluice(server) {
  const database = await server.sluiceDatabase();
  await insertTenants(database, 1);
  const begins = openBegins();
  const worker = await startContender(
    'kernel-worker.mjs',
    { appUrl: database.appUrl, tellsBegin: true },
    begins.hear,
  );
  const { kernel, close } = await openKernel({ appUrl: database.appUrl });
  return {
    begins,
    enqueue: (subjectId) => dispatchTo(kernel, { tenantId, subjectId }),
    async close() {
      await close();
      await worker.stop();
    },
  };
}

async function openSluiceHere(server, dispatchBy) {
  const database = await server.sluiceDatabase();
  await insertTenants(database, 1);
  const begins = openBegins();
  const onSlice = ({ job }) =>
    begins.hear({ is: 'begin', subjectId: job.subjectId, atNs: process.hrtime.bigint() });
  const { kernel, close } = await openKernel({ appUrl: database.appUrl, onSlice });
  await kernel.start({ work: true });
  return { begins, enqueue: (subjectId) => dispatchBy(kernel, { tenantId, subjectId }), close };
}

async function openGraphile(server) {
  const database = await server.emptyDatabase();
  const begins = openBegins();
  const utils = await openGraphileWorker(database);
  // Without the local queue: it waits to fill itself, and is for throughput.
  const best = { concurrentJobs: 4, maxPoolSize: 10, localQueueSize: 0 };
  const settings = { ownerUrl: database.ownerUrl, tellsBegin: true, best };
  const worker = await startContender('graphile-worker.mjs', settings, begins.hear);
  return {
    begins,
    enqueue: (subjectId) => utils.addJob('noop', { subjectId }),
    async close() {
      await utils.release();
      await worker.stop();
    },
  };
}

async function openBoss(server) {
  const database = await server.emptyDatabase();
  const begins = openBegins();
  const boss = await openPgBoss(database, { notify: true });
  const settings = { ownerUrl: database.ownerUrl, tellsBegin: true };
  const worker = await startContender('pg-boss.mjs', settings, begins.hear);
  return {
    begins,
    enqueue: (subjectId) => boss.send('noop', { subjectId }),
    async close() {
      await boss.stop({ graceful: false });
      await worker.stop();
    },
  };
}

async function openRaw(server) {
  const database = await server.emptyDatabase();
  await database.query(
    `create table raw_queue (
       id bigint generated always as identity primary key, subject_id text not null,
       status text not null default 'queued')`,
  );
  await database.query(`create index raw_queue_waiting on raw_queue (id) where status = 'queued'`);
  const begins = openBegins();
  const worker = await startContender('raw-listen.mjs', { ownerUrl: database.ownerUrl }, begins.hear);
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  return {
    begins,
    enqueue: (subjectId) =>
      client.query({
        name: 'enqueue',
        text: `with made as (insert into raw_queue (subject_id) values ($1))
               select pg_notify('raw_queue', '')`,
        values: [subjectId],
      }),
    async close() {
      await client.end();
      await worker.stop();
    },
  };
}
