// A kernel of the built program with one pipeline, on the path of every product pipeline: `advance`, then settle.
import pino from 'pino';
import { Registry } from 'prom-client';
import { inFlight } from './in-flight.mjs';

export const pipelineName = 'bench';
/** As the product opens its database by default: what each transaction sets is part of its cost. */
const databaseOptions = {
  applicationName: 'sluice-bench',
  maxConnections: 10,
  settings: { statement_timeout: '30000', idle_in_transaction_session_timeout: '8000', jit: 'off' },
  silenceMs: 35_000,
};
const jobsAtOnce = 2_000;

/**
 * `onSlice` runs in the slice; `effectOf` returns the statement that a job writes in its fenced transaction.
 * `watch` may wrap the database, and `more` goes to the kernel as it is.
 */
export async function openKernel({
  appUrl,
  pipeline = pipelineName,
  onSlice,
  effectOf,
  watch = (db) => db,
  ...more
}) {
  const { Database } = await import('../../dist/modules/lib/postgres/db.js');
  const { Kernel } = await import('../../dist/modules/kernel/jobs/kernel.js');
  const db = new Database({ url: appUrl, ...databaseOptions });
  const kernel = new Kernel({
    db: watch(db),
    directUrl: appUrl,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    pipelines: [pipelineOf(pipeline, { onSlice, effectOf })],
    version: 'bench',
    // The product's defaults.
    leaseMs: 10_000,
    heartbeatMs: 2_000,
    pollMs: 1_000,
    concurrency: 8,
    // No limit: one tenant has the whole queue here, because the peers have no tenants.
    tenantLimit: 1_000_000,
    maxStrikes: 3,
    maxQueued: 100_000_000,
    ...more,
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

function pipelineOf(name, { onSlice, effectOf }) {
  return {
    name,
    maxRetries: 0,
    async advance(slice) {
      await onSlice?.(slice);
      if (!effectOf) return { outcome: { type: 'done' } };
      const statement = effectOf(slice.job);
      return { outcome: { type: 'done' }, effects: (tx) => tx.run(statement) };
    },
    onError: (error) => ({
      type: 'dead',
      failure: { code: 'bench_failed', message: String(error), class: 'bench' },
    }),
  };
}

export async function dispatchTo(kernel, { tenantId, subjectId, pipeline = pipelineName }) {
  const { dispatch } = await import('../../dist/modules/kernel/jobs/dispatch/service.js');
  return dispatch(kernel.jobs, tenantId, { pipeline, subjectId, maxRetries: 0, createdBy: 'bench' });
}

/** In the transaction of the caller, as the houses do it beside the record that the job is about. */
export async function dispatchBeside(kernel, { tenantId, subjectId, pipeline = pipelineName }) {
  const { dispatchIn } = await import('../../dist/modules/kernel/jobs/dispatch/service.js');
  const job = { pipeline, subjectId, maxRetries: 0, createdBy: 'bench' };
  return kernel.db.tenant(tenantId, (tx) => dispatchIn(kernel.jobs, tx, tenantId, job));
}

/** Waiting jobs, dispatched many at a time as a house does it; `tenants` share them evenly. */
export async function fillQueue(
  database,
  { count, pipeline = pipelineName, tenants = ['tenant-1'], payload = {} },
) {
  const { dispatchManyIn } = await import('../../dist/modules/kernel/jobs/dispatch/service.js');
  const { kernel, close } = await openKernel({ appUrl: database.appUrl });
  try {
    await inFlight(4, batchesOf(count, tenants), ({ tenantId, size }) => {
      const jobs = Array.from({ length: size }, () => ({
        pipeline,
        subjectId: crypto.randomUUID(),
        maxRetries: 0,
        createdBy: 'bench',
        payload,
      }));
      return kernel.db.tenant(tenantId, (tx) => dispatchManyIn(kernel.jobs, tx, tenantId, jobs));
    });
  } finally {
    await close();
  }
}

function* batchesOf(count, tenants) {
  for (const [index, tenantId] of tenants.entries()) {
    const until = Math.floor((count * (index + 1)) / tenants.length);
    let from = Math.floor((count * index) / tenants.length);
    while (from < until) {
      const size = Math.min(jobsAtOnce, until - from);
      yield { tenantId, size };
      from += size;
    }
  }
}

export async function insertTenants(database, count) {
  await database.query(
    `insert into tenants (tenant_id, name)
     select 'tenant-' || n, 'tenant-' || n from generate_series(1, $1::int) n
     on conflict do nothing`,
    [count],
  );
}

/** The ids that `insertTenants` gives. */
export function tenantIds(count) {
  return Array.from({ length: count }, (_, index) => `tenant-${index + 1}`);
}
