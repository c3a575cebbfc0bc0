// A kernel of the built program with one pipeline that only reports that a slice has started.
import pino from 'pino';
import { Registry } from 'prom-client';

export const pipelineName = 'bench';

export async function openKernel({ appUrl, onSlice, concurrency = 8, batchSize = 0 }) {
  const { Database } = await import('../../dist/modules/lib/postgres/db.js');
  const { Kernel } = await import('../../dist/modules/kernel/jobs/kernel.js');
  const db = new Database({ url: appUrl, applicationName: 'sluice-bench', maxConnections: 10 });
  const pipeline = {
    name: pipelineName,
    maxRetries: 0,
    ...(batchSize > 0 ? { batchSize } : {}),
    async advance(slice) {
      await onSlice?.(slice);
      return { outcome: { type: 'done' } };
    },
    onError: (error) => ({
      type: 'dead',
      failure: { code: 'bench_failed', message: String(error), class: 'bench' },
    }),
  };
  const kernel = new Kernel({
    db,
    directUrl: appUrl,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    pipelines: [pipeline],
    version: 'bench',
    // The product's defaults.
    leaseMs: 10_000,
    heartbeatMs: 2_000,
    pollMs: 1_000,
    concurrency,
    // No limit: one tenant has the whole queue here, because the peers have no tenants.
    tenantLimit: 1_000_000,
    maxStrikes: 3,
    maxQueued: 100_000_000,
  });
  return {
    kernel,
    db,
    async close() {
      await kernel.stop(1_000);
      await db.close();
    },
  };
}

export async function dispatchTo(kernel, { tenantId, subjectId }) {
  const { dispatch } = await import('../../dist/modules/kernel/jobs/service.js');
  return dispatch(kernel, tenantId, { pipeline: pipelineName, subjectId, maxRetries: 0, createdBy: 'bench' });
}

/** Waiting jobs by SQL; `tenantSql` is an expression over n, the number of the job. */
export async function insertJobs(database, { count, tenantSql = "'tenant-1'" }) {
  await database.query(
    `insert into ingestion_jobs
            (tenant_id, job_id, pipeline, subject_id, status, max_retries, correlation_id, created_by)
     select ${tenantSql}, gen_random_uuid(), $2, gen_random_uuid()::text, 'queued', 0, gen_random_uuid()::text, 'bench'
       from generate_series(1, $1::int) n`,
    [count, pipelineName],
  );
}

export async function insertTenants(database, count) {
  await database.query(
    `insert into tenants (tenant_id, name)
     select 'tenant-' || n, 'tenant-' || n from generate_series(1, $1::int) n
     on conflict do nothing`,
    [count],
  );
}
