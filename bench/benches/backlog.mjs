import { format, percentile } from '../harness/figures.mjs';
import { withDatabase } from '../harness/item-jobs.mjs';
import { insertJobs, insertTenants, pipelineName } from '../harness/kernel.mjs';
import { flushWrites } from '../harness/postgres.mjs';

const tenants = 10;
const warmUpClaims = 50;
const claims = 300;
/** A round must not empty a queue. */
const shortest = 1_000;
const labelOf = (waiting) => `Sluice, ${waiting.toLocaleString('en-US')} waiting`;

export const bench = {
  name: 'backlog',
  title: 'What a claim costs when much is waiting',
  about: `
Queues of three lengths; half of each belongs to one of ten tenants. A round claims 300 jobs one by one and settles
each before the next claim. Only the claim is timed: one round trip that walks the tenants in their turns, locks,
leases and writes the event.`,
  size: 1_000_000,
  metrics: [
    { key: 'p50', title: 'p50 ms', better: 'less' },
    { key: 'p99', title: 'p99 ms', better: 'less' },
  ],
  async open({ server, size }) {
    const queues = [];
    for (const waiting of [size / 1000, size / 10, size].map((n) => Math.max(shortest, Math.ceil(n)))) {
      const database = await server.sluiceDatabase();
      await insertTenants(database, tenants);
      await fill(database, waiting);
      queues.push({ waiting, database });
    }
    return {
      contenders: queues.map(({ waiting, database }) => ({
        label: labelOf(waiting),
        async measure() {
          const timesMs = await withDatabase(database, measureClaims);
          await fill(database, waiting);
          return { p50: percentile(timesMs, 0.5), p99: percentile(timesMs, 0.99) };
        },
      })),
    };
  },
  targets: [
    {
      text: 'a claim from the longest queue within 2 times one from the shortest (p50)',
      judge(_figureOf, series) {
        const [short, , long] = series.map(({ summary }) => summary.p50.median);
        return { reached: long <= 2 * short, figure: `${format(long / short)} times` };
      },
    },
  ],
};

/** Refills the queue, mostly with jobs of one tenant, like a real backlog. */
async function fill(database, waiting) {
  const readWaiting = async () => {
    const [{ count }] = await database.query(
      `select count(*)::int as count from ingestion_jobs where status = 'queued'`,
    );
    return count;
  };
  const tenantSql = `'tenant-' || case when n % 2 = 0 then 1 else 1 + n % ${tenants} end`;
  await insertJobs(database, { count: Math.max(0, waiting - (await readWaiting())), tenantSql });
  await flushWrites(database);
  const found = await readWaiting();
  if (found !== waiting) throw new Error(`${found} jobs are waiting instead of ${waiting}`);
}

/** One job per claim, settled before the next one; only the claim is timed. */
async function measureClaims(db) {
  const { claimStatement, settleMany } = await import('../../dist/modules/kernel/jobs/lease-store.js');
  const request = { pipelines: [pipelineName], limit: 1, leaseMs: 10_000, tenantLimit: 1_000 };
  const workerId = crypto.randomUUID();
  const timesMs = [];
  for (let claim = 0; claim < warmUpClaims + claims; claim += 1) {
    const startedAtMs = performance.now();
    const [job] = await db.statement({ role: 'sluice_kernel' }, claimStatement({ ...request, workerId }));
    timesMs.push(performance.now() - startedAtMs);
    if (!job) throw new Error('Nothing was claimed although jobs are waiting');
    const { tenantId, jobId, leaseEpoch } = job;
    const settlement = { tenantId, jobId, leaseEpoch, outcome: { type: 'done' }, state: {} };
    await db.kernel((tx) => settleMany(tx, [settlement]));
  }
  return timesMs.slice(warmUpClaims);
}
