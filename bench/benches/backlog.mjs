import { format, percentile } from '../harness/figures.mjs';
import { dispatchTo, fillQueue, insertTenants, openKernel, tenantIds } from '../harness/kernel.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { claimCall, watchCalls } from '../harness/watched-database.mjs';

const warmUp = 20;
const claims = 300;
const fewJobs = 100;
const kickoffs = 50;
const registrations = 20;
const manyTenants = 10_000;
/** A round must not empty a queue. */
const shortest = 1_000;
/** Of so many waiting jobs there is one that has ended. */
const endedShare = 5;
const fewPipeline = 'bench-few';
const mostTimes = 2;
const [tenantId] = tenantIds(1);

export const bench = {
  name: 'backlog',
  title: 'What a claim, a kickoff and a registration cost when much is waiting',
  about: `
Three queues: a short one and a long one of one tenant, and a long one of many tenants. Beside what waits, a fifth as
many jobs have ended. A kernel works on a queue with one slot, so it claims, advances and settles one job after the
other.

"Claim" is the time of the statement that claims, with its round trip: ${claims} jobs per round. "Claim, another pipeline" is
the same for a worker of a second pipeline, which has ${fewJobs} jobs behind all others of the same tenant. "Kickoff" is the whole
call that runs one job at once: find it, claim it, advance and settle it. "Registration" is the time that a worker
spends in the database until it is a member.

The size is the length of the long queues.`,
  size: 1_000_000,
  metrics: [
    { key: 'p50', title: 'p50 ms', better: 'less' },
    { key: 'p99', title: 'p99 ms', better: 'less' },
  ],
  async open({ server, size }) {
    const short = await openQueue(server, { waiting: Math.max(shortest, size / 1000), tenants: 1 });
    const long = await openQueue(server, { waiting: Math.max(shortest, size), tenants: 1 });
    const shared = await openQueue(server, {
      waiting: Math.max(shortest, size),
      tenants: Math.min(manyTenants, Math.ceil(size / 100)),
    });
    return {
      contenders: [
        ...[short, long, shared].map((queue) => contenderOf('claim', queue, measureClaims)),
        ...[short, long].map((queue) => contenderOf('claim, another pipeline', queue, measureFew)),
        ...[short, long].map((queue) => contenderOf('kickoff', queue, measureKickoffs)),
        ...[short, long].map((queue) => contenderOf('registration', queue, measureRegistrations)),
      ],
    };
  },
  targets: ['claim', 'claim, another pipeline', 'kickoff', 'registration'].map((what) => ({
    text: `${what}: within ${mostTimes} times of the shortest queue (p50)`,
    judge(_figureOf, series) {
      const [least, ...others] = series.filter(({ label }) => label.startsWith(`Sluice, ${what}:`));
      const most = Math.max(...others.map(({ summary }) => summary.p50.median));
      const times = most / least.summary.p50.median;
      return { reached: times <= mostTimes, figure: `${format(times)} times` };
    },
  })),
};

function contenderOf(what, queue, timesOf) {
  const { waiting, tenants } = queue;
  const whose = tenants === 1 ? '' : ` of ${tenants.toLocaleString('en-US')} tenants`;
  return {
    label: `Sluice, ${what}: ${waiting.toLocaleString('en-US')} waiting${whose}`,
    async measure() {
      const timesMs = await timesOf(queue.database);
      await refill(queue);
      return { p50: percentile(timesMs, 0.5), p99: percentile(timesMs, 0.99) };
    },
  };
}

async function openQueue(server, { waiting, tenants }) {
  const database = await server.sluiceDatabase();
  await insertTenants(database, tenants);
  const queue = { database, waiting, tenants };
  const ended = Math.ceil(waiting / endedShare);
  await fillQueue(database, { count: waiting + ended, tenants: tenantIds(tenants) });
  await runJobs(database, { count: ended, concurrency: 32 });
  await refill(queue);
  return queue;
}

/** Before a measurement all that is there is settled and flushed, and the queue has its length. */
async function refill({ database, waiting, tenants }) {
  const readWaiting = async () => {
    const [{ count }] = await database.query(
      `select count(*)::int as count from ingestion_jobs where status = 'queued'`,
    );
    return count;
  };
  const missing = waiting - (await readWaiting());
  if (missing > 0)
    await fillQueue(database, { count: missing, tenants: tenantIds(Math.min(tenants, missing)) });
  await flushWrites(database);
  const found = await readWaiting();
  if (found < waiting) throw new Error(`${found} jobs are waiting instead of ${waiting}`);
}

/** Runs a worker until so many slices have begun, then stops it in order. */
async function runJobs(database, { count, concurrency, pipeline, watch }) {
  let begun = 0;
  let tellEnough = () => {};
  const enough = new Promise((resolve) => {
    tellEnough = resolve;
  });
  const onSlice = () => {
    begun += 1;
    if (begun >= count) tellEnough();
  };
  const { appUrl } = database;
  const { kernel, close } = await openKernel({ appUrl, onSlice, concurrency, pipeline, watch });
  try {
    await kernel.start({ work: true });
    await enough;
  } finally {
    await close();
  }
}

async function measureClaims(database, { count = claims, pipeline } = {}) {
  const { watch, callsMs } = watchCalls(claimCall);
  await runJobs(database, { count: warmUp + count, concurrency: 1, pipeline, watch });
  const times = callsMs.slice(Math.min(warmUp, Math.floor(callsMs.length / 4)));
  if (times.length === 0) throw new Error(`No statement of the kernel matched ${claimCall}`);
  return times;
}

async function measureFew(database) {
  await fillQueue(database, { count: warmUp + fewJobs, pipeline: fewPipeline });
  await flushWrites(database);
  return measureClaims(database, { count: fewJobs, pipeline: fewPipeline });
}

async function measureKickoffs(database) {
  const { kernel, close } = await openKernel({ appUrl: database.appUrl });
  const timesMs = [];
  try {
    await kernel.start({ work: false });
    for (let n = 0; n < warmUp + kickoffs; n += 1) {
      const { jobId } = await dispatchTo(kernel, { tenantId, subjectId: crypto.randomUUID() });
      const startedAtMs = performance.now();
      const { processed } = await kernel.kickOff({ tenantId, jobId, durationMs: 60_000 });
      timesMs.push(performance.now() - startedAtMs);
      if (processed !== 1) throw new Error(`The kickoff of job ${jobId} ran ${processed} slices`);
    }
  } finally {
    await close();
  }
  return timesMs.slice(warmUp);
}

async function measureRegistrations(database) {
  const { sql } = await import('../../dist/modules/lib/postgres/sql.js');
  const timesMs = [];
  for (let n = 0; n < registrations; n += 1) {
    const { watch, callsMs } = watchCalls();
    const { kernel, db, close } = await openKernel({ appUrl: database.appUrl, watch });
    try {
      // Connecting is not measured.
      await db.statement({ role: 'sluice_kernel' }, sql`select 1 as ready`);
      await kernel.start({ work: false });
      timesMs.push(callsMs.reduce((sum, ms) => sum + ms, 0));
    } finally {
      await close();
    }
  }
  return timesMs;
}
