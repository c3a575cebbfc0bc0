// What a claim costs with 1,000, 100,000 and 1,000,000 jobs waiting, and the ratio to the shortest queue.
// node bench/kernel/backlog.mjs [sizes…]
import { openKernel, pipelineName } from './bench-kernel.mjs';
import { numbersFromArguments, percentiles, round, writeReport } from './bench-report.mjs';
import { query, startBenchServer } from './bench-server.mjs';

const sizes = numbersFromArguments([1_000, 100_000, 1_000_000]).sort((a, b) => a - b);
const tenants = 10;
const warmUpClaims = 50;
const claims = 300;

const server = await startBenchServer();
try {
  const { db, close } = await openKernel({ appUrl: server.appUrl });
  const rows = [];
  for (const size of sizes) {
    await fillQueue(size);
    const timesMs = await measureClaims(db);
    rows.push({ waiting: size, ...percentiles(timesMs) });
  }
  await close();
  const [shortest] = rows;
  const compared = rows.map((row) => ({ ...row, ratio_p50: round(row.p50_ms / shortest.p50_ms) }));
  await writeReport({ name: 'kernel-backlog', postgres: server.version, rows: compared });
} finally {
  await server.stop();
}

/** Tops the queue up to the size, in one tenant's favour, as a real backlog is. */
async function fillQueue(size) {
  await query(
    server.ownerUrl,
    `insert into tenants (tenant_id, name)
     select 'tenant-' || n, 'tenant-' || n from generate_series(1, $1::int) n
     on conflict do nothing`,
    [tenants],
  );
  await query(
    server.ownerUrl,
    `insert into ingestion_jobs
            (tenant_id, job_id, pipeline, subject_id, status, max_retries, correlation_id, created_by)
     select 'tenant-' || case when n % 2 = 0 then 1 else 1 + n % $2 end, gen_random_uuid(), $3,
            gen_random_uuid()::text, 'queued', 0, gen_random_uuid()::text, 'bench'
       from generate_series(1, $1 - (select count(*) from ingestion_jobs where status = 'queued')) n`,
    [size, tenants, pipelineName],
  );
  await query(server.ownerUrl, 'vacuum analyze ingestion_jobs');
  const [{ waiting }] = await query(
    server.ownerUrl,
    `select count(*)::int as waiting from ingestion_jobs where status = 'queued'`,
  );
  if (waiting !== size) throw new Error(`${waiting} jobs are waiting instead of ${size}`);
}

/** One job per claim, settled before the next one; only the claim is timed. */
async function measureClaims(db) {
  const { claimStatement, settleMany } = await import('../../dist/kernel/jobs/lease-store.js');
  const request = { pipelines: [pipelineName], limit: 1, leaseMs: 10_000, tenantLimit: 1_000 };
  const workerId = crypto.randomUUID();
  const timesMs = [];
  for (let claim = 0; claim < warmUpClaims + claims; claim += 1) {
    const startedAt = performance.now();
    const [job] = await db.statement({ role: 'sluice_kernel' }, claimStatement({ ...request, workerId }));
    timesMs.push(performance.now() - startedAt);
    if (!job) throw new Error('Nothing was claimed although jobs are waiting');
    const { tenantId, jobId, leaseEpoch } = job;
    const settlement = { tenantId, jobId, leaseEpoch, outcome: { type: 'done' }, state: {} };
    await db.kernel((tx) => settleMany(tx, [settlement]));
  }
  return timesMs.slice(warmUpClaims);
}
