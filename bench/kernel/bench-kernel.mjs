// A kernel of the built program with one pipeline that does nothing but say that a slice has begun.
import pino from 'pino';
import { Registry } from 'prom-client';

export const pipelineName = 'bench';

export async function openKernel({ appUrl, onSlice, concurrency = 4 }) {
  const { Database } = await import('../../dist/lib/db.js');
  const { Kernel } = await import('../../dist/kernel/jobs/kernel.js');
  const db = new Database({ url: appUrl, applicationName: 'sluice-bench', maxConnections: 10 });
  const pipeline = {
    name: pipelineName,
    maxRetries: 0,
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
    tenantLimit: 1_000,
    maxStrikes: 3,
    maxQueued: 10_000_000,
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
  const { dispatch } = await import('../../dist/kernel/jobs/service.js');
  return dispatch(kernel, tenantId, { pipeline: pipelineName, subjectId, maxRetries: 0, createdBy: 'bench' });
}
