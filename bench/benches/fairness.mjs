import { setTimeout as pause } from 'node:timers/promises';
import { openBegins } from '../harness/begins.mjs';
import { startContender } from '../harness/children.mjs';
import { format, msBetween, percentile } from '../harness/figures.mjs';
import { dispatchTo, fillQueue, insertTenants, openKernel } from '../harness/kernel.mjs';
import { flushWrites } from '../harness/postgres.mjs';

const sliceMs = 50;
const samples = 100;
const warmUpSamples = 10;
const alone = 'Sluice, no backlog';
const behind = 'Sluice, behind the backlog';

export const bench = {
  name: 'fairness',
  title: 'A job of one tenant behind the backlog of another',
  about: `
Tenant A has 10,000 jobs waiting whose slices take ${sliceMs} ms each; one worker process with default settings
works on them. Tenant B dispatches one job at a time. The clock runs from just before the dispatch to the start of
B's slice; beside it the same without a backlog.`,
  size: 10_000,
  metrics: [
    { key: 'p50', title: 'p50 ms', better: 'less' },
    { key: 'p99', title: 'p99 ms', better: 'less' },
  ],
  async open({ server, size }) {
    return {
      contenders: [
        { label: alone, measure: () => measure(server, 0) },
        { label: behind, measure: () => measure(server, size) },
      ],
    };
  },
  targets: ['p50', 'p99'].map((key) => ({
    text: `starts at most one slice (${sliceMs} ms) later (${key})`,
    judge(figureOf) {
      const laterMs = figureOf(behind, key) - figureOf(alone, key);
      return { reached: laterMs <= sliceMs, figure: `${format(laterMs)} ms later` };
    },
  })),
};

async function measure(server, backlog) {
  const database = await server.sluiceDatabase();
  try {
    await insertTenants(database, 2);
    if (backlog > 0) await fillQueue(database, { count: backlog });
    await flushWrites(database);
    const begins = openBegins();
    const settings = { appUrl: database.appUrl, tellsBegin: true, sliceMs };
    const worker = await startContender('kernel-worker.mjs', settings, begins.hear);
    const { kernel, close } = await openKernel({ appUrl: database.appUrl });
    try {
      const timesMs = await dispatchAll(kernel, begins);
      if (backlog > 0) await assertBacklog(database);
      return { p50: percentile(timesMs, 0.5), p99: percentile(timesMs, 0.99) };
    } finally {
      await close();
      await worker.stop();
    }
  } finally {
    await database.drop();
  }
}

async function dispatchAll(kernel, begins) {
  const timesMs = [];
  for (let sample = 0; sample < warmUpSamples + samples; sample += 1) {
    // At a random moment of the running slices: an even pause would always meet the same one.
    await pause(10 + Math.random() * sliceMs);
    const subjectId = crypto.randomUUID();
    const begin = begins.next(subjectId);
    const fromNs = process.hrtime.bigint();
    await dispatchTo(kernel, { tenantId: 'tenant-2', subjectId });
    timesMs.push(msBetween(fromNs, (await begin).atNs));
  }
  return timesMs.slice(warmUpSamples);
}

/** A backlog that ended too early would have measured nothing. */
async function assertBacklog(database) {
  const [{ count }] = await database.query(
    `select count(*)::int as count from ingestion_jobs where tenant_id = 'tenant-1' and status = 'queued'`,
  );
  if (count === 0) throw new Error('The backlog of tenant A ended before the last job of tenant B began');
}
