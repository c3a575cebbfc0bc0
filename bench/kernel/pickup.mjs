// Enqueue → handler start on an idle system with a direct connection: in the same process, and in another one.
// node bench/kernel/pickup.mjs [jobs]
import { setTimeout as pause } from 'node:timers/promises';
import { openFleet } from './bench-fleet.mjs';
import { dispatchTo, openKernel } from './bench-kernel.mjs';
import { msBetween, numbersFromArguments, percentiles, writeReport } from './bench-report.mjs';
import { query, startBenchServer } from './bench-server.mjs';

const [jobs] = numbersFromArguments([500]);
const warmUpJobs = 50;
const tenantId = 'tenant-1';
/** Long enough for everything about the last job to be over. */
const restMs = 20;

const server = await startBenchServer();
try {
  await query(server.ownerUrl, 'insert into tenants (tenant_id, name) values ($1, $1)', [tenantId]);
  const rows = [
    { worker: 'in another process', ...percentiles(await measureElsewhere()) },
    { worker: 'in the same process', ...percentiles(await measureHere()) },
  ];
  await writeReport({ name: 'kernel-pickup', postgres: server.version, rows });
} finally {
  await server.stop();
}

async function measureElsewhere() {
  const fleet = openFleet({ appUrl: server.appUrl, holdFirst: false });
  const { kernel, close } = await openKernel({ appUrl: server.appUrl });
  try {
    await fleet.start();
    return await measure(kernel, (subjectId) => fleet.nextBegin(subjectId));
  } finally {
    await close();
    await fleet.close();
  }
}

async function measureHere() {
  const waiting = new Map();
  const { kernel, close } = await openKernel({
    appUrl: server.appUrl,
    onSlice: ({ job }) => waiting.get(job.subjectId)?.({ atNs: process.hrtime.bigint() }),
  });
  try {
    await kernel.start({ work: true });
    return await measure(kernel, (subjectId) => new Promise((resolve) => waiting.set(subjectId, resolve)));
  } finally {
    await close();
  }
}

/** From just before the dispatch, so the job's own commit is part of it. */
async function measure(kernel, nextBegin) {
  const timesMs = [];
  for (let job = 0; job < warmUpJobs + jobs; job += 1) {
    await pause(restMs);
    const subjectId = crypto.randomUUID();
    const begins = nextBegin(subjectId);
    const fromNs = process.hrtime.bigint();
    await dispatchTo(kernel, { tenantId, subjectId });
    const { atNs } = await begins;
    timesMs.push(msBetween(fromNs, atNs));
  }
  return timesMs.slice(warmUpJobs);
}
